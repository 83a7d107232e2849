/** `runtime.schedules`: declared, fired, paused, triggered; what overlaps, and what several processes do. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import {
  memoryStore,
  node,
  Runtime,
  type RuntimeOptions,
  type RuntimeProblem,
  type ScheduleOptions,
  type Store,
  type StoredRun,
  type StoredSchedule,
  workflow,
} from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"

const START = Date.parse("2026-03-01T00:00Z")
const MINUTE = 60_000

const report = workflow("report")
  .start(node("report", (input: { n: number } | null) => `report ${input?.n}`))
  .build()

/** A process with a clock of its own, and what it reports. */
function processOn(store: Store, options: Partial<RuntimeOptions> = {}, start = START) {
  const clock = manualClock(start)
  const problems: RuntimeProblem[] = []
  const onProblem = (problem: RuntimeProblem) => problems.push(problem)
  const runtime = new Runtime({ store, workflows: [report], clock, onProblem, ...options })
  return { runtime, clock, problems }
}

type Options = Partial<Omit<ScheduleOptions, "id" | "input">>
const every = (more: Options = {}) => ({ id: "s", every: MINUTE, ...more })

/** The runs of the store, oldest first. */
async function runsOf(store: Store): Promise<StoredRun[]> {
  return [...(await store.runs({}))].reverse()
}

async function timesOf(store: Store): Promise<(string | undefined)[]> {
  return (await runsOf(store)).map(({ labels }) => labels?.scheduledAt?.replace(":00.000Z", "Z"))
}

/** A schedule of a workflow whose tasks are finished by hand. */
async function slow(options: Options) {
  const store = memoryStore()
  const task = controlled<null, string>("task")
  const flow = workflow("slow").start(task).build()
  const { runtime, clock, problems } = processOn(store, { workflows: [flow] })
  await runtime.schedules.set(flow, every(options) as never)
  const statuses = async () => (await runsOf(store)).map(({ status }) => status)
  return { store, task, runtime, clock, problems, statuses }
}

