/** The agent whose turn it is, where it works, and with what. */
import type { AgentCore } from "./agent-core.ts"
import type { Guard } from "./agent-limits.ts"
import type { HookInfo } from "./middleware.ts"
import type { Secrets } from "./secrets.ts"
import type { AgentScope } from "./task-scope.ts"
import type { ToolTable } from "./tool-table.ts"

export { type AgentScope, pathOf, pathOfContext, stepKey, taskScope, withPath } from "./task-scope.ts"

/** The agent whose turn it is. Scope, guards and secrets belong to the conversation. */
export interface ActiveAgent {
  readonly core: AgentCore
  readonly tools: ToolTable
  readonly scope: AgentScope
  /** One for each agent that took part. */
  readonly guards: readonly Guard[]
  readonly secrets: Secrets
  /** What hooks get to see, at this model call of the conversation. */
  about(step: number): HookInfo
}
