/** The nodes that definitions create. */

import { type Agent, callTools } from "../agents/index.ts"
import type { Node, Workflow } from "../builder/index.ts"
import {
  fromErrorData,
  isSuperstepError,
  type Json,
  type NodeId,
  SuperstepError,
  toErrorData,
} from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import { filling, type Reference, type Scope, type Spelling } from "../expressions/index.ts"
import type { Context } from "../runtime/index.ts"
import { Masking, type Tool, type ToolCallContext } from "../tools/index.ts"
import { maskError, toJson } from "../tools/internal.ts"

// biome-ignore lint/suspicious/noExplicitAny: the plan decides which nodes are wired to which.
export type DefinitionNode = Node<any, any>

// biome-ignore lint/suspicious/noExplicitAny: the plan decides which input a workflow gets.
export type SubWorkflow = Workflow<any, any>

export function definitionNode(
  id: NodeId,
  kind: string,
  handler: (message: unknown, ctx: Context) => unknown,
  more: { readonly [name in keyof Node["definition"]]?: unknown } = {},
): DefinitionNode {
  const definition = { kind, handlers: [{ run: handler as never }], ...omitUndefined(more) }
  return Object.freeze({ id, definition: Object.freeze(definition) }) as DefinitionNode
}

/**
 * A tool call that a definition makes itself, with the approval that an agent's call would need. The approver, the
 * journal and traces see references to secrets in its arguments; only the tool receives the values. Its result and its
 * error contain no secrets.
 */

interface RevealedArgs {
  readonly args: Json
  /** The values of secrets in the arguments. */
  readonly secrets: readonly string[]
}

export interface ToolCallOptions<At> {
  readonly tool: string
  readonly args: Json
  readonly spelling: Spelling
  /**
   * The scope of templates in the arguments. `revealed` collects the secrets they use; without it they see references.
   */
  scope(at: At, references: readonly Reference[], revealed?: string[]): Scope
}

/** `agent` owns the tool; `id` is the step's or the node's. */
export function toolCaller<At>(
  agent: Agent,
  { tool, args, spelling, scope }: ToolCallOptions<At>,
): (id: string, at: At, ctx: Context) => Promise<Json> {
  const fill = filling(args, spelling, (at: At, references) => scope(at, references))
  const reveal = filling(args, spelling, ({ at, used }: { at: At; used: string[] }, references) =>
    scope(at, references, used),
  )
  return async (id, at, ctx) => {
    const shown = fill(at)
    const revealed = () => {
      const used: string[] = []
      return { args: reveal({ at, used }), secrets: used }
    }
    const call = {
      type: "tool-call" as const,
      id: `call_${id.replace(/[^A-Za-z0-9-]/g, "_")}`,
      name: tool,
      args: JSON.stringify(shown),
    }
    // Results and failures are journaled, so every attempt is a call of its own.
    const wrap = (one: Tool) => (one.name === tool ? withSecrets(one, shown, revealed) : one)
    const { outcomes } = await callTools(agent, [call], ctx.scope(`attempt ${ctx.attempt}`), { wrap })
    const [outcome] = outcomes
    if (outcome === undefined)
      throw new SuperstepError("TOOL_FAILED", `The tool "${tool}" returned no result.`)
    if (!outcome.ok) throw fromErrorData(outcome.error)
    return outcome.value
  }
}

/** `reveal` is called when the tool runs, not when a recorded call is replayed. */
function withSecrets(tool: Tool, shown: Json, reveal: () => RevealedArgs): Tool {
  const run = async (args: unknown, call: ToolCallContext): Promise<unknown> => {
    const revealed = reveal()
    if (revealed.secrets.length === 0) return await tool.run(args as never, call)
    if (tool.durable === true) throw unsupported(tool.name)
    const masking = Masking.of(revealed.secrets)
    const [before, after] = [await tool.parse(shown), await tool.parse(revealed.args)]
    if (!before.ok || !after.ok) {
      const reason = after.ok ? "" : masking.text(after.reason)
      const message = `The arguments of "${tool.name}" are invalid: ${reason}.`
      throw new SuperstepError("TOOL_ARGS", message, { retryable: false })
    }
    const filled = fillSecrets(args, before.args, after.args)
    try {
      return masking.json(toJson(await tool.run(filled as never, call), tool.name))
    } catch (error) {
      if (isSuperstepError(error) && (error.limit === true || error.fatal === true)) throw error
      throw fromErrorData(maskError(toErrorData(error), masking))
    }
  }
  return { ...tool, run: run as Tool["run"] }
}

/** Fills only values that still equal what was shown, because the approver may have changed the arguments. */
function fillSecrets(args: unknown, shown: unknown, real: unknown): unknown {
  if (typeof args !== "object" || args === null) return args === shown ? real : args
  if (typeof shown !== "object" || shown === null || typeof real !== "object" || real === null) return args
  const [before, after] = [shown as Record<string, unknown>, real as Record<string, unknown>]
  if (Array.isArray(args)) return args.map((item, i) => fillSecrets(item, before[i], after[i]))
  return Object.fromEntries(
    Object.entries(args).map(([name, item]) => [name, fillSecrets(item, before[name], after[name])]),
  )
}

function unsupported(tool: string): SuperstepError {
  const message = `The tool "${tool}" is durable and journals its steps, so it cannot take a secret. Pass the secret to a tool that is not durable.`
  return new SuperstepError("SECRET_UNSUPPORTED", message, { retryable: false, fatal: true })
}
