/** What a handler does after it returned has no place to go: it is refused, and the missing await is named. */
import { describe, expect, test } from "vitest"
import { append, type Context, channel, node, Runtime, workflow } from "../../index.ts"
import { memoryStore } from "../../stores/index.ts"
import { settled } from "../../testing/index.ts"

const log = channel("log", append<string>())
const inner = workflow("inner")
  .start(node("give", (n: number) => n))
  .build()

const calls: [string, (ctx: Context) => unknown][] = [
  ["ctx.send", (ctx) => ctx.send(1)],
  ["ctx.output", (ctx) => ctx.output(1)],
  ["ctx.state.write", (ctx) => ctx.state.write(log, ["late"])],
  ["ctx.local.set", (ctx) => ctx.local.set("key", 1)],
  ["ctx.request", (ctx) => ctx.request("late?")],
  ["ctx.use", (ctx) => ctx.use({ toolCalls: 1 })],
  ["ctx.emit", (ctx) => ctx.emit("late")],
  ["ctx.step", (ctx) => ctx.step("late", () => 1)],
  ["ctx.ask", (ctx) => ctx.ask("late?")],
  ["ctx.sleep", (ctx) => ctx.sleep(1)],
  ["ctx.call", (ctx) => ctx.call(inner, 1)],
]

/** A workflow whose one handler ends before `late` is called. */
function forgetful(late: (ctx: Context) => unknown, end: () => unknown) {
  let go: () => void = () => undefined
  const called = new Promise<void>((resolve) => {
    go = resolve
  })
  let outcome: Promise<unknown> = Promise.resolve()
  const forgets = node({
    id: "forgets",
    run: (_: null, ctx: Context) => {
      outcome = called.then(() => late(ctx)).catch((error) => error)
      return end()
    },
    onAnswer: () => undefined,
  })
  const built = workflow("w", { state: [log] })
    .start(forgets)
    .build()
  const late_ = async () => {
    go()
    return outcome
  }
  return { built, late: late_ }
}

describe("after its handler returned", () => {
  test.each(calls)("%s throws HANDLER_RETURNED", async (name, call) => {
    const { built, late } = forgetful(call, () => "done")
    const { status, outputs } = await built.run(null, { runId: "r1" })
    expect({ status, outputs }).toEqual({ status: "completed", outputs: ["done"] })
    const error = (await late()) as Error
    expect(error).toMatchObject({ code: "HANDLER_RETURNED", node: "forgets", run: "r1" })
    expect(error.message).toContain(`${name} was called after the handler of node "forgets" had returned`)
    expect(error.message).toContain("An await is missing")
  })

  test("the same holds where it threw", async () => {
    const { built, late } = forgetful(
      (ctx) => ctx.send(1),
      () => {
        throw new Error("no")
      },
    )
    expect((await built.run(null).result).status).toBe("failed")
    expect(await late()).toMatchObject({ code: "HANDLER_RETURNED" })
  })

  test("the same holds while the conditions of its edges are being asked", async () => {
    let decide: (value: boolean) => void = () => undefined
    const decided = new Promise<boolean>((resolve) => {
      decide = resolve
    })
    let context: Context | undefined
    const from = node("from", (n: number, ctx: Context) => {
      context = ctx
      return n
    })
    const to = node("to", (n: number) => n)
    const run = workflow("w")
      .start(from)
      .edge(from, to, { when: () => decided })
      .build()
      .run(1)
    await settled()
    expect(() => context?.send(2)).toThrow(/HANDLER_RETURNED|had returned/)
    decide(true)
    expect((await run).outputs).toEqual([1])
  })

  test("reading the state and logging continue", async () => {
    const { built, late } = forgetful(
      (ctx) => {
        ctx.log("info", "still here")
        return ctx.state.get(log)
      },
      () => undefined,
    )
    await built.run(null)
    expect(await late()).toEqual([])
  })
})

test("a step that was under way when its handler returned rejects, and names the missing await", async () => {
  let end: (value: number) => void = () => undefined
  let step: Promise<unknown> = Promise.resolve()
  const forgets = node("forgets", (_: null, ctx: Context) => {
    step = ctx.step("slow", () => new Promise<number>((resolve) => (end = resolve))).catch((error) => error)
    return "done"
  })
  expect((await workflow("w").start(forgets).build().run(null)).outputs).toEqual(["done"])
  end(1)
  expect(await step).toMatchObject({ code: "HANDLER_RETURNED", node: "forgets" })
})

test("those who watch the run, and the runtime, hear of it", async () => {
  const { built, late } = forgetful(
    (ctx) => ctx.output("lost"),
    () => "first",
  )
  const waits = node("waits", (_: string, ctx: Context) => ctx.ask("continue?"))
  const outer = workflow("outer")
    .chain(built.asNode(), waits as never)
    .build()
  const problems: { runId?: string; code: string }[] = []
  const runtime = new Runtime({
    store: memoryStore(),
    workflows: [outer],
    onProblem: ({ runId, error }) =>
      problems.push({ runId: runId as string, code: (error as Error & { code: string }).code }),
  })
  const run = runtime.stream(outer, null as never)
  const logs: string[] = []
  for await (const event of run) {
    if (event.type === "request.opened") {
      await late()
      await run.respond(event.request.id, "yes")
    }
    if (event.type === "log") logs.push(`${event.level} ${event.message}`)
  }
  expect(logs).toEqual([expect.stringMatching(/^error ctx.output was called after the handler/)])
  expect(problems).toEqual([{ runId: run.id, code: "HANDLER_RETURNED" }])
  await runtime.close()
})

test("what a task does that was stopped is not called a mistake of its handler", async () => {
  let go: () => void = () => undefined
  let late: Promise<unknown> = Promise.resolve()
  const slow = node("slow", (_: null, ctx: Context) => {
    late = new Promise<void>((resolve) => (go = resolve)).then(() => ctx.send(1)).catch((error) => error)
    return late
  })
  const run = workflow("w").start(slow).build().run(null)
  await settled()
  run.cancel("enough")
  await run.result
  go()
  expect(await late).toBeUndefined()
})
