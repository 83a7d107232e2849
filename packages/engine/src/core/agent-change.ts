import type { Json } from "./json.ts"

/** What a fork changes of an agent, by the agent's name. */
export interface AgentChanges {
  readonly [agent: string]: AgentChange
}

export interface AgentChange {
  readonly instructions?: string | undefined
  /** `provider/model`: the process that continues the run must know it. */
  readonly model?: string | undefined
  /** Settings that replace the agent's own, one by one. */
  readonly settings?: { readonly [name: string]: Json } | undefined
}
