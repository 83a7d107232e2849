/** Runs of real workflows, with every event that they emitted: what the schemas and the fold are tested with. */
import { z } from "zod"
import {
  add,
  append,
  channel,
  type JournalRecord,
  type Json,
  memoryStore,
  merge,
  node,
  type Run,
  type RunEvent,
  type RunOptions,
  type RunResult,
  reducer,
  replace,
  type Store,
  type StoredRun,
  settle,
  union,
  type Workflow,
  workflow,
} from "../index.ts"
import { foldRecords } from "../runtime/journal/load-run.ts"
import { type ManualClock, manualClock, settled } from "../testing/index.ts"
import { emptyView, foldEvents, type RunView, type TaskView, tasksOf, type WorkflowView } from "./index.ts"

export interface RecordedRun {
  readonly events: readonly RunEvent[]
  readonly result: RunResult
}

interface Driving {
  readonly options?: RunOptions
  /** What people and the clock do while it runs. */
  readonly drive?: (run: Run, clock: ManualClock) => Promise<void>
}

async function record<In>(
  built: Workflow<In, unknown>,
  input: In,
  { options, drive }: Driving = {},
): Promise<RecordedRun> {
  const clock = manualClock(1_000)
  const run = built.stream(input, { runId: "run-1", clock, ...options })
  return follow(run, run, clock, drive)
}

async function follow(
  run: Run,
  stream: AsyncIterable<RunEvent>,
  clock: ManualClock,
  drive: Driving["drive"],
): Promise<RecordedRun> {
  const events: RunEvent[] = []
  const read = async () => {
    for await (const event of stream) events.push(event)
  }
  const reading = read()
  await settled()
  await drive?.(run, clock)
  const result = await run.result
  if (result.status === "waiting" || result.status === "paused") await settled()
  else await reading
  return { events, result }
}

interface Fork {
  /** How many records of the first run are the fork's past; all of them where absent. */
  readonly at?: number
  readonly state?: { readonly [key: string]: Json }
}

/** Makes the run "run-1", or the one that is named, with the past of another one. */
async function forkRun(
  store: Store,
  clock: ManualClock,
  from: string,
  { at, state }: Fork,
  runId = "run-1",
): Promise<void> {
  const past = (await store.read(from, 0)).slice(0, at)
  const { seq, events, entry: last } = past.at(-1) as JournalRecord
  const live = await foldRecords(store, from, past)
  const now = clock.now()
  const records = [...(live?.frames.keys() ?? [])].map((frame, i): JournalRecord => {
    const changed = frame === "" && state !== undefined ? { state } : {}
    const forked = { type: "run.forked", runId, from: { runId: from, seq }, ...changed } as const
    return {
      seq: seq + 1 + i,
      frame,
      entry: { ...forked, at: now, later: now - last.at },
      events: events + 1 + i,
    }
  })
  const { workflow, graph } = (await store.run(from)) as StoredRun
  const lease = { runId, holder: "whoever forks", token: 1 }
  await store.append(lease, seq, records, { created: { workflow, graph, forkOf: { runId: from, seq } } })
  await store.release(lease, undefined)
}

/** A run, and then what became of one that has its past. */
async function recordFork<In>(
  built: Workflow<In, unknown>,
  input: In,
  { later = 0, drive, ...fork }: Fork & Driving & { readonly later?: number } = {},
): Promise<RecordedRun> {
  const clock = manualClock(1_000)
  const store = memoryStore()
  built.run(input, { runId: "run-0", clock, store })
  await clock.advance(later)
  await forkRun(store, clock, "run-0", fork)
  const run = built.resume("run-1", { clock, store })
  return follow(run, run.events({ after: 0 }), clock, drive)
}

async function answerAll(run: Run, value: unknown): Promise<void> {
  const { requests } = await run.result
  for (const { id } of requests) await run.respond(id, value, { by: "ann" })
  await settled()
}