describe("a schedule", () => {
  test("creates a run at each of its times, with its input, key and labels", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    const options = every({ queue: "q", priority: 2, tenant: "acme", labels: { team: "a" } })
    await runtime.schedules.set(report, { ...options, input: { n: 7 } })
    await clock.advance(3 * MINUTE)
    const [run, ...others] = await runsOf(store)
    expect(others).toHaveLength(2)
    expect(run).toMatchObject({
      key: "schedule:s:2026-03-01T00:01:00.000Z",
      labels: { team: "a", schedule: "s", scheduledAt: "2026-03-01T00:01:00.000Z" },
      flow: { queue: "q", priority: 2, tenant: "acme" },
    })
    expect((await runtime.get(run?.runId as string)).outputs).toEqual(["report 7"])
    expect(await runtime.schedules.get("s")).toMatchObject({
      workflow: "report",
      nextAt: START + 4 * MINUTE,
      last: { plannedAt: START + 3 * MINUTE, outcome: "started", runId: others[1]?.runId },
    })
    await runtime.close()
  })

  // When the time is planned, and by how much the clock is changed then.
  test.each([
    ["Europe/Berlin", "30 2 * * *", "2026-03-29T01:00Z", 60],
    ["Europe/Berlin", "30 2 * * *", "2026-10-25T00:30Z", 60],
    ["America/New_York", "30 2 * * *", "2026-03-08T07:00Z", 60],
    ["America/New_York", "30 1 * * *", "2026-11-01T05:30Z", 60],
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T15:30Z", 30],
    ["Australia/Lord_Howe", "45 1 * * *", "2026-04-04T14:45Z", 30],
    ["Pacific/Apia", "0 12 * * *", "2011-12-30T22:00Z", 24 * 60],
  ])(
    "in %s (%s) is fired once by two processes when the clock is changed, at %s",
    async (timeZone, cron, at, minutes) => {
      const store = memoryStore()
      const planned = Date.parse(at)
      const begin = (machine: string) => processOn(store, { machine }, planned - 5_000)
      const processes = [begin("one"), begin("two")]
      for (const { runtime } of processes) await runtime.schedules.set(report, { id: "s", cron, timeZone })
      for (let i = 0; i < 10; i++) for (const { clock } of processes) await clock.advance(1_000)
      expect(await timesOf(store)).toEqual([at])
      // The same time on the wall again, or the one that the clock skipped.
      for (const { clock } of processes) clock.set(planned + minutes * MINUTE - 5_000)
      const isDay = timeZone === "Pacific/Apia"
      for (let i = 0; i < 10; i++) for (const { clock } of processes) await clock.advance(1_000)
      expect(await timesOf(store)).toEqual(isDay ? [at, "2011-12-31T22:00Z"] : [at])
      for (const { runtime } of processes) await runtime.close()
    },
  )

  test("is fired by whichever process has its workflow, once, though several look", async () => {
    const store = memoryStore()
    const processes = Array.from({ length: 4 }, (_, i) => processOn(store, { machine: `machine ${i}` }))
    for (const { runtime } of processes) await runtime.recover()
    await processes[0]?.runtime.schedules.set(report, every())
    for (let i = 0; i < 10; i++) for (const { clock } of processes) await clock.advance(MINUTE / 2)
    expect(await timesOf(store)).toEqual([
      "2026-03-01T00:01Z",
      "2026-03-01T00:02Z",
      "2026-03-01T00:03Z",
      "2026-03-01T00:04Z",
      "2026-03-01T00:05Z",
    ])
    for (const { runtime } of processes) await runtime.close()
  })

  test("waits where no process has its workflow, or schedules are off", async () => {
    const store = memoryStore()
    const off = processOn(store, { schedules: false })
    await off.runtime.schedules.set(report, every())
    await off.runtime.recover()
    await off.clock.advance(5 * MINUTE)
    const other = processOn(store, { workflows: [] })
    await other.runtime.recover()
    await other.clock.advance(5 * MINUTE)
    expect(await runsOf(store)).toEqual([])
    const scheduler = processOn(store, { recover: false, schedules: true }, START + 5 * MINUTE)
    await scheduler.runtime.schedules.set(report, every())
    expect((await runsOf(store)).map(({ status }) => status)).toEqual(["queued"])
    for (const { runtime } of [off, other, scheduler]) await runtime.close()
  })

  test("of one time fires once, and declaring it again does not repeat it", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    const once = { id: "once", at: new Date(START + MINUTE) }
    await runtime.schedules.set(report, once)
    await clock.advance(2 * MINUTE)
    await runtime.schedules.set(report, once)
    await clock.advance(2 * MINUTE)
    expect(await timesOf(store)).toEqual(["2026-03-01T00:01Z"])
    const info = await runtime.schedules.get("once")
    expect(info).not.toHaveProperty("nextAt")
    await expect(runtime.schedules.set(report, { id: "late", at: START })).rejects.toMatchObject({
      code: "SCHEDULE_INVALID",
      message: 'Schedule "late": at is in the past: 2026-03-01T00:00:00.000Z.',
    })
    await runtime.close()
  })

  test("that is declared again unchanged is not written; a change of its input keeps its next time", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    await runtime.schedules.set(report, every())
    const version = (await store.schedules.get("s"))?.version
    await clock.advance(1_000)
    await runtime.schedules.set(report, every())
    expect((await store.schedules.get("s"))?.version).toBe(version)
    const changed = await runtime.schedules.set(report, { ...every(), input: { n: 1 } })
    expect(changed).toMatchObject({ nextAt: START + MINUTE, input: { n: 1 }, createdAt: START })
    expect((await store.schedules.get("s"))?.version).not.toBe(version)
    await runtime.close()
  })

  test("is refused where its runs would be", async () => {
    const { runtime } = processOn(memoryStore(), { workflows: [report, strict, merged] })
    await expect(runtime.schedules.set(strict, every())).rejects.toMatchObject({
      code: "INPUT_INVALID",
    })
    await expect(runtime.schedules.set(merged, every())).rejects.toThrow(
      'key is decided by flow.throttle of workflow "merged"',
    )
    await expect(runtime.schedules.set(report, every({ priority: 5_000 }))).rejects.toThrow("priority")
    await expect(runtime.schedules.set(report, { id: "s", cron: "0 0 31 2 *" })).rejects.toThrow(
      "never fires",
    )
    expect(await runtime.schedules.list()).toEqual([])
    await runtime.close()
  })
})

