/**
 * The tool calls of one turn: all at the same time, their results in the order of the calls. What is wrong with a call is
 * its result, for the model to read; only what is fatal, a limit, or the end of the task comes out as an error.
 */
import { setMaxListeners } from "node:events"
import { isSuperstepError, type SuperstepError } from "../core/index.ts"
import type { ToolOutcome } from "../tools/call-tool.ts"
import type { Tool } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import { allowedArgs, failure } from "./allowed-args.ts"
import type { ToolCall } from "./conversation.ts"
import { type HandoffTool, isHandoff } from "./hand-off.ts"
import { idempotencyKeyOf, makeCall, type ToolTurn } from "./tool-step.ts"
import type { UnknownOutcomes } from "./unknown-outcomes.ts"

export interface TurnResult {
  readonly outcomes: readonly ToolOutcome[]
  /** The arguments that a person put in the place of others, by the call's id. */
  readonly edited: ReadonlyMap<string, unknown>
  /** Who goes on with the conversation. */
  readonly next: Agent | undefined
}

export async function toolTurn(
  given: Omit<ToolTurn, "durableBegun" | "repeats">,
  calls: readonly ToolCall[],
  unknown: UnknownOutcomes,
): Promise<TurnResult> {
  const edited = new Map<string, unknown>()
  const others = calls.length > 1 ? new AbortController() : undefined
  const { agent, options, tools, guards, secrets, ctx, path } = given
  const repeats = new Map<string, string>()
  for (const call of calls) {
    const key = unknown.take(call)
    if (key !== undefined) repeats.set(call.id, key)
  }
  const turn: ToolTurn = {
    agent,
    options,
    tools,
    guards,
    secrets,
    ctx,
    path,
    repeats,
    durableBegun: Promise.resolve(),
    signal: others === undefined ? given.signal : eitherOf(given.signal, others.signal),
  }
  let limit: SuperstepError | undefined

  const outcomeOf = async (call: ToolCall): Promise<ToolOutcome | Agent> => {
    const tool = turn.tools.get(call.name)
    if (tool === undefined) return failure("TOOL_UNKNOWN", noSuchTool(call.name, turn.tools))
    try {
      return await (isHandoff(tool) ? handOver(tool, call) : makeCall(turn, tool, call, edited))
    } catch (error) {
      if (isSuperstepError(error) && error.limit === true) {
        // The other calls of the turn are let finish, and are on record.
        limit ??= error
        return failure(error.code, error.message)
      }
      others?.abort(error)
      throw error
    }
  }

  /** To the agent that takes over, if it may. */
  const handOver = async (tool: HandoffTool, call: ToolCall): Promise<ToolOutcome | Agent> => {
    const allowed = await allowedArgs(turn, tool, call, edited, () => undefined)
    return allowed.ok ? tool.target(allowed.args) : allowed
  }

  const made = await Promise.all(calls.map(outcomeOf))
  if (limit !== undefined) throw limit
  // Of several that could take over, the first of the turn does.
  const next = made.find((one): one is Agent => !isOutcome(one))
  let isTaken = false
  const outcomes = made.map((one): ToolOutcome => {
    if (isOutcome(one)) return one
    if (isTaken)
      return failure("HANDOFF_TAKEN", `The conversation was handed over to "${next?.name}" already.`)
    isTaken = true
    return { ok: true, value: `Handed over to "${one.name}".` }
  })
  for (const [i, call] of calls.entries()) {
    unknown.note(call, outcomes[i] as ToolOutcome, idempotencyKeyOf(turn, call.name, call.id))
  }
  return { outcomes, edited, next }
}

function eitherOf(task: AbortSignal, turn: AbortSignal): AbortSignal {
  const signal = AbortSignal.any([task, turn])
  // Every call listens to it, and there may be many.
  setMaxListeners(0, signal)
  return signal
}

function isOutcome(made: ToolOutcome | Agent): made is ToolOutcome {
  return "ok" in made
}

function noSuchTool(name: string, tools: ReadonlyMap<string, Tool>): string {
  const names = [...tools.keys()].map((one) => `"${one}"`).join(", ")
  return `There is no tool "${name}". ${names === "" ? "There are no tools; answer without." : `The tools are ${names}.`}`
}
