/** Calls a tool of a toolset like an agent: parses and checks the arguments, and runs the tool. */
import { type Clock, type Context, systemClock } from "../runtime/index.ts"
import type { ToolCallContext, Toolset } from "./tool.ts"

// biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape.
type Result = any

export interface UseOptions {
  readonly signal?: AbortSignal
  readonly clock?: Clock
}

export async function use(
  toolset: Toolset,
  name: string,
  args: unknown,
  options: UseOptions = {},
): Promise<Result> {
  const signal = options.signal ?? new AbortController().signal
  const ctx = { signal, clock: options.clock ?? systemClock } as Context
  const tools = await toolset.tools(ctx)
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined)
    throw new Error(`no tool "${name}" among ${tools.map((one) => one.name).join(", ")}`)
  const parsed = await tool.parse(args)
  if (!parsed.ok) throw new Error(`refused: ${parsed.reason}`)
  const call = { id: "1", agent: "a", tool: name, signal, idempotencyKey: "key-1", ctx } as ToolCallContext
  return tool.run(parsed.args as never, call)
}
