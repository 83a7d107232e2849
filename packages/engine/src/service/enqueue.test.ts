/** Runs that are created in one process and executed in another, and the options that merge and limit them. */
import { describe, expect, test } from "vitest"
import {
  append,
  type Context,
  channel,
  type EnqueueOptions,
  fork,
  memoryStore,
  node,
  type RunFlow,
  type StoredRun,
  type WorkflowOptions,
  workflow,
} from "../index.ts"
import { controlled, settled } from "../testing/index.ts"
import { pass, processOn } from "./processes.test-support.ts"

interface Job {
  readonly n: number
  readonly tenant?: string
}

const double = workflow("double")
  .start(node("double", (n: number) => 2 * n))
  .build()

/** A workflow whose tasks are finished by hand. */
function jobs(flow: WorkflowOptions["flow"]) {
  const task = controlled<Job, number>("job")
  return { task, flow: workflow("jobs", { flow }).start(task).build() }
}

/** A process that only creates runs, and its store. */
function producer(of: ReturnType<typeof jobs>["flow"] | typeof double) {
  const store = memoryStore()
  return { store, ...processOn(store, { workflows: [of], recover: false }) }
}

async function rowOf(store: ReturnType<typeof memoryStore>, runId: string): Promise<StoredRun> {
  return (await store.run(runId)) as StoredRun
}

