/** What an agent can do in a task, as its model sees it. */
import type { ModelCall } from "../models/index.ts"
import type { Tool } from "../tools/index.ts"

export type OfferedTool = NonNullable<ModelCall["tools"]>[number]

/** What an agent can do in a task: its tools, those of its toolsets, and those for other agents. */
export interface ToolTable {
  readonly byName: ReadonlyMap<string, Tool>
  /** As the model sees them; undefined when there are none. */
  readonly offered: OfferedTool[] | undefined
  /** Whether one of them has arguments that must not be recorded. */
  readonly hasSecrets: boolean
  /** The instructions of toolsets, which follow the agent's own. */
  readonly instructions: readonly string[]
}