const strict = workflow("strict")
  .start(node({ id: "strict", input: z.number(), run: (n) => n }))
  .build()
const merged = workflow("merged", { flow: { throttle: { period: 1_000 } } })
  .start(node("a", (n: null) => n))
  .build()

describe("runs that overlap", () => {
  test("skip: a time is skipped while a run is in flight", async () => {
    const { task, runtime, clock, statuses } = await slow({})
    await clock.advance(3 * MINUTE)
    expect(await statuses()).toEqual(["running"])
    expect((await runtime.schedules.get("s"))?.last).toMatchObject({ outcome: "skipped" })
    task.finish("done")
    await clock.advance(MINUTE)
    expect(await statuses()).toEqual(["completed", "running"])
    await runtime.close()
  })

  test("skip: a quarantined run holds up nothing", async () => {
    const { store, runtime, clock, statuses } = await slow({})
    await clock.advance(MINUTE)
    const [run] = (await runsOf(store)) as [StoredRun]
    await store.quarantine({ runId: run.runId, holder: run.holder as string, token: run.token }, clock.now())
    await clock.advance(MINUTE)
    expect(await statuses()).toEqual(["quarantined", "running"])
    await runtime.close()
  })

  test("allow: each time has its run", async () => {
    const { runtime, clock, statuses } = await slow({ overlap: "allow" })
    await clock.advance(3 * MINUTE)
    expect(await statuses()).toEqual(["running", "running", "running"])
    await runtime.close()
  })

  test("queue: a run waits until the one before has ended; at most 100 are in flight", async () => {
    const { task, runtime, clock, statuses } = await slow({ overlap: "queue", every: 1_000 })
    await clock.advance(3_000)
    expect(await statuses()).toEqual(["running", "queued", "queued"])
    task.finish("done")
    await settled()
    await clock.advance(0)
    expect((await statuses()).slice(0, 3)).toEqual(["completed", "running", "queued"])
    await clock.advance(200_000)
    expect((await statuses()).filter((status) => status === "queued")).toHaveLength(99)
    await runtime.close()
  })

  test("cancel-previous: the run before is cancelled once the new one is stored", async () => {
    const { store, runtime, clock, statuses } = await slow({ overlap: "cancel-previous" })
    await clock.advance(3 * MINUTE)
    expect(await statuses()).toEqual(["cancelled", "cancelled", "running"])
    expect((await runsOf(store))[0]?.error?.message).toContain(
      'A later run of schedule "s" has taken its place',
    )
    await runtime.close()
  })

  test("cancel-previous: a process that dies before it cancels leaves that to the next one", async () => {
    const { store, runtime, clock, statuses } = await slow({ overlap: "cancel-previous" })
    await clock.advance(MINUTE)
    const row = await store.schedules.get("s")
    const [run] = await runsOf(store)
    // As it is after the fire of a process that died then.
    const body = { ...(row?.body as object), superseded: [run?.runId as string] }
    await store.schedules.write(
      { ...(row as StoredSchedule), version: "x", body, nextAt: START },
      row?.version,
    )
    await clock.advance(1_000)
    expect(await statuses()).toEqual(["cancelled"])
    expect((await store.schedules.get("s"))?.body).not.toHaveProperty("superseded")
    expect((await store.schedules.get("s"))?.nextAt).toBe(START + 2 * MINUTE)
    await runtime.close()
  })
})

describe("after a downtime", () => {
  test.each([
    ["none", []],
    ["last", ["2026-03-01T00:10Z"]],
    ["all", ["2026-03-01T00:08Z", "2026-03-01T00:09Z", "2026-03-01T00:10Z"]],
  ] as const)("catch-up %s creates the runs of %j", async (catchUp, expected) => {
    const store = memoryStore()
    const before = processOn(store)
    await before.runtime.schedules.set(report, every({ catchUp, maxCatchUp: 3, overlap: "allow" }))
    await before.runtime.close()
    const after = processOn(store, {}, START + 10 * MINUTE + 59_999)
    // Within a minute, the last one is not missed.
    await after.runtime.recover()
    const late = catchUp === "none" ? ["2026-03-01T00:10Z"] : expected
    expect(await timesOf(store)).toEqual(late)
    await after.runtime.close()
  })
})