describe("runtime.enqueue", () => {
  test("creates a run that another process executes, and that anyone can await", async () => {
    const { store, runtime } = producer(double)
    const id = await runtime.enqueue(double, 21, { labels: { from: "here" } })
    expect(await rowOf(store, id)).toMatchObject({ status: "queued", labels: { from: "here" }, seq: 1 })
    await pass(5_000)
    expect((await rowOf(store, id)).status).toBe("queued")
    const worker = processOn(store, { workflows: [double] })
    await worker.runtime.recover()
    expect(await worker.runtime.get(id)).toMatchObject({ status: "completed", outputs: [42] })
    await Promise.all([runtime.close(), worker.runtime.close()])
  })

  test("is executed in the same process where that claims runs", async () => {
    const { runtime } = processOn(memoryStore(), { workflows: [double] })
    const id = await runtime.enqueue(double, 4)
    expect(await runtime.get(id)).toMatchObject({ outputs: [8] })
    await runtime.close()
  })

  test("returns the run that has the same key or id, and refuses another one under it", async () => {
    const { runtime } = producer(double)
    const id = await runtime.enqueue(double, 1, { key: "k" })
    expect(await runtime.enqueue(double, 1, { key: "k" })).toBe(id)
    await expect(runtime.enqueue(double, 2, { key: "k" })).rejects.toMatchObject({ code: "RUN_EXISTS" })
    expect(await runtime.enqueue(double, 1, { runId: "r" })).toBe("r")
    expect(await runtime.enqueue(double, 1, { runId: "r" })).toBe("r")
    expect(await runtime.runs()).toHaveLength(2)
    await runtime.close()
  })

  test("starts no run before its time, and ends one that expired before anyone claimed it", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { workflows: [double], queues: ["later"] })
    const delayed = await runtime.enqueue(double, 1, { delay: 5_000, queue: "later" })
    const planned = await runtime.enqueue(double, 2, {
      startAt: new Date(clock.now() + 9_000),
      queue: "later",
    })
    const lost = await runtime.enqueue(double, 3, { expiresAt: clock.now() + 3_000, queue: "nobody" })
    await pass(4_000, clock)
    expect(await rowOf(store, delayed)).toMatchObject({ status: "queued" })
    expect(await rowOf(store, lost)).toMatchObject({ status: "cancelled", error: { code: "RUN_EXPIRED" } })
    expect((await runtime.get(lost).result).error).toMatchObject({ code: "RUN_EXPIRED" })
    await pass(2_000, clock)
    expect(await rowOf(store, delayed)).toMatchObject({ status: "completed" })
    expect(await rowOf(store, planned)).toMatchObject({ status: "queued" })
    await pass(4_000, clock)
    expect(await rowOf(store, planned)).toMatchObject({ status: "completed" })
    await runtime.close()
  })

  test("counts a run's timeout from when it may start", async () => {
    const store = memoryStore()
    const { task, flow } = jobs(undefined)
    const { runtime, clock } = processOn(store, { workflows: [flow] })
    const id = await runtime.enqueue(flow, { n: 1 }, { delay: 60_000, timeout: 5_000 })
    await pass(61_000, clock)
    expect(task.atWork).toHaveLength(1)
    await pass(5_000, clock)
    expect(await rowOf(store, id)).toMatchObject({ status: "limit" })
    await runtime.close()
  })

  test("cancels a queued run like any other, due or not", async () => {
    const { store, runtime } = producer(double)
    const due = await runtime.enqueue(double, 1)
    const later = await runtime.enqueue(double, 1, { delay: 9_000 })
    await runtime.cancel(due, "not needed")
    await runtime.get(later).cancelled("nor this")
    expect(await rowOf(store, due)).toMatchObject({ status: "cancelled", error: { message: "not needed" } })
    expect(await rowOf(store, later)).toMatchObject({ status: "cancelled", error: { code: "CANCELLED" } })
    await runtime.close()
  })

  test("checks the input before anything is stored", async () => {
    const { runtime } = producer(double)
    await expect(runtime.enqueue(double, (() => 1) as never)).rejects.toMatchObject({ code: "INPUT_INVALID" })
    expect(await runtime.runs()).toEqual([])
    await runtime.close()
  })

  test.each<[object, string]>([
    [{ dealy: 1 }, 'unknown option "dealy"; did you mean "delay"?'],
    [{ onBusy: "queue" }, 'unknown option "onBusy"'],
    [{ delay: 1, startAt: 2 }, "delay and startAt exclude each other"],
    [{ delay: -1 }, "delay must be milliseconds, at least 0, not -1"],
    [{ startAt: "soon" }, 'startAt must be a Date, or milliseconds since 1970, not "soon"'],
    [{ expiresAt: new Date(Number.NaN) }, "expiresAt must be a Date"],
    [{ priority: 1e9 }, "priority must be a number from -1000 to 1000, not 1000000000"],
    [{ queue: "" }, "queue must be a non-empty string"],
    [{ tenant: 3 }, "tenant must be a non-empty string, not 3"],
    [{ limits: { steps: 1 } }, 'limits has no "steps"'],
  ])("refuses %j", async (options, message) => {
    const { runtime } = producer(double)
    await expect(runtime.enqueue(double, 1, options as EnqueueOptions)).rejects.toThrow(message)
    await runtime.close()
  })

  test("keeps a run in its thread's turn", async () => {
    const log = channel("log", append<string>(), { persist: true })
    const note = workflow("note", { state: [log] })
      .start(
        node("note", (text: string, ctx) => {
          ctx.state.write(log, [text])
          return ctx.state.get(log)?.length ?? 0
        }),
      )
      .build()
    const { runtime } = processOn(memoryStore(), { workflows: [note] })
    const first = await runtime.enqueue(note, "a", { thread: "t" })
    await expect(runtime.enqueue(note, "b", { thread: "t" })).rejects.toMatchObject({ code: "THREAD_BUSY" })
    await runtime.get(first)
    const second = await runtime.enqueue(note, "b", { thread: "t" })
    expect((await runtime.get(second)).state).toEqual({ log: ["a", "b"] })
    await runtime.close()
    const dispatcher = { activate: async () => undefined }
    const elsewhere = processOn(memoryStore(), { workflows: [note], dispatcher, recover: false })
    await expect(elsewhere.runtime.start(note, "c", { thread: "t", onBusy: "queue" }).result).rejects.toThrow(
      'onBusy "queue" is not available with a dispatcher. Omit it, and start the run again when thread "t" is free.',
    )
    await elsewhere.runtime.close()
  })

  test("serves the queues of a process, and tenants in turn", async () => {
    const { task, flow } = jobs({ tenant: ({ tenant }: Job) => tenant ?? "none" })
    const store = memoryStore()
    const { runtime, clock } = producerOn(store, flow)
    for (let n = 0; n < 9; n++) await runtime.enqueue(flow, { n, tenant: "big" })
    for (let n = 10; n < 12; n++) await runtime.enqueue(flow, { n, tenant: "small" })
    await runtime.enqueue(flow, { n: 99 }, { queue: "other" })
    const worker = processOn(store, { workflows: [flow], queues: ["default"], concurrency: 4, clock })
    await worker.runtime.recover()
    await settled()
    expect(task.atWork.map(({ message }) => message.n)).toEqual([0, 10, 1, 11])
    await Promise.all([runtime.close(), worker.runtime.close()])
  })

  test("fills free places at once, without waiting for the next look", async () => {
    const { task, flow } = jobs(undefined)
    const store = memoryStore()
    const { runtime, clock } = producerOn(store, flow)
    for (let n = 0; n < 6; n++) await runtime.enqueue(flow, { n })
    const worker = processOn(store, { workflows: [flow], concurrency: 2, clock })
    await worker.runtime.recover()
    for (let n = 0; n < 6; n++) {
      await settled()
      expect(task.atWork[0]?.message.n).toBe(n)
      task.finish(n)
      await settled()
      await settled()
    }
    expect((await runtime.runs()).map(({ status }) => status)).toEqual(Array(6).fill("completed"))
    await Promise.all([runtime.close(), worker.runtime.close()])
  })
})

