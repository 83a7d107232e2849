import { describe, expect, test } from "vitest"
import { type Context, memoryStore, node, workflow } from "../index.ts"
import { callContext, inTask, toolNamed } from "./call-context.test-support.ts"
import { callTool, readArgs, type ToolOutcome } from "./call-tool.ts"
import { think, todo } from "./planning.ts"

const list = todo()

/** Like an agent: parses the arguments of the model, and calls the tool. */
async function use(
  ctx: Context,
  name: string,
  args: object,
  agent = "writer",
  toolset = list,
): Promise<ToolOutcome> {
  const one = await toolNamed(toolset, name)
  const parsed = await readArgs(one, JSON.stringify(args))
  if (!parsed.ok) return { ok: false, error: { code: "ARGS", message: parsed.reason } }
  return callTool(one, parsed.args, callContext({ ctx, agent, tool: name }))
}

const items = [{ text: "read" }, { text: "write", status: "in_progress" }]

describe("the todo list", () => {
  test("is written, updated and read", async () => {
    const { outputs } = await inTask(async (ctx) => [
      await use(ctx, "todo_read", {}),
      await use(ctx, "todo_write", { items }),
      await use(ctx, "todo_update", { ids: [1, 2], status: "done" }),
      await use(ctx, "todo_read", {}),
    ])
    const done = {
      ok: true,
      value: {
        items: [
          { id: 1, text: "read", status: "done" },
          { id: 2, text: "write", status: "done" },
        ],
        left: 0,
      },
    }
    expect(outputs[0]).toMatchObject([
      { ok: true, value: { items: [], left: 0 } },
      {
        value: {
          items: [
            { id: 1, status: "open" },
            { id: 2, status: "in_progress" },
          ],
          left: 2,
        },
      },
      done,
      done,
    ])
  })

  test("accepts the list that it returned, with ids in the order of the items", async () => {
    const { outputs } = await inTask((ctx) =>
      use(ctx, "todo_write", {
        items: [
          { id: 7, text: "b", status: "done" },
          { id: 1, text: "a" },
        ],
      }),
    )
    expect(outputs).toMatchObject([
      {
        value: {
          items: [
            { id: 1, text: "b" },
            { id: 2, text: "a" },
          ],
        },
      },
    ])
  })

  test("reports mistakes to the model", async () => {
    const { outputs } = await inTask(async (ctx) => [
      await use(ctx, "todo_write", { items }),
      await use(ctx, "todo_update", { ids: [2, 3], status: "done" }),
      await use(ctx, "todo_update", { ids: [2], status: "finished" }),
      await use(ctx, "todo_write", { items: [{ text: "" }] }),
      await use(ctx, "todo_read", {}),
    ])
    expect(outputs[0]).toMatchObject([
      { ok: true },
      { ok: false, error: { message: expect.stringContaining("no item 3; the list has items 1 to 2") } },
      { ok: false, error: { message: expect.stringContaining('must be one of "open", "in_progress"') } },
      { ok: false },
      { ok: true, value: { left: 2 } },
    ])
  })

  test("is each agent's own, unless it is shared", async () => {
    const shared = todo({ shared: true })
    const { outputs } = await inTask(async (ctx) => {
      await use(ctx, "todo_write", { items }, "writer")
      await use(ctx, "todo_write", { items }, "writer", shared)
      return [await use(ctx, "todo_read", {}, "editor"), await use(ctx, "todo_read", {}, "editor", shared)]
    })
    expect(outputs[0]).toMatchObject([{ value: { left: 0 } }, { value: { left: 2 } }])
  })

  test("persists from one message of its node to the next", async () => {
    const agent = node("agent", async (round: number, ctx: Context) => {
      if (round === 1) await use(ctx, "todo_write", { items })
      const outcome = await use(ctx, "todo_update", { ids: [round], status: "done" })
      if (round === 2) ctx.output(outcome)
      return round + 1
    })
    const looped = workflow("w")
      .start(agent)
      .edge(agent, agent, { when: (round: number) => round === 2 })
      .build()
    const { outputs } = await looped.run(1)
    expect(outputs).toContainEqual({ ok: true, value: expect.objectContaining({ left: 0 }) })
  })

  test("is restored after a crash, because the tools run again", async () => {
    const agent = node("agent", async (_: string, ctx: Context) => {
      await use(ctx, "todo_write", { items })
      await ctx.ask("Continue?")
      return use(ctx, "todo_update", { ids: [1], status: "done" })
    })
    const built = workflow("w").chain(agent).build()
    const store = memoryStore()
    await built.run("go", { store, runId: "r" })
    const again = built.resume("r", { store })
    await again
    await again.respond("r1", "yes")
    expect((await again).outputs).toMatchObject([{ ok: true, value: { left: 1 } }])
    const tools = await list.tools(callContext().ctx)
    expect(tools.every((one) => one.durable === true)).toBe(true)
  })

  test("is the same after a retry: nothing of the failed attempt remains", async () => {
    const tries: number[] = []
    const agent = node({
      id: "agent",
      retry: { attempts: 2, delay: 0 },
      run: async (_: string, ctx: Context) => {
        tries.push(ctx.attempt)
        await use(ctx, "todo_write", { items })
        const outcome = await use(ctx, "todo_update", { ids: [1], status: "done" })
        if (ctx.attempt === 1) throw new Error("the model was not there")
        return outcome
      },
    })
    const { outputs } = await workflow("w").chain(agent).build().run("go")
    expect(tries).toEqual([1, 2])
    expect(outputs).toMatchObject([
      { value: { items: [{ status: "done" }, { status: "in_progress" }], left: 1 } },
    ])
  })
})

test("a thought is noted and changes nothing", async () => {
  const one = await toolNamed(think(), "think")
  expect(one.idempotent).toBe(true)
  expect(await callTool(one, { thought: "hm" }, callContext())).toEqual({
    ok: true,
    value: "The thought is noted.",
  })
  expect(await readArgs(one, '{ "thought": "" }')).toMatchObject({ ok: false })
})
