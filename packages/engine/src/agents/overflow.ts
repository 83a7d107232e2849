/** A prompt that is too long for the model: the conversation is compacted, and the model is asked once more. */
import { isSuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { visibleMessages } from "./agent-prompt.ts"
import type { ActiveAgent } from "./agent-scope.ts"
import { agentStep, type StepReply, type StepRequest } from "./agent-step.ts"
import { tokensIn } from "./fit-messages.ts"

interface FittingReply extends StepReply {
  /** How many of the conversation's tokens the model sees from now on; undefined: as many as its history policy chooses. */
  readonly tokens: number | undefined
  /** How many models were asked for this reply. */
  readonly asked: number
}

/** `compact` returns the conversation as it is to be shown after a prompt that was too long. */
export async function fittingStep(
  speaker: ActiveAgent,
  request: StepRequest,
  compact: () => Promise<readonly Message[]>,
): Promise<FittingReply> {
  const { tokens } = request
  try {
    const step = await agentStep(speaker, request)
    return { ...step, tokens, asked: step.wasAsked ? 1 : 0 }
  } catch (error) {
    if (!isSuperstepError(error, "CONTEXT_OVERFLOW")) throw error
    const { core, tools, scope } = speaker
    const shown = visibleMessages(core, tools, request.messages, tokens)
    const half = Math.max(1, Math.floor(tokensIn(shown) / 2))
    const text = `The prompt of agent "${core.name}" is too long for its model. It continues with the newest part of the conversation.`
    scope.ctx.log("warn", text, { tokens: half })
    const shorter = { ...request, messages: await compact(), tokens: half, asked: request.asked + 1 }
    const step = await agentStep(speaker, shorter)
    return { ...step, tokens: half, asked: step.wasAsked ? 2 : 1 }
  }
}