function producerOn(store: ReturnType<typeof memoryStore>, flow: ReturnType<typeof jobs>["flow"]) {
  return processOn(store, { workflows: [flow], recover: false })
}

test("a run that was queued before a deployment starts with the new version of its workflow", async () => {
  const next = workflow("double")
    .chain(
      node("double", (n: number) => 2 * n),
      node("shown", (n: number) => `${n}!`),
    )
    .build()
  const { store, runtime } = producer(double)
  const id = await runtime.enqueue(double, 3)
  const worker = processOn(store, { workflows: [next] })
  await worker.runtime.recover()
  expect((await worker.runtime.get(id)).outputs).toEqual(["6!"])
  await Promise.all([runtime.close(), worker.runtime.close()])
})

describe("flow.concurrency", () => {
  test("holds across processes, for runs that are enqueued and runs that are started", async () => {
    const { task, flow } = jobs({ concurrency: { max: 2, key: ({ tenant }: Job) => tenant ?? "" } })
    const store = memoryStore()
    const a = processOn(store, { workflows: [flow] })
    const b = processOn(store, { workflows: [flow], clock: a.clock })
    for (let n = 0; n < 3; n++) await a.runtime.enqueue(flow, { n, tenant: "x" })
    const started = b.runtime.start(flow, { n: 3, tenant: "x" }, { runId: "started" })
    const other = b.runtime.start(flow, { n: 4, tenant: "y" })
    await pass(2_000, a.clock)
    expect(task.atWork.map(({ message }) => message.n).sort()).toEqual([0, 1, 4])
    expect(await rowOf(store, "started")).toMatchObject({ status: "queued" })
    for (const n of [0, 1, 4]) task.finish(n)
    await pass(2_000, a.clock)
    expect(task.atWork.map(({ message }) => message.n).sort()).toEqual([2, 3])
    task.finish(2)
    task.finish(3)
    await pass(2_000, a.clock)
    expect([(await started).status, (await other).status]).toEqual(["completed", "completed"])
    await Promise.all([a.runtime.close(), b.runtime.close()])
  })

  test("holds in a process that only executes what is started there", async () => {
    const { task, flow } = jobs({ concurrency: 1 })
    const { store, runtime, clock } = producer(flow)
    const runs = [1, 2].map((n) => runtime.stream(flow, { n }, { runId: `r${n}` }))
    const results = runs.map((run) => run.result)
    await pass(1_000, clock)
    expect(task.atWork.map(({ message }) => message.n)).toEqual([1])
    expect((await rowOf(store, "r2")).status).toBe("queued")
    task.finish(10)
    await pass(1_000, clock)
    task.finish(20)
    await pass(1_000, clock)
    expect((await Promise.all(results)).map(({ outputs }) => outputs)).toEqual([[10], [20]])
    const types: string[] = []
    for await (const { type } of runs[1] as (typeof runs)[0]) types.push(type)
    expect(types[0]).toBe("run.started")
    expect(types.at(-1)).toBe("run.finished")
    await runtime.close()
  })

  test("lets a person take a run over from a process that is stuck, in its place", async () => {
    const { task, flow } = jobs({ concurrency: 1 })
    const store = memoryStore()
    const stuck = processOn(store, { workflows: [flow] })
    const id = await stuck.runtime.enqueue(flow, { n: 1 })
    await pass(1_000, stuck.clock)
    const other = processOn(store, { workflows: [flow] })
    const taken = other.runtime.resume(flow, id, { takeOver: true })
    await pass(1_000, other.clock)
    expect(task.atWork.length).toBeGreaterThan(0)
    task.finish(5)
    task.finish(5)
    expect((await taken).outputs).toEqual([5])
    await Promise.all([stuck.runtime.close(), other.runtime.close()])
  })

  test("gives the place of a run that waits to the next, and takes it again to continue", async () => {
    const asks = workflow("asks", { flow: { concurrency: 1 } })
      .start(node("asks", async (n: number, ctx: Context) => `${n} ${await ctx.ask<string>("?")}`))
      .build()
    const store = memoryStore()
    const { runtime, clock } = processOn(store, { workflows: [asks] })
    const ids = await Promise.all([1, 2, 3].map((n) => runtime.enqueue(asks, n)))
    await pass(1_500, clock)
    await pass(1_500, clock)
    expect((await runtime.requests()).map(({ runId }) => runId).sort()).toEqual([...ids].sort())
    const answers = ids.map((id) => runtime.respond(id, "r1", "yes"))
    await pass(5_000, clock)
    await Promise.all(answers)
    await pass(3_000, clock)
    for (const [i, id] of ids.entries()) {
      expect(await runtime.get(id)).toMatchObject({ status: "completed", outputs: [`${i + 1} yes`] })
    }
    await runtime.close()
  })

  test("counts forks, and gives the places of a dead process to others", async () => {
    const { task, flow } = jobs({ concurrency: 1 })
    const store = memoryStore()
    const dying = processOn(store, { workflows: [flow] })
    const first = await dying.runtime.enqueue(flow, { n: 1 })
    const second = await dying.runtime.enqueue(flow, { n: 2 })
    await pass(1_000, dying.clock)
    expect((await rowOf(store, first)).status).toBe("running")
    const copy = await fork(store, first, { clock: dying.clock })
    expect((await rowOf(store, copy)).flow).toEqual((await rowOf(store, first)).flow)
    const holder = (await rowOf(store, first)).holder as string
    await store.dismiss(holder, { reason: "died" })
    const heir = processOn(store, { workflows: [flow] })
    await heir.runtime.recover()
    const held = (await store.runs({})).filter((run) => run.holder !== undefined)
    expect(held).toHaveLength(1)
    expect(held[0]?.runId).toBe(first)
    expect((await rowOf(store, second)).status).toBe("queued")
    expect(task.atWork.length).toBeGreaterThan(0)
    await Promise.all([dying.runtime.close(), heir.runtime.close()])
  })

  test("goes by the newest limits, also for runs that are queued already", async () => {
    const [old, now] = [jobs({ concurrency: 1 }), jobs({ concurrency: 3 })]
    const { store, runtime } = producer(old.flow)
    for (let n = 0; n < 5; n++) await runtime.enqueue(old.flow, { n })
    const worker = processOn(store, { workflows: [now.flow] })
    await worker.runtime.recover()
    await settled()
    expect(now.task.atWork).toHaveLength(3)
    await Promise.all([runtime.close(), worker.runtime.close()])
  })
})

