/** Options with names that nobody reads, or of the wrong kind, are refused with what was probably meant. */
import { expect, test } from "vitest"
import { agent } from "../agents/index.ts"
import { type Context, fork, memoryStore, node, Runtime, rerun, workflow } from "../index.ts"

const a = node("a", (n: number) => n)
const b = node("b", (n: number) => n)
const run = (n: number) => n
const clerk = (options: object) => agent({ name: "clerk", model: "offline", ...options }).asNode()

test.each<[string, object, RegExp]>([
  ["retries", { retries: 3 }, /^Node "n": unknown option "retries"; did you mean "retry"\?$/],
  ["timeOut", { timeOut: 3 }, /did you mean "timeout"\?$/],
  ["retry: 3", { retry: 3 }, /retry must be an object such as \{ attempts: 3 \}, not 3/],
  ["retry.attemps", { retry: { attemps: 3 } }, /retry: unknown option "attemps"; did you mean "attempts"\?/],
  ["retry.backoff", { retry: { attempts: 2, backoff: "linear" } }, /"fixed" or "exponential", not "linear"/],
  ["onError", { onError: "zzz" }, /onError must be "fail" or "settle", not "zzz"/],
  ["retry.on", { retry: { attempts: 2, on: "BUSY" } }, /retry\.on must be a list, not "BUSY"/],
  ["input", { input: { type: "object" } }, /input must be a Standard Schema .* not an object/],
  ["budget.dollars", { budget: { dollars: 3 } }, /unknown option "dollars"; the options are tokens, usd/],
])("a node refuses %s", (_, options, message) => {
  expect(() => node({ id: "n", run, ...options })).toThrow(message)
  expect(() => node({ id: "n", run, ...options })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  )
})

test("so does a workflow as a node", () => {
  const inner = workflow("inner").start(a).build()
  expect(() => inner.asNode({ id: "n", retries: 3 } as never)).toThrow(/did you mean "retry"\?/)
})

test.each<[string, () => unknown, RegExp]>([
  ["edge", () => workflow("w").edge(a, b, { wen: () => true } as never), /\.edge\(\) of "a".*"when"\?/],
  ["edge.when", () => workflow("w").edge(a, b, { when: true } as never), /when must be a function, not true/],
  ["fanOut", () => workflow("w").fanOut(a, [a, b], { selct: () => [] } as never), /did you mean "select"\?/],
  [
    "fanIn",
    () => workflow("w").fanIn([a, b], b as never, { timeOut: 1 } as never),
    /did you mean "timeout"\?/,
  ],
  [
    "map",
    () => workflow("w").map(a as never, b, b as never, { limit: 2 } as never),
    /unknown option "limit"/,
  ],
  ["loop", () => workflow("w").loop(a, b, { times: 3 } as never), /unknown option "times"/],
  [
    "switch",
    () => workflow("w").switch(a, [{ wen: () => true, to: b }] as never),
    /\.switch\(\) of "a".*"when"\?/,
  ],
  ["switch without when", () => workflow("w").switch(a, [{ to: b }] as never), /a case needs when/],
  [
    "timeout",
    () =>
      workflow("w", { timeout: "3s" } as never)
        .start(a)
        .build(),
    /Workflow "w": timeout must be a number of at least 0, not "3s"/,
  ],
  [
    "budget.usd",
    () =>
      workflow("w", { budget: { usd: "3" } } as never)
        .start(a)
        .build(),
    /budget\.usd must be a number of at least 0, not "3"/,
  ],
  [
    "an agent's retry",
    () => workflow("w").start(clerk({ retry: 3 })),
    /^Node "clerk": retry must be an object/,
  ],
  ["an agent's onError", () => workflow("w").start(clerk({ onError: "zzz" })), /onError must be "fail"/],
  [
    "workflow",
    () =>
      workflow("w", { limit: {} } as never)
        .start(a)
        .build(),
    /did you mean "limits"\?/,
  ],
  [
    "limits",
    () =>
      workflow("w", { limits: { step: 3 } } as never)
        .start(a)
        .build(),
    /limits: .*"step"/,
  ],
  [
    "limits: 5",
    () =>
      workflow("w", { limits: 5 } as never)
        .start(a)
        .build(),
    /limits must be an object/,
  ],
])("the builder refuses options of %s", (_, build, message) => {
  expect(build).toThrow(message)
})

test.each<[object, RegExp]>([
  [{ limit: { supersteps: 3 } }, /^Bad run option: unknown option "limit"; did you mean "limits"\?$/],
  [{ limits: { superstep: 3 } }, /did you mean "supersteps"\?/],
  [{ budget: 3 }, /budget must be an object, not 3/],
  [{ signal: {} }, /signal must be an AbortSignal/],
  [{ store: "file.db" }, /store must be a store, such as memoryStore\(\), not "file.db"/],
  [{ runID: "r" }, /did you mean "runId"\?/],
  [{ clock: 3 }, /clock must be a clock, such as systemClock, not 3/],
  [3 as never, /the options must be an object, not 3/],
  [null as never, /the options must be an object, not null/],
])("a run refuses %j before anything starts", async (options, message) => {
  let ran = false
  const built = workflow("w")
    .start(node("n", () => (ran = true)))
    .build()
  await expect(built.run(null as never, options).result).rejects.toThrow(message)
  expect(ran).toBe(false)
})

test("so does a resumption, and a runtime", async () => {
  const built = workflow("w").start(a).build()
  const store = memoryStore()
  await expect(built.resume("r", { store, takeover: true } as never).result).rejects.toThrow(/"takeOver"\?/)
  const onGraphChange = "zzz" as never
  const policy = /onGraphChange must be "fail", "continue" or a function, not "zzz"/
  await expect(built.resume("r", { store, onGraphChange }).result).rejects.toThrow(policy)
  expect(() => new Runtime({ store, workflows: [], onGraphChange })).toThrow(policy)
  expect(() => new Runtime({ store, workflows: [], retain: {} } as never)).toThrow(/"retain"/)
  expect(() => new Runtime({ store, workflows: [], retention: { maxage: 1 } } as never)).toThrow(/"maxAge"\?/)
})

test("so do a fork and a rerun", async () => {
  const store = memoryStore()
  await expect(fork(store, "r", { stat: {} } as never)).rejects.toThrow(/^Bad fork option: .*"state"\?$/)
  await expect(rerun(store, "r", { form: { node: "a" } } as never)).rejects.toThrow(/"from"\?$/)
})

test.each<[string, (ctx: Context) => unknown, RegExp]>([
  [
    "ctx.send",
    (ctx) => ctx.send(1, { too: "b" } as never),
    /ctx\.send of "n": unknown option "too"; did you mean "to"\?/,
  ],
  ["ctx.step", (ctx) => ctx.step("s", () => 1, { usages: 1 } as never), /did you mean "usage"\?/],
  [
    "ctx.call",
    (ctx) => ctx.call(workflow("v").start(a).build(), 1, { onrequest: 1 } as never),
    /did you mean "onRequest"\?/,
  ],
  [
    "ctx.ask",
    (ctx) => ctx.ask({ prompt: "well?", timout: 1 } as never),
    /The question "well\?": .* did you mean "timeout"\?/,
  ],
])("%s refuses options that there are none of", async (_, call, message) => {
  const built = workflow("w")
    .start(node("n", (_: null, ctx: Context) => call(ctx)))
    .build()
  expect((await built.run(null).result).error?.message).toMatch(message)
})

test("an option that is undefined is absent, whatever its name", async () => {
  const quiet = node({ id: "n", run, retries: undefined } as never)
  expect(quiet.id).toBe("n")
})
