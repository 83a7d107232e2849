/**
 * One call of the model, as a recorded step: after a crash its reply answers, and is not paid again. What is recorded is
 * the reply alone; the conversation before it follows from the records before it.
 */
import {
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  SuperstepError,
  toErrorData,
} from "../core/index.ts"
import { callModel, type Message, type ModelCall, type ModelReply, type ReplyDelta } from "../models/index.ts"
import type { AgentCore } from "./agent-core.ts"
import type { Guard } from "./agent-limits.ts"
import type { Place } from "./agent-loop.ts"
import type { ToolTable } from "./agent-tools.ts"
import { stepKey } from "./scope-path.ts"
import { type LiveArgs, maskReply } from "./secrets.ts"
import { freshId } from "./valid-history.ts"

export interface ModelTurn {
  readonly core: AgentCore
  readonly tools: ToolTable
  readonly guards: Iterable<Guard>
  readonly place: Place
  readonly signal: AbortSignal
  readonly prompt: Message[]
  readonly responseFormat: ModelCall["responseFormat"]
  /** Which model call of this agent's loop it is, from 1. */
  readonly number: number
  /** Ids of the tool calls before. */
  readonly ids: ReadonlySet<string>
  readonly live: LiveArgs
}

interface Failed {
  readonly failed: ErrorData
}

export async function modelTurn(turn: ModelTurn): Promise<ModelReply> {
  const { core, place } = turn
  const recorded = await place.ctx.step<ModelReply | Failed>("model", () => reply(turn), {
    usage: (result) => ("failed" in result ? {} : { ...result.usage, iterations: 1 }),
    source: (result) => ({ agent: core.name, ...("failed" in result ? {} : { model: result.model }) }),
  })
  if ("failed" in recorded) throw fromErrorData(recorded.failed)
  return recorded
}

async function reply(turn: ModelTurn): Promise<ModelReply | Failed> {
  const { place, tools, ids, live, signal } = turn
  try {
    const given = withOwnIds(await call(turn), ids)
    return tools.hasSecrets ? maskReply(given, tools.byName, live) : given
  } catch (error) {
    // Inside another agent's tool call a failure is a result, and must be the same one after a restart.
    if (!place.isNested || signal.aborted || endsAll(error)) throw error
    return { failed: toErrorData(error) }
  }
}

function endsAll(error: unknown): boolean {
  if (!isSuperstepError(error)) return false
  return error.fatal === true || (error.limit === true && error.code !== "AGENT_LIMIT")
}

async function call(turn: ModelTurn): Promise<ModelReply> {
  const { core, place, tools, guards, prompt, responseFormat, signal } = turn
  const { ctx } = place
  const { settings, calling } = core.options
  ctx.checkBudget()
  for (const guard of guards) guard.checkModelCall(ctx)
  const caller = { agent: core.name, ordinal: ctx.usedBy(core.name).modelCalls ?? 0 }
  const asked: ModelCall = {
    ...settings,
    prompt,
    caller,
    ...(tools.offered === undefined ? {} : { tools: tools.offered }),
    ...(responseFormat === undefined ? {} : { responseFormat }),
  }
  const models = core.models()
  return await callModel(models instanceof Promise ? await models : models, asked, {
    ...calling,
    signal,
    clock: ctx.clock,
    ...(core.options.stream === false || !ctx.isWatched ? {} : { onDelta: teller(turn) }),
  })
}

/** Tells those who watch what comes; of calls with secret arguments, not what they are. */
function teller({ core, place, tools, number }: ModelTurn): (delta: ReplyDelta) => void {
  const { ctx, path } = place
  const key = stepKey(path, "model", number)
  const { name: agent } = core
  return (delta) => {
    const secret = delta.tool === undefined ? undefined : tools.byName.get(delta.tool.name)?.secret
    if (secret !== undefined && secret.length > 0) return
    ctx.delta({ ...delta, call: key, agent })
  }
}

/** Some models give the same id twice; a result must find its call. */
function withOwnIds(reply: ModelReply, ids: ReadonlySet<string>): ModelReply {
  if (!reply.content.some(({ type }) => type === "tool-call")) return reply
  const taken = new Set(ids)
  const content = reply.content.map((part) => {
    if (part.type !== "tool-call") return part
    const id = freshId(part.id, taken)
    return id === part.id ? part : { ...part, id }
  })
  return { ...reply, content }
}

/** The provider's filter left nothing to answer with. */
export function filtered(agent: string, { model }: ModelReply): SuperstepError {
  const text = `The content filter of ${model} stopped the reply to agent "${agent}". Change what is asked, or the model.`
  return new SuperstepError("MODEL_FILTERED", text, { retryable: false })
}