test("flow.rateLimit starts runs evenly, and more at once after a pause", async () => {
  const starts: number[] = []
  const store = memoryStore()
  const flow = workflow("rated", { flow: { rateLimit: { max: 10, period: 1_000, burst: 2 } } })
    .start(
      node("rated", (n: number, ctx) => {
        starts.push(clock.now())
        return ctx.runId + n
      }),
    )
    .build()
  const { runtime, clock } = processOn(store, { workflows: [flow] })
  const begin = clock.now()
  for (let n = 0; n < 5; n++) await runtime.enqueue(flow, n)
  await pass(2_000, clock)
  expect(starts.map((at) => at - begin)).toEqual([0, 0, 100, 200, 300])
  await runtime.close()
})

test("flow.rateLimit counts a run that is forked or run again as a start of its own", async () => {
  const starts: [n: number, at: number][] = []
  const store = memoryStore()
  const [first, last] = [
    node("first", (n: number) => n),
    node("last", (n: number) => starts.push([n, now()])),
  ]
  const flow = workflow("rated", { flow: { rateLimit: { max: 1, period: 1_000 } } })
    .chain(first, last)
    .build()
  const { runtime, clock } = processOn(store, { workflows: [flow] })
  const begin = clock.now()
  const now = () => clock.now() - begin
  const id = await runtime.enqueue(flow, 1)
  await pass(100, clock)
  expect(starts).toEqual([[1, 0]])
  const forked = await runtime.fork(id, { at: { superstep: 1 } })
  const again = await runtime.rerun(id, { from: { node: "first" } })
  for (const one of [forked, again]) expect((await rowOf(store, one)).status).toBe("queued")
  await pass(4_000, clock)
  for (const one of [id, forked, again]) expect((await rowOf(store, one)).status).toBe("completed")
  expect(starts.map(([, at]) => at)).toEqual([0, 1_000, 2_000])
  await runtime.close()
})