const start = node("start", (n: number) => n)
const double = node("double", (n: number) => n * 2)
const sum = node("sum", (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0))
const fails = node("fails", (_: number): number => {
  throw new Error("no luck")
})
const asks = node("asks", async (n: number, ctx) => `${n}: ${await ctx.ask("Continue?")}`)
const sleeps = node("sleeps", async (n: number, ctx) => {
  await ctx.sleep(1_000)
  return n
})
const asking = workflow("asking").start(asks).build()
const escalates = node("escalates", (_: number, ctx) =>
  ctx.ask({
    prompt: "Go?",
    to: "ann",
    timeout: 100,
    escalate: [
      { to: "bob", timeout: 200 },
      { to: "eve", timeout: 300 },
    ],
  }),
)

const texts = channel("texts", append<string>())
const count = channel("count", add())
const names = channel("names", union<string>())
const facts = channel("facts", merge<{ a?: number; b?: number }>({}))
const last = channel("last", replace<number>())
const longest = channel(
  "longest",
  reducer<string>("longest", (now, write) => ((now?.length ?? 0) < write.length ? write : (now ?? ""))),
)
const state = [texts, count, names, facts, last, longest]

const writes = node("writes", (n: number, ctx) => {
  ctx.state.write(texts, [`text ${n}`, "and"])
  ctx.state.write(count, n)
  ctx.state.write(names, ["ann", `bob ${n % 2}`])
  ctx.state.write(facts, n % 2 === 0 ? { a: n } : { b: n })
  ctx.state.write(last, n)
  ctx.state.write(longest, "x".repeat(n))
  return n + 1
})

const writing = workflow("w", { state })
  .chain(start, writes)
  .loop(writes, writes, { while: (n) => n < 6 })
  .build()

const spends = node("spends", async (n: number, ctx) => {
  ctx.use({ inputTokens: 10 * n, usd: 0.1 })
  await ctx.step("model", () => n, { usage: () => ({ outputTokens: 7, modelCalls: 1 }) })
  return n
})
const spending = workflow("spending").chain(spends, double).build()

const talks = node("talks", (n: number, ctx) => {
  ctx.emit("run.finished", { status: "completed" })
  ctx.log("info", "half way", { n })
  ctx.log("info", "half way", { n })
  ctx.emit("nothing")
  ctx.partial({ call: "step:model", value: { done: false }, agent: "writer" })
  ctx.progress({ tool: { id: "c1", name: "look" }, data: { percent: 50 }, agent: "writer" })
  ctx.delta({
    call: "model",
    kind: "tool",
    text: "{",
    offset: 0,
    agent: "writer",
    tool: { id: "1", name: "look" },
  })
  return n
})

function failingFirst(times: number, delay: number) {
  let calls = 0
  return node({
    id: "shaky",
    retry: { attempts: times + 1, delay },
    run: (n: number) => {
      if (calls++ < times) throw new Error(`failure ${calls}`)
      return n
    },
  })
}

