/** A toolset by itself is an agent's that is never asked. */
import type { Path } from "../document/index.ts"
import type { Ref } from "../plan/index.ts"
import { type AgentsInput, planAgents } from "./plan-agents.ts"
import type { ToolsetData } from "./toolset-shape.ts"

/** `at` is where the field `toolset` is. */
export function toolsetAgent(
  name: string,
  toolset: ToolsetData,
  at: Path,
  input: Pick<AgentsInput, "document" | "permissions" | "report" | "writer" | "paths">,
): Ref | undefined {
  const { document, permissions, report, writer, paths } = input
  const agents = { [name]: { model: "offline", toolsets: [toolset] } }
  const keys = new Map([[name, "toolset"]])
  return planAgents({ document, path: at, keys, agents, permissions, report, writer, paths }).get(name)?.ref
}
