/** A blocked event loop, and a stopped process: neither is a crash. */
import { expect, test } from "vitest"
import { field, until } from "./workers.ts"

test.each(["the same machine", "different machines"])(
  "a handler that blocks the event loop for many leases runs its effects once, with another process on %s",
  { timeout: 120_000 },
  async (where) => {
    const machine = (name: string) => (where === "the same machine" ? undefined : name)
    const { store, worker, effects } = field({ lease: 1_000 })
    const blocked = await worker({ machine: machine("a") })
    const other = await worker({ machine: machine("b") })
    // Held by the blocked process too.
    blocked.start("ask", "beside")
    await blocked.began("beside")
    blocked.start("block", "r", 6_000)
    expect(await blocked.ended("r")).toBe("completed")
    expect(effects().map(({ runId, name }) => `${runId} ${name}`)).toEqual(["r before", "r after"])
    expect(await store.run("r")).toMatchObject({ takeovers: 0, token: 1 })
    expect(await store.run("beside")).toMatchObject({ takeovers: 0, token: 1, status: "waiting" })
    expect(other.process.messages.filter(({ type }) => type === "began")).toEqual([])
    await until(() => blocked.problems("LOOP_BLOCKED").length > 0)
    const [problem] = blocked.problems("LOOP_BLOCKED")
    expect(problem).toMatchObject({ runId: "r" })
    expect(problem?.message).toMatch(/blocked for \d+\.\d s\. Node "block" of run "r" had control last/)
  },
)

test("a loop that stays blocked is hung: its runs go to another process, and only the run it is stuck in is suspected", {
  timeout: 120_000,
}, async () => {
  const { store, worker, effects } = field({ lease: 1_000, hungAfter: 2_000 })
  const hung = await worker()
  hung.start("ask", "waiting")
  hung.start("long", "beside")
  for (const runId of ["waiting", "beside"]) await hung.began(runId)
  hung.start("block", "stuck", 3_600_000)
  await hung.began("stuck")
  await until(async () => (await store.run("stuck"))?.holder === undefined)
  expect(await store.run("stuck")).toMatchObject({ takeovers: 1, status: "running" })
  for (const runId of ["waiting", "beside"]) expect(await store.run(runId)).toMatchObject({ takeovers: 0 })
  const next = await worker({ isFixed: true })
  next.send({ type: "finish" })
  next.send({ type: "respond", id: "a", runId: "waiting", value: "yes" })
  for (const runId of ["beside", "waiting", "stuck"]) {
    await until(async () => (await store.run(runId))?.status === "completed")
  }
  expect(effects().map(({ name }) => name)).toEqual(["before", "after"])
})

test("a process that was stopped past its lease causes no further effect once it wakes up and finds its run taken", {
  timeout: 120_000,
}, async () => {
  const { store, worker, effects } = field({ lease: 1_000 })
  const stopped = await worker({ machine: "a" })
  for (const runId of ["d1", "d2"]) {
    stopped.start("drips", runId)
    await stopped.began(runId)
  }
  stopped.start("steps", "s", 1_000)
  await stopped.began("s")
  await until(() => effects().some(({ runId }) => runId === "s"))
  const pid = effects()[0]?.pid as number
  stopped.process.signal("SIGSTOP")
  const next = await worker({ machine: "b" })
  for (const runId of ["d1", "d2", "s"]) await next.began(runId)
  const before = effects().filter((one) => one.pid === pid).length
  stopped.process.signal("SIGCONT")
  for (const runId of ["d1", "d2"]) {
    const aborted = await stopped.process.waitFor(
      (message) => message.type === "aborted" && message.runId === runId,
    )
    expect(aborted).toMatchObject({ cause: "RUN_TAKEN" })
  }
  // Of recorded steps, the one that was in flight may have happened, and none after it.
  const ofStopped = () => effects().filter((one) => one.pid === pid)
  const steps = ofStopped()
    .slice(before)
    .filter(({ runId }) => runId === "s")
  expect(steps.length).toBeLessThanOrEqual(1)
  // Aborted handlers have no further effect while the other process continues their runs.
  const last = ofStopped().length
  const total = effects().length
  await until(() => effects().length > total + 10)
  expect(ofStopped()).toHaveLength(last)
  // Losing a lease while alive does not count as a death.
  await until(async () => (await store.run("d1"))?.takeovers === 0)
})

test("a process that is stopped for a moment is alive: no other process takes its runs, and it continues", async () => {
  const { store, worker, effects } = field({ lease: 1_000 })
  const stopped = await worker()
  const other = await worker()
  stopped.start("steps", "s", 40)
  await until(() => effects().length > 3)
  stopped.process.signal("SIGSTOP")
  // The other one beats three times a lease, and looks for runs in between: it has had time enough to take them.
  const beats = async () => Math.max(...(await store.holders()).map(({ beat }) => beat))
  const before = await beats()
  await until(async () => (await beats()) > before + 9)
  expect((await store.run("s"))?.token).toBe(1)
  stopped.process.signal("SIGCONT")
  expect(await stopped.ended("s")).toBe("completed")
  expect(effects().map(({ name }) => name)).toEqual(Array.from({ length: 40 }, (_, i) => `${i}`))
  expect(other.process.messages.filter(({ type }) => type === "began")).toEqual([])
})

test.each([30_000, 7_200_000, -7_200_000])(
  "a clock that is set by %i ms takes no run from a process that lives",
  { timeout: 120_000 },
  async (by) => {
    const { store, worker, effects } = field({ lease: 1_000 })
    const holder = await worker({ machine: "a" })
    const other = await worker({ machine: "b" })
    const runs = Array.from({ length: 10 }, (_, i) => `s${i}`)
    for (const runId of runs) holder.start("steps", runId, 60)
    await until(() => effects().length > 10)
    other.send({ type: "clock", by })
    for (const runId of runs) expect(await holder.ended(runId)).toBe("completed")
    for (const runId of runs) expect(await store.run(runId)).toMatchObject({ token: 1, takeovers: 0 })
    expect(other.process.messages.filter(({ type }) => type === "began")).toEqual([])
    const names = effects().map(({ runId, name }) => `${runId} ${name}`)
    expect(new Set(names).size).toBe(names.length)
  },
)