/** By name; each makes a run of its own. */
const realRuns: Readonly<Record<string, () => Promise<RecordedRun>>> = {
  "a chain": () => record(workflow("w").chain(start, double).build(), 1),

  "fan-out and fan-in": () => {
    const [b, c] = [node("b", (n: number) => n + 1), node("c", (n: number) => n + 2)]
    return record(workflow("w").start(start).fanOut(start, [b, c]).fanIn([b, c], sum).build(), 1)
  },
  "a join that waits over supersteps": () => {
    const [b, c, d] = ["b", "c", "d"].map((id) => node(id, (n: number) => n)) as [
      typeof start,
      typeof start,
      typeof start,
    ]
    return record(workflow("w").start(start).fanOut(start, [b, c]).edge(c, d).fanIn([b, d], sum).build(), 1)
  },
  "a join that settles": () => {
    const b = node("b", (n: number) => n)
    const gather = node("gather", (all: readonly unknown[]) => all.length)
    return record(
      workflow("w")
        .start(start)
        .fanOut(start, [b, fails])
        .fanIn([b, fails], gather, { join: settle() })
        .build(),
      1,
    )
  },
  "a map with few places": () => {
    const items = node("items", (n: number) => Array.from({ length: n }, (_, i) => i))
    return record(workflow("w").start(items).map(items, double, sum, { concurrency: 2 }).build(), 7)
  },
  "a map over nothing": () => {
    const items = node("items", (_: number): number[] => [])
    return record(workflow("w").start(items).map(items, double).build(), 7)
  },
  "a loop": () => {
    const more = node("more", (n: number) => n + 1)
    return record(
      workflow("w")
        .chain(start, more)
        .loop(more, more, { while: (n) => n < 5, max: 10 })
        .build(),
      1,
    )
  },
  "flow mode": () => {
    const [b, c] = [node("b", (n: number) => n + 1), double]
    return record(
      workflow("w", { schedule: "flow" }).start(start).fanOut(start, [b, c]).fanIn([b, c], sum).build(),
      1,
    )
  },

  "a retry after a delay": () =>
    record(workflow("w").chain(start, failingFirst(2, 500)).build(), 1, {
      drive: (_, clock) => clock.advance(1_000),
    }),
  "a retry at once": () => record(workflow("w").chain(start, failingFirst(1, 0)).build(), 1),
  "a retry that is still to come": () =>
    record(workflow("w").chain(start, failingFirst(1, 500)).build(), 1, {
      drive: async (run) => run.cancel("enough"),
    }),
  "an error edge": () => {
    const rescue = node("rescue", ({ error }: { error: { message: string } }) => error.message)
    return record(workflow("w").chain(start, fails).onError(fails, rescue).build(), 1)
  },
  "a failure that settles": () => {
    const settles = node({
      id: "settles",
      onError: "settle",
      run: (n: number): number => {
        throw new Error(`no ${n}`)
      },
    })
    return record(workflow("w").chain(start, settles).build(), 1)
  },
  "a failure": () => record(workflow("w").chain(start, fails, double).build(), 1),
  "a time limit": () => {
    const stuck = node({ id: "stuck", timeout: 100, run: () => new Promise<number>(() => undefined) })
    return record(workflow("w").chain(start, stuck).build(), 1, {
      drive: (_, clock) => clock.advance(100),
    })
  },

  "a message that no handler takes": () => {
    const picky = node({ id: "picky", input: z.string() as never, run: (text: string) => text })
    return record(
      workflow("w")
        .start(start)
        .fanOut(start, [picky as never, double])
        .build(),
      1,
    )
  },
  "a message that no handler takes, beside a question": () => {
    const picky = node({ id: "picky", input: z.string() as never, run: (text: string) => text })
    return record(
      workflow("w", { schedule: "flow" })
        .start(start)
        .fanOut(start, [picky as never, asks])
        .build(),
      1,
    )
  },
  "a selection of none": () =>
    record(
      workflow("w")
        .start(start)
        .fanOut(start, [double, asks], { select: () => [] })
        .build(),
      1,
    ),

  "shared state": () => record(writing, 1),
  usage: () => record(workflow("w").chain(spends, double).build(), 3),
  "usage of a sub-workflow": () => record(workflow("w").chain(spends, spending.asNode(), double).build(), 3),
  "a budget that is used up": () =>
    record(workflow("w").chain(spends, spending.asNode(), double).build(), 3, {
      options: { budget: { tokens: 40 } },
    }),
  "live events": () => record(workflow("w").chain(start, talks, double).build(), 1),
  "a task that waits for a slot": () => {
    const list = node("list", (n: number) => [n, n + 1])
    const limited = node({
      id: "limited",
      concurrency: 2,
      flow: { concurrency: 1 },
      run: async (n: number) => n,
    })
    return record(workflow("w").start(list).map(list, limited).build(), 1, {
      options: { store: memoryStore() },
    })
  },
  "more live events than a watcher is kept": async () => {
    const chatters = node("chatters", (n: number, ctx) => {
      for (let i = 0; i < 10_010; i++) ctx.emit("chat", i)
      return n
    })
    const { events, result } = await record(workflow("w").chain(start, chatters).build(), 1)
    // Of what was kept the last few are enough.
    const gap = events.findIndex(({ type }) => type === "live.gap")
    return { events: events.filter(({ type }, i) => type !== "custom" || i > gap - 3), result }
  },

  "a sub-workflow": () => {
    const inner = workflow("inner").chain(start, double).build()
    const outer = workflow("outer").chain(double, inner.asNode()).build()
    return record(workflow("w").chain(start, outer.asNode(), double).build(), 1)
  },
  "a sub-workflow that fails and is called again": () => {
    const inner = workflow("inner").chain(start, failingFirst(1, 0)).build()
    // Its node does not retry, so the sub-workflow fails, and the task that called it is tried again.
    const failing = workflow("failing").chain(start, fails).build()
    const calls = node({
      id: "calls",
      retry: { attempts: 2, delay: 0 },
      run: async (n: number, ctx) => (ctx.attempt === 1 ? ctx.call(failing, n) : ctx.call(inner, n)),
    })
    return record(workflow("w").chain(start, calls).build(), 1)
  },

  "a question that waits": () => record(workflow("w").chain(start, asks, node("end", String)).build(), 1),
  "a question that is answered": () =>
    record(workflow("w").chain(start, asks).build(), 1, { drive: (run) => answerAll(run, "yes") }),
  "a run that is paused, answered and resumed": () =>
    record(workflow("w").chain(start, asks, node("end", String)).build(), 1, {
      drive: async (run) => {
        const { requests } = await run.result
        await run.pause({ reason: "lunch", by: "Ada" })
        await run.respond(requests[0]?.id as string, "yes")
        await run.resume({ by: "Bo" })
        await run.result
      },
    }),
  "a run that stays paused, with its sub-workflow": () => {
    const inner = workflow("inner").chain(start, asks).build()
    return record(workflow("w").chain(start, inner.asNode()).build(), 1, {
      drive: async (run) => {
        await run.result
        await run.pause()
      },
    })
  },
  "two questions, one of them answered": () => {
    const both = node("both", async (_: number, ctx) => {
      const answers = await Promise.all([ctx.ask("One?"), ctx.ask("Two?")])
      return answers.join()
    })
    return record(workflow("w").chain(start, both).build(), 1, {
      drive: async (run) => {
        const { requests } = await run.result
        await run.respond(requests[0]?.id as string, "1")
        await settled()
      },
    })
  },
  "a question beside other work": () =>
    record(workflow("w").start(start).fanOut(start, [asks, double]).chain(double, talks).build(), 1),
  "a question to a handler of its own": () => {
    const requests = node({
      id: "requests",
      run: (_: number, ctx) => ctx.request("Which?"),
      onAnswer: (answer: unknown) => `the ${answer}`,
    })
    return record(workflow("w").chain(start, requests).build(), 1, {
      drive: (run) => answerAll(run, "third"),
    })
  },
  "a question with a default, past its deadline": () => {
    const waits = node("waits", (_: number, ctx) =>
      ctx.ask({ prompt: "Go?", timeout: 100, default: "no", data: { why: ["x"] }, schema: z.string() }),
    )
    return record(workflow("w").chain(start, waits).build(), 1, { drive: (_, clock) => clock.advance(100) })
  },
  "a question that expires": () => {
    const waits = node("waits", (_: number, ctx) => ctx.ask({ prompt: "Go?", timeout: 100 }))
    return record(workflow("w").chain(start, waits).build(), 1, { drive: (_, clock) => clock.advance(100) })
  },
  "a question that is escalated, and answered": () =>
    record(workflow("w").chain(start, escalates).build(), 1, {
      drive: async (run, clock) => {
        await clock.advance(300)
        await answerAll(run, "yes")
      },
    }),
  "a question that somebody passes on": () =>
    record(workflow("w").chain(start, escalates).build(), 1, {
      drive: async (run) => {
        await run
        await run.escalate("r1", { to: "max", note: "Ask him.", by: "ann" })
        await run.respond("r1", "yes", { by: "max" })
      },
    }),
  "a question that is escalated, and waits": () =>
    record(workflow("w").chain(start, escalates).build(), 1, { drive: (_, clock) => clock.advance(299) }),
  "a question that is escalated, and expires": () =>
    record(workflow("w").chain(start, escalates).build(), 1, { drive: (_, clock) => clock.advance(600) }),
  "a question that is escalated, in a sub-workflow": () => {
    const inner = workflow("inner").chain(start, escalates).build()
    return record(workflow("w").chain(start, inner.asNode()).build(), 1, {
      drive: async (run, clock) => {
        await clock.advance(300)
        await answerAll(run, "yes")
      },
    })
  },
  "a question that is escalated, to a handler of its own": () => {
    const requests = node({
      id: "requests",
      run: (_: number, ctx) =>
        ctx.request({ prompt: "?", timeout: 100, escalate: [{ to: "eve", timeout: 0 }] }),
      onAnswer: (answer: unknown) => `the ${answer}`,
    })
    const rescue = node("rescue", ({ error }: { error: { code: string } }) => error.code)
    return record(workflow("w").chain(start, requests).onError(requests, rescue).build(), 1, {
      drive: (_, clock) => clock.advance(100),
    })
  },
  "a question in a sub-workflow that waits": () =>
    record(workflow("w").chain(start, asking.asNode()).build(), 1),
  "a question in a sub-workflow that is answered": () =>
    record(workflow("w").chain(start, asking.asNode()).build(), 1, {
      drive: (run) => answerAll(run, "yes"),
    }),
  "a question in a sub-workflow whose caller answers": () =>
    record(
      workflow("w")
        .chain(start, asking.asNode({ onRequest: () => "sure" }))
        .build(),
      1,
    ),
  "a sleep": () =>
    record(workflow("w").chain(start, sleeps).build(), 1, { drive: (_, clock) => clock.advance(1_000) }),

  "a fork of a run that waits": () =>
    recordFork(workflow("w").chain(start, asks, node("end", String)).build(), 1, {
      later: 500,
      drive: (run) => answerAll(run, "yes"),
    }),
  "a fork that still waits": () => recordFork(workflow("w").chain(start, asks).build(), 1),
  "a fork whose question has a deadline": () =>
    recordFork(workflow("w").chain(start, escalates).build(), 1, { later: 50 }),
  "a fork whose question has a deadline, in a sub-workflow": () => {
    const inner = workflow("inner").chain(start, escalates).build()
    return recordFork(workflow("w").chain(start, inner.asNode()).build(), 1, { later: 50 })
  },
  "a fork that sleeps": () =>
    recordFork(workflow("w").chain(start, sleeps).build(), 1, {
      later: 400,
      drive: (_, clock) => clock.advance(1_000),
    }),
  "a fork between two attempts": () =>
    recordFork(workflow("w").chain(start, failingFirst(2, 500)).build(), 1, {
      later: 200,
      drive: (_, clock) => clock.advance(1_000),
    }),
  "a fork of a run that is over, from its middle, with another state": () => {
    return recordFork(writing, 1, { at: 6, state: { texts: ["mine"], count: 10, last: -1 } })
  },
  "a fork from the middle of a commit": () => recordFork(writing, 1, { at: 5, state: { longest: "mine" } }),
  "a fork with a question in a sub-workflow": () => {
    const built = workflow("w", { state: [last] })
      .chain(start, asking.asNode())
      .build()
    return recordFork(built, 1, { state: { last: 7 }, later: 500, drive: (run) => answerAll(run, "yes") })
  },
  "a fork of a fork": async () => {
    const twice = node("twice", async (_: number, ctx) => [await ctx.ask("One?"), await ctx.ask("Two?")])
    const built = workflow("w", { state }).chain(start, twice).build()
    const [clock, store] = [manualClock(1_000), memoryStore()]
    await built.run(1, { runId: "run-0", clock, store })
    await forkRun(store, clock, "run-0", { state: { texts: ["first"], count: 1 } }, "run-0.5")
    const first = built.resume("run-0.5", { clock, store })
    await answerAll(first, 1)
    await forkRun(store, clock, "run-0.5", { state: { texts: ["second"] } })
    const run = built.resume("run-1", { clock, store })
    return follow(run, run.events({ after: 0 }), clock, () => answerAll(run, 2))
  },

  "signals, and a reply": () => {
    const below = workflow("below")
      .start(node("below", async (n: number, ctx) => [n, await ctx.waitFor("go", { timeout: 60_000 })]))
      .build()
    const counted = node("counted", async (n: number, ctx) => {
      const [first] = await Promise.all([ctx.call(below, n), ctx.waitFor("go")])
      const update = await ctx.waitForUpdate("add")
      await update.reply(1)
      return first as never
    })
    return record(workflow("w").chain(start, counted).build(), 1, {
      drive: async (run) => {
        await run.signal("other", null, { id: "kept" })
        for (const id of ["a", "b"]) await run.signal("go", id, { id })
        await run.update("add", 1, { id: "u" })
      },
    })
  },
  "a fork that waits for a signal": async () => {
    const late = node("late", async (_: number, ctx) => ctx.waitFor("go", { timeout: 5_000, default: 0 }))
    const built = workflow("w").chain(start, late).build()
    const [clock, store] = [manualClock(1_000), memoryStore()]
    await built.run(1, { runId: "run-0", clock, store })
    await forkRun(store, clock, "run-0", {})
    const run = built.resume("run-1", { clock, store })
    return follow(run, run.events({ after: 0 }), clock, () => clock.advance(60_000))
  },

  "cancelled at work": () => {
    const stuck = node("stuck", () => new Promise<number>(() => undefined))
    return record(workflow("w").start(start).fanOut(start, [stuck, double]).build(), 1, {
      drive: async (run) => run.cancel("enough"),
    })
  },
  "cancelled with a question in a sub-workflow": () =>
    record(workflow("w").chain(start, asking.asNode()).build(), 1, {
      drive: async (run) => run.cancel("enough"),
    }),
  "a limit": () => {
    const more = node("more", (n: number) => n + 1)
    return record(
      workflow("w", { limits: { supersteps: 4 } })
        .chain(start, more)
        .loop(more, more, { while: () => true })
        .build(),
      1,
    )
  },
  "a limit with a way out": () => {
    const more = node("more", (n: number) => n + 1)
    const out = node("out", ({ code }: { code: string }) => code)
    return record(
      workflow("w", { limits: { supersteps: 4 } })
        .chain(start, more)
        .loop(more, more, { while: () => true })
        .onLimit(out)
        .build(),
      1,
    )
  },
}

export const cases = Object.entries(realRuns)

export function realRun(name: string): Promise<RecordedRun> {
  return (realRuns[name] as () => Promise<RecordedRun>)()
}

/** The view of the whole stream. */
export async function realView(name: string): Promise<RunView> {
  return foldEvents(emptyView(), (await realRun(name)).events)
}

/** Those of the workflows below it included. */
export function everyTask(view: WorkflowView): TaskView[] {
  return tasksOf(view).flatMap((task) => [task, ...task.calls.flatMap(everyTask)])
}

/** From now on a write to any part of it throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}
