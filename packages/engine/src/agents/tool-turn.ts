/**
 * The tool calls of one turn: all at the same time, their results in the order of the calls. What is wrong with a call is
 * its result, for the model to read; only what is fatal, a limit, or the end of the task comes out as an error.
 */
import { setMaxListeners } from "node:events"
import { isSuperstepError, type SuperstepError } from "../core/index.ts"
import type { ToolOutcome } from "../tools/call-tool.ts"
import type { Tool } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import type { ToolCall } from "./conversation.ts"
import { type HandoffTool, isHandoff } from "./hand-off.ts"
import { argsOf, failure, makeCall, type ToolTurn } from "./tool-step.ts"

export interface TurnResult {
  readonly outcomes: readonly ToolOutcome[]
  /** The arguments that a person put in the place of others, by the call's id. */
  readonly edited: ReadonlyMap<string, unknown>
  /** Who goes on with the conversation. */
  readonly next: Agent | undefined
}

export async function toolTurn(
  given: Omit<ToolTurn, "durableBegun">,
  calls: readonly ToolCall[],
): Promise<TurnResult> {
  const edited = new Map<string, unknown>()
  const stopOthers = new AbortController()
  const signal = AbortSignal.any([given.signal, stopOthers.signal])
  // Every call listens to it, and there may be many.
  setMaxListeners(0, signal)
  const turn: ToolTurn = { ...given, durableBegun: Promise.resolve(), signal }
  const next = await handoffOf(turn, calls)
  let limit: SuperstepError | undefined

  const outcomeOf = async (call: ToolCall): Promise<ToolOutcome> => {
    const tool = turn.tools.get(call.name)
    if (tool === undefined) return failure("TOOL_UNKNOWN", unknown(call.name, turn.tools))
    if (isHandoff(tool)) return await handoffOutcome(tool, call, turn, next)
    try {
      return await makeCall(turn, tool, call, edited)
    } catch (error) {
      if (isSuperstepError(error) && error.limit === true) {
        // The other calls of the turn are let finish, and are on record.
        limit ??= error
        return failure(error.code, error.message)
      }
      stopOthers.abort(error)
      throw error
    }
  }

  const outcomes = await Promise.all(calls.map(outcomeOf))
  if (limit !== undefined) throw limit
  return { outcomes, edited, next: next?.agent }
}

interface Handoff {
  readonly id: string
  readonly agent: Agent
}

/** The first call that hands over. */
async function handoffOf(turn: ToolTurn, calls: readonly ToolCall[]): Promise<Handoff | undefined> {
  for (const call of calls) {
    const tool = turn.tools.get(call.name)
    if (tool === undefined || !isHandoff(tool)) continue
    const args = await argsOf(tool, call, turn.live)
    if (args.ok) return { id: call.id, agent: tool.target(args.args) }
  }
  return undefined
}

async function handoffOutcome(
  tool: HandoffTool,
  call: ToolCall,
  turn: ToolTurn,
  next: Handoff | undefined,
): Promise<ToolOutcome> {
  const args = await argsOf(tool, call, turn.live)
  if (!args.ok) return failure("TOOL_ARGS", args.reason)
  if (call.id !== next?.id) {
    return failure("HANDOFF_TAKEN", `The conversation was handed over to "${next?.agent.name}" already.`)
  }
  return { ok: true, value: `Handed over to "${next.agent.name}".` }
}

function unknown(name: string, tools: ReadonlyMap<string, Tool>): string {
  const names = [...tools.keys()].map((one) => `"${one}"`).join(", ")
  return `There is no tool "${name}". ${names === "" ? "There are no tools; answer without." : `The tools are ${names}.`}`
}