describe("flow.throttle, flow.debounce and flow.batch", () => {
  const key = ({ tenant }: Job) => tenant ?? ""

  test("throttle: one run a key and period", async () => {
    const { flow } = jobs({ throttle: { period: 1_000, key } })
    const { runtime, clock } = producer(flow)
    const first = await runtime.enqueue(flow, { n: 1 })
    expect(await runtime.enqueue(flow, { n: 2 })).toBe(first)
    expect(await runtime.enqueue(flow, { n: 3, tenant: "other" })).not.toBe(first)
    await pass(1_000, clock)
    expect(await runtime.enqueue(flow, { n: 4 })).not.toBe(first)
    expect(await runtime.runs()).toHaveLength(3)
    await runtime.close()
  })

  test("debounce: the last input, once nothing more came, or the timeout has passed", async () => {
    const { task, flow } = jobs({ debounce: { period: 3_000, timeout: 5_000, key } })
    const { runtime, clock } = processOn(memoryStore(), { workflows: [flow] })
    const id = await runtime.enqueue(flow, { n: 1 })
    await pass(2_000, clock)
    expect(await runtime.enqueue(flow, { n: 2 })).toBe(id)
    await pass(2_000, clock)
    expect(task.atWork).toEqual([])
    expect(await runtime.enqueue(flow, { n: 3 })).toBe(id)
    await pass(1_900, clock)
    expect(task.atWork.map(({ message }) => message.n)).toEqual([3])
    const next = await runtime.enqueue(flow, { n: 4 })
    expect(next).not.toBe(id)
    await pass(4_000, clock)
    expect(task.atWork.map(({ message }) => message.n)).toEqual([3, 4])
    await runtime.close()
  })

  test("batch: as many items as it holds, or what came in time", async () => {
    const sum = workflow("sum", { flow: { batch: { maxSize: 3, timeout: 5_000 } } })
      .start(node("sum", (ns: number[]) => ns.join(" ")))
      .build()
    const { runtime, clock } = processOn(memoryStore(), { workflows: [sum] })
    const ids: string[] = []
    for (const n of [1, 2, 3, 4]) ids.push(await runtime.enqueue(sum, n))
    expect(new Set(ids).size).toBe(2)
    await pass(1_000, clock)
    expect(await runtime.get(ids[0] as string)).toMatchObject({ outputs: ["1 2 3"] })
    expect((await runtime.store.run(ids[3] as string))?.status).toBe("queued")
    await pass(5_000, clock)
    expect(await runtime.get(ids[3] as string)).toMatchObject({ outputs: ["4"] })
    await runtime.close()
  })

  test("many processes add to one batch at once, and no item is lost", async () => {
    const sum = workflow("sum", { flow: { batch: { maxSize: 4, timeout: 1_000 } } })
      .start(node("sum", (ns: number[]) => ns))
      .build()
    const store = memoryStore()
    const processes = Array.from({ length: 3 }, () => processOn(store, { workflows: [sum], recover: false }))
    const items = Array.from({ length: 30 }, (_, n) => n)
    const ids = await Promise.all(
      items.map((n) => (processes[n % 3] as (typeof processes)[0]).runtime.enqueue(sum, n)),
    )
    const [{ clock }] = processes as [(typeof processes)[0]]
    const worker = processOn(store, { workflows: [sum], clock })
    await pass(3_000, clock)
    await worker.runtime.recover()
    const all: number[] = []
    for (const id of new Set(ids)) all.push(...((await worker.runtime.get(id)).outputs[0] as number[]))
    expect(all.sort((a, b) => a - b)).toEqual(items)
    await Promise.all([...processes, worker].map(({ runtime }) => runtime.close()))
  })

  test.each(["key", "runId"] as const)("what it decides cannot be passed: %s", async (name) => {
    const { flow } = jobs({ throttle: { period: 1 } })
    const { runtime } = producer(flow)
    await expect(runtime.enqueue(flow, { n: 1 }, { [name]: "x" })).rejects.toThrow(
      `${name} is decided by flow.throttle of workflow "jobs"`,
    )
    await runtime.close()
  })

  test("a key that is none is refused, with the option's name", async () => {
    const { flow } = jobs({ concurrency: { max: 1, key: (() => undefined) as never } })
    const { runtime } = producer(flow)
    await expect(runtime.enqueue(flow, { n: 1 })).rejects.toMatchObject({
      code: "FLOW_KEY_INVALID",
      message: expect.stringContaining("flow.concurrency.key"),
    })
    await runtime.close()
  })
})

test("a run's flow is in its row", async () => {
  const { flow } = jobs({
    concurrency: [{ max: 2 }, { max: 1, key: ({ n }: Job) => n }],
    rateLimit: { max: 1, period: 1_000 },
    priority: ({ n }: Job) => n,
    tenant: () => "t",
  })
  const { store, runtime } = producer(flow)
  const expected = (n: number): RunFlow => ({
    queue: "default",
    tenant: "t",
    priority: n,
    lanes: [
      { limit: "jobs/concurrency[0]", key: "" },
      { limit: "jobs/concurrency[1]", key: String(n) },
      { limit: "jobs/rateLimit", key: "" },
    ],
  })
  const id = await runtime.enqueue(flow, { n: 7 })
  expect((await rowOf(store, id)).flow).toEqual(expected(7))
  const explicit = await runtime.enqueue(flow, { n: 8 }, { tenant: "own", priority: 1 })
  expect((await rowOf(store, explicit)).flow).toEqual({ ...expected(8), tenant: "own", priority: 1 })
  await runtime.close()
})
