/** What an agent can do in a task: its tools, those of its toolsets, and those for its fellow agents. */
import { SuperstepError } from "../core/index.ts"
import type { ModelCall } from "../models/index.ts"
import type { Context } from "../runtime/index.ts"
import type { Tool, Toolset } from "../tools/index.ts"

type FunctionTool = Extract<NonNullable<ModelCall["tools"]>[number], { type: "function" }>

export interface ToolTable {
  readonly byName: ReadonlyMap<string, Tool>
  /** As the model gets to see them; undefined when there are none. */
  readonly offered: FunctionTool[] | undefined
  /** Whether one of them has arguments that must not be recorded. */
  readonly hasSecrets: boolean
  /** What toolsets have to say, after the agent's own instructions. */
  readonly instructions: readonly string[]
}

export function isToolset(given: Tool | Toolset): given is Toolset {
  return "tools" in given && typeof given.tools === "function"
}

export function toolTable(
  agent: string,
  tools: readonly Tool[],
  instructions: readonly string[] = [],
): ToolTable {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (byName.has(tool.name)) {
      const text = `Agent "${agent}" has two tools named "${tool.name}"; give one of them another name.`
      throw new SuperstepError("TOOL_NAME_TAKEN", text, { retryable: false })
    }
    byName.set(tool.name, tool)
  }
  return {
    byName,
    offered: tools.length === 0 ? undefined : tools.map(asFunction),
    hasSecrets: tools.some(({ secret = [] }) => secret.length > 0),
    instructions,
  }
}

/** Toolsets are opened in order, each told about the task. */
export async function openTools(
  agent: string,
  given: readonly (Tool | Toolset)[],
  own: readonly Tool[],
  ctx: Context,
): Promise<ToolTable> {
  const tools: Tool[] = []
  const instructions: string[] = []
  for (const one of given) {
    if (!isToolset(one)) {
      tools.push(one)
      continue
    }
    tools.push(...(await one.tools(ctx)))
    if (one.instructions !== undefined) instructions.push(one.instructions)
  }
  return toolTable(agent, [...tools, ...own], instructions)
}

function asFunction({ name, description, parameters }: Tool): FunctionTool {
  return { type: "function", name, description, inputSchema: parameters as FunctionTool["inputSchema"] }
}