describe("a paused schedule", () => {
  test("fires nothing, and continues from now when it is resumed", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    await runtime.schedules.set(report, every({ catchUp: "all" }))
    expect(await runtime.schedules.pause("s")).toMatchObject({ isPaused: true })
    await clock.advance(5 * MINUTE)
    await runtime.schedules.set(report, every({ catchUp: "all", jitter: 5 }))
    expect(await runtime.schedules.get("s")).toMatchObject({ isPaused: true })
    expect(await runsOf(store)).toEqual([])
    expect(await runtime.schedules.preview("s", 1)).toMatchObject([{ plannedAt: START + 6 * MINUTE }])
    const triggered = await runtime.schedules.trigger("s")
    expect((await runtime.get(triggered)).status).toBe("completed")
    expect(await runtime.schedules.resume("s")).toMatchObject({ nextAt: START + 6 * MINUTE })
    await clock.advance(MINUTE + 10)
    expect(await runsOf(store)).toHaveLength(2)
    await runtime.close()
  })
})

describe("runs that are asked for", () => {
  test("trigger creates one at once, also while another is in flight, or leaves it to a process with the workflow", async () => {
    const { store, runtime, clock, statuses } = await slow({})
    await clock.advance(MINUTE)
    const id = await runtime.schedules.trigger("s")
    expect(await store.run(id)).toMatchObject({ labels: { schedule: "s" }, key: `schedule:s:${id}` })
    const remote = processOn(store, { workflows: [], recover: false })
    const other = await remote.runtime.schedules.trigger("s")
    expect(await store.run(other)).toBeUndefined()
    expect(await remote.runtime.schedules.get("s")).toMatchObject({ pending: 1 })
    await clock.advance(1_000)
    expect(await store.run(other)).toBeDefined()
    await clock.advance(0)
    expect(await statuses()).toEqual(["running", "running", "running"])
    await expect(runtime.schedules.trigger("none")).rejects.toMatchObject({ code: "SCHEDULE_UNKNOWN" })
    await Promise.all([runtime.close(), remote.runtime.close()])
  })

  test("backfill creates a run for each past time that has none", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    await runtime.schedules.set(report, every())
    await clock.advance(2 * MINUTE)
    const range = { from: new Date(START - 2 * MINUTE), to: new Date(START + 2 * MINUTE) }
    const times = await runtime.schedules.backfill("s", range)
    expect(times.map((time) => (time - START) / MINUTE)).toEqual([-2, -1, 0, 1])
    expect(new Set(await timesOf(store)).size).toBe(5)
    expect(await runsOf(store)).toHaveLength(5)
    await runtime.schedules.backfill("s", range)
    expect(await runsOf(store)).toHaveLength(5)
    for (const [from, to, message] of [
      [START, START, "goes from an earlier time to a later one"],
      [START, START + 3 * MINUTE, "that is past"],
      [START - 2_000 * MINUTE, START, "more than 1000 times"],
    ] as const) {
      await expect(runtime.schedules.backfill("s", { from, to })).rejects.toThrow(message)
    }
    await runtime.close()
  })

  test("preview shows the next times, with their jitter, also of options that are not stored", async () => {
    const { runtime } = processOn(memoryStore())
    await runtime.schedules.set(report, every({ jitter: 500 }))
    const times = await runtime.schedules.preview("s", 3)
    expect(times.map(({ plannedAt }) => (plannedAt - START) / MINUTE)).toEqual([1, 2, 3])
    for (const { plannedAt, startsAt } of times) expect(startsAt - plannedAt).toBeLessThanOrEqual(500)
    const berlin = { id: "x", cron: "0 9 * * 1", timeZone: "Europe/Berlin" }
    const [monday] = await runtime.schedules.preview(berlin, 1)
    expect(new Date(monday?.plannedAt ?? 0).toISOString()).toBe("2026-03-02T08:00:00.000Z")
    await expect(runtime.schedules.preview("s", 0)).rejects.toThrow("1 to 1000 times, not 0")
    await runtime.close()
  })
})

