/** A tool call without an agent: inside a real task, or with only what most tools need. */
import { type Context, node, type RunResult, systemClock, workflow } from "../index.ts"
import type { Tool, ToolCallContext, Toolset } from "./tool.ts"

export function callContext(overrides: Partial<ToolCallContext> = {}): ToolCallContext {
  // For tools that do not use their context; others get one from `inTask`.
  const ctx = {
    clock: systemClock,
    ask: () => Promise.reject(new Error("no task")),
    sleep: () => Promise.reject(new Error("no task")),
    call: () => Promise.reject(new Error("no task")),
  } as unknown as Context
  const { signal } = new AbortController()
  return {
    id: "call-1",
    agent: "writer",
    tool: "tool",
    signal,
    context: undefined,
    progress: () => {},
    idempotencyKey: "run-1:call-1",
    ctx,
    ...overrides,
  }
}

/** Runs the function as the only task of a workflow; its result is the output. */
export async function inTask<T>(handler: (ctx: Context) => T): Promise<RunResult<unknown>> {
  const only = node("only", (_: string, ctx) => handler(ctx) as unknown)
  return await workflow("task").chain(only).build().run("go")
}

export async function toolNamed(toolset: Toolset, name: string): Promise<Tool> {
  const tools = await toolset.tools(callContext().ctx)
  const found = tools.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no tool ${name} among ${tools.map((one) => one.name).join(", ")}`)
  return found
}
