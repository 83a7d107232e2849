/** What all nodes of a graph know of it. */
import type { Json, NodeId } from "../../core/index.ts"
import { SecretVariables, type SecretVariablesOptions } from "../secret-variables.ts"

export interface GraphOptions extends SecretVariablesOptions {
  /** Node visits in a run. */
  readonly maxSteps: number
  /** Its agents share one conversation, and say themselves who is next. */
  readonly chat?: boolean | undefined
  /** Every agent can end the conversation. */
  readonly conversational?: boolean | undefined
  /** The node that asks a person when a limit is reached, or the run goes in circles. */
  readonly handoff?: NodeId | undefined
  /** The node that chooses the result, where several ways may end; the nodes whose outputs it chooses from, in order. */
  readonly end?: { readonly node: NodeId; readonly from: readonly NodeId[] } | undefined
  /** Names that conditions find when the state does not have them. */
  readonly vars?: Readonly<Record<string, Json>> | undefined
}

export interface GraphInfo extends GraphOptions {
  readonly vars: Readonly<Record<string, Json>>
  readonly secretVars: SecretVariables
}

export function graphOf(options: GraphOptions): GraphInfo {
  const { secretValues: _, ...known } = options
  const secretVars = new SecretVariables(options, process.env)
  return Object.freeze({ ...known, vars: { ...options.vars, ...secretVars.shown }, secretVars })
}