describe("schedules that a workflow declares", () => {
  const declared = (schedules: readonly ScheduleOptions[]) =>
    workflow("daily", { schedules })
      .start(node("a", (input: unknown) => input ?? "nothing"))
      .build()

  test("are stored when a process begins, changed with it, and deleted when they are no longer declared", async () => {
    const store = memoryStore()
    const deploy = async (schedules: readonly ScheduleOptions[]) => {
      const { runtime } = processOn(store, { workflows: [declared(schedules)] })
      await runtime.recover()
      await runtime.close()
      return (await runtime.schedules.list()).map(({ id, cron, isDeclared }) => [id, cron, isDeclared])
    }
    const { runtime } = processOn(store)
    await runtime.schedules.set(report, { id: "own", cron: "0 0 * * *" })
    await runtime.close()
    const own = ["own", "0 0 * * *", false]
    const [nine, noon] = ["0 9 * * *", "0 12 * * *"]
    expect(
      await deploy([
        { id: "a", cron: nine },
        { id: "b", cron: nine },
      ]),
    ).toEqual([["daily/a", nine, true], ["daily/b", nine, true], own])
    expect(await deploy([{ id: "a", cron: noon }])).toEqual([["daily/a", noon, true], own])
    expect(await deploy([])).toEqual([own])
  })

  test("that are invalid are reported, and keep no others from firing", async () => {
    const flow = declared([
      { id: "bad", cron: "0 0 30 2 *" },
      { id: "good", every: MINUTE },
    ])
    const { runtime, clock, problems } = processOn(memoryStore(), { workflows: [flow] })
    await runtime.recover()
    await clock.advance(MINUTE)
    expect(problems.map(({ error }) => error.message)).toEqual([
      'Schedule "daily/bad": cron "0 0 30 2 *" never fires: no day has this date.',
    ])
    expect(await runtime.runs()).toHaveLength(1)
    await runtime.close()
  })

  test("are checked when the workflow is built", () => {
    expect(() => declared([{ id: "a", every: 5 }])).toThrow('Schedule "a": every must be whole milliseconds')
    expect(() =>
      declared([
        { id: "a", every: 5_000 },
        { id: "a", every: 6_000 },
      ]),
    ).toThrow('Workflow "daily": two schedules have the id "a"')
    expect(() => declared({} as never)).toThrow(
      "schedules must be a list such as [{ id, cron }], not an object",
    )
  })
})

test("a run that can no longer be created is recorded as failed and reported, and the next time is tried", async () => {
  const store = memoryStore()
  const loose = workflow("strict")
    .start(node("a", (n: null) => n))
    .build()
  const before = processOn(store, { workflows: [loose] })
  await before.runtime.schedules.set(loose, every())
  await before.runtime.close()
  const { runtime, clock, problems } = processOn(store, { workflows: [strict] })
  await runtime.recover()
  await clock.advance(2 * MINUTE)
  expect(problems.map(({ error }) => (error as { code?: string }).code)).toEqual([
    "INPUT_INVALID",
    "INPUT_INVALID",
  ])
  expect((await runtime.schedules.get("s"))?.last).toMatchObject({
    plannedAt: START + 2 * MINUTE,
    outcome: "failed",
    error: { code: "INPUT_INVALID" },
  })
  await runtime.close()
})

test("deleting a schedule leaves its runs, and a schedule that is created anew does not repeat them", async () => {
  const store = memoryStore()
  const { runtime, clock } = processOn(store)
  await runtime.schedules.set(report, every())
  await clock.advance(MINUTE)
  expect(await runtime.schedules.delete("s")).toBe(true)
  expect(await runtime.schedules.delete("s")).toBe(false)
  clock.set(START)
  await runtime.schedules.set(report, every())
  await clock.advance(MINUTE)
  expect(await runsOf(store)).toHaveLength(1)
  expect((await runtime.schedules.get("s"))?.last?.runId).toBe((await runsOf(store))[0]?.runId)
  await runtime.close()
})
