/**
 * The model's part of a turn. What is recorded is the reply alone; the conversation before it follows from the records
 * before it.
 */
import { SuperstepError } from "../core/index.ts"
import { freshId } from "../models/fresh-id.ts"
import type { Message, ModelCall, ModelReply, ReplyDelta } from "../models/index.ts"
import type { AgentCore } from "./agent-core.ts"
import type { Guard } from "./agent-limits.ts"
import type { Place } from "./agent-loop.ts"
import type { ToolTable } from "./agent-tools.ts"
import { LiveReply } from "./live-reply.ts"
import { modelStep } from "./model-step.ts"
import { stepKey } from "./scope-path.ts"
import type { Secrets } from "./secrets.ts"

export interface ModelTurn {
  readonly core: AgentCore
  readonly tools: ToolTable
  readonly guards: readonly Guard[]
  readonly place: Place
  readonly signal: AbortSignal
  readonly prompt: Message[]
  readonly responseFormat: ModelCall["responseFormat"]
  /** Which model call of this agent's loop it is, from 1. */
  readonly number: number
  /** Ids of the tool calls before. */
  readonly ids: ReadonlySet<string>
  readonly secrets: Secrets
}

export async function modelTurn(turn: ModelTurn): Promise<ModelReply> {
  const { core, tools, guards, place, signal, prompt, responseFormat, ids, secrets } = turn
  const hasSecrets = tools.hasSecrets || !secrets.isEmpty
  const tell = core.options.stream === false || !place.ctx.isWatched ? undefined : teller(turn)
  const live = tell !== undefined && hasSecrets ? new LiveReply(tell, tools.byName, secrets) : undefined
  return await modelStep<ModelReply>({
    name: "model",
    core,
    models: core.models,
    guards,
    place,
    signal,
    asked: {
      ...core.options.settings,
      prompt,
      ...(tools.offered === undefined ? {} : { tools: tools.offered }),
      ...(responseFormat === undefined ? {} : { responseFormat }),
    },
    onDelta: live === undefined ? tell : (delta) => live.take(delta),
    keep(reply) {
      const given = withOwnIds(reply, ids)
      if (!hasSecrets) return given
      const kept = secrets.maskReply(given, tools.byName)
      live?.end(kept)
      return kept
    },
  })
}

/** Tells those who watch which call a piece belongs to, and whose it is. */
function teller({ core, place, number }: ModelTurn): (delta: ReplyDelta) => void {
  const { ctx, path } = place
  const call = stepKey(path, "model", number)
  const { name: agent } = core
  return ({ kind, text, offset, tool }) =>
    ctx.delta(
      tool === undefined ? { kind, text, offset, call, agent } : { kind, text, offset, tool, call, agent },
    )
}

/** Some models give an id again that an earlier reply had; a result must find its call. */
function withOwnIds(reply: ModelReply, ids: ReadonlySet<string>): ModelReply {
  if (!reply.content.some((part) => part.type === "tool-call" && ids.has(part.id))) return reply
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
