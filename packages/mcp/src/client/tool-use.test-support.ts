/** Helpers for toolset tests: a program to start, a task's context, one tool call. */
import { fileURLToPath } from "node:url"
import type { Context } from "@superstep/engine"
import { callTool, readArgs, type Tool, type ToolOutcome, type Toolset } from "@superstep/engine/tools"
import { onTestFinished } from "vitest"
import { bundled } from "../../../../tests/bundled.ts"
import { type McpToolset, type McpToolsetOptions, mcpToolset } from "./mcp-toolset.ts"
import type { McpProgram, McpServerAddress } from "./server-address.ts"

/** A TypeScript file as a program. */
export function program(file: string): Pick<McpProgram, "command" | "args"> {
  return { command: process.execPath, args: [bundled(fileURLToPath(new URL(file, import.meta.url)))] }
}

export const everything: McpProgram = {
  name: "everything",
  ...program("./everything-program.test-support.ts"),
}

/** Closed with the test. */
export function opened(address: McpServerAddress, options?: McpToolsetOptions): McpToolset {
  const toolset = mcpToolset(address, options)
  onTestFinished(() => toolset.close())
  return toolset
}

export interface Logged {
  readonly lines: string[]
  readonly ctx: Context
  /** Resolves when a line with the text is logged. */
  until(text: string): Promise<void>
}

export function logged(signal = new AbortController().signal): Logged {
  const lines: string[] = []
  const waiting: { text: string; resolve: () => void }[] = []
  const log = (level: string, message: string) => {
    lines.push(`${level}: ${message}`)
    for (const one of waiting) if (message.includes(one.text)) one.resolve()
  }
  // Toolsets use only these members. Nobody answers, and nothing is recorded.
  const step = (_: string, run: () => unknown) => run()
  const ask = () => Promise.reject(new Error("nobody is there"))
  return {
    lines,
    ctx: { log, signal, step, ask } as unknown as Context,
    until: (text) => new Promise((resolve) => waiting.push({ text, resolve })),
  }
}

export async function toolNamed(toolset: Toolset, name: string, ctx = logged().ctx): Promise<Tool> {
  const tools = await toolset.tools(ctx)
  const found = tools.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no tool ${name} among ${tools.map((one) => one.name).join(", ")}`)
  return found
}

/** Calls a tool like an agent. */
export async function use(
  tool: Tool,
  args: object = {},
  options: { readonly ctx?: Context; readonly signal?: AbortSignal } = {},
): Promise<ToolOutcome> {
  const parsed = await readArgs(tool, JSON.stringify(args))
  if (!parsed.ok) throw new Error(parsed.reason)
  const { ctx = logged().ctx, signal = new AbortController().signal } = options
  const call = {
    id: "call-1",
    agent: "writer",
    tool: tool.name,
    signal,
    context: undefined,
    progress: () => {},
    idempotencyKey: "key-1",
    ctx,
  }
  return await callTool(tool, parsed.args, call)
}

export async function value(tool: Tool, args: object = {}): Promise<unknown> {
  const outcome = await use(tool, args)
  if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`)
  return outcome.value
}
