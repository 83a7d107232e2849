/**
 * Spans for an agent's work and for its calls of models and tools. Without telemetry nothing is traced. A call that the
 * record answers is not made, and so has no span.
 */
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { type ErrorData, toErrorData } from "../core/index.ts"
import {
  type CallModelOptions,
  callModel,
  type Model,
  type ModelCall,
  type ModelReply,
} from "../models/index.ts"
import { ADAPTING, adaptsCalls, settingsOf, tapped, tokenCounts, withoutSecrets } from "../models/internal.ts"
import {
  type AgentInfo,
  type AskedModel,
  type Context,
  type ModelCallTelemetry,
  telemetryOf,
  tracedContext,
  type WorkTelemetry,
} from "../runtime/index.ts"
import type { Tool, ToolCallContext } from "../tools/index.ts"
import { callTool, callWith, maskArgs, type ToolOutcome } from "../tools/internal.ts"
import type { AgentCore } from "./agent-core.ts"
import { genAiJson, genAiPrompt, genAiReply } from "./gen-ai-content.ts"

/** `work` gets a context in which everything belongs to the agent's span. */
export function traceAgent<T>(
  { name, description, remote }: Pick<AgentCore, "name" | "description"> & Pick<AgentInfo, "remote">,
  ctx: Context,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  const parent = telemetryOf(ctx)
  if (parent === undefined) return work(ctx)
  const telemetry = parent.startAgent({ agent: name, description, remote })
  return telemetry
    .within(() => work(tracedContext(ctx, telemetry)))
    .then(
      (answer) => {
        telemetry.end()
        return answer
      },
      (error) => {
        telemetry.end(withoutKeys(toErrorData(error)))
        throw error
      },
    )
}

/** The work of an agent that a conversation was handed to, inside that of the agent which was asked. */
export function tracedTakeOver({ name, description }: AgentCore, ctx: Context) {
  const telemetry = telemetryOf(ctx)?.startAgent({ agent: name, description })
  if (telemetry === undefined) return undefined
  return {
    ctx: tracedContext(ctx, telemetry),
    end: (error?: unknown) =>
      error === undefined ? telemetry.end() : telemetry.end(withoutKeys(toErrorData(error))),
  }
}

/** `keep` returns the reply as it is recorded, without secret arguments. */
export async function tracedModelCall<T>(
  parent: WorkTelemetry,
  models: readonly Model[],
  call: ModelCall,
  options: CallModelOptions,
  keep: (reply: ModelReply) => T,
): Promise<T> {
  const [first] = models
  if (first === undefined) return keep(await callModel(models, call, options))
  const telemetry = parent.startModelCall({
    ...askedModel(first, call),
    agent: call.caller.agent,
    isJson: call.responseFormat?.type === "json",
  })
  const prompt = telemetry.wantsContent ? genAiPrompt(call.prompt) : {}
  try {
    const observed = models.map((model) => observedModel(model, call, telemetry))
    const reply = await callModel(observed, call, {
      ...options,
      onAttemptFailed: (error) => {
        telemetry.attemptFailed(toErrorData(error))
        options.onAttemptFailed?.(error)
      },
    })
    const kept = keep(reply)
    const output = telemetry.wantsContent ? { output: genAiReply(replyIn(kept) ?? reply) } : {}
    telemetry.end({ ...prompt, ...output })
    return kept
  } catch (error) {
    telemetry.end({ ...prompt, error: withoutKeys(toErrorData(error)) })
    throw error
  }
}

/** Undefined for a summary: only its text is recorded. Its prompt had no secrets, so the reply has none. */
function replyIn(kept: unknown): ModelReply | undefined {
  return typeof kept === "object" && kept !== null && "content" in kept ? (kept as ModelReply) : undefined
}

/** `isResumed`: the call began before a restart, and the record answers its first part. */
export async function tracedToolCall(
  parent: WorkTelemetry,
  tool: Tool,
  args: unknown,
  call: ToolCallContext,
  isResumed: boolean,
): Promise<ToolOutcome> {
  const { name, description, secret } = tool
  const { id, agent, ctx, signal } = call
  const telemetry = parent.startToolCall({ tool: name, description, id, agent, isResumed })
  const content = telemetry.wantsContent ? { args: genAiJson(maskArgs(args as never, secret)) } : {}
  const inside = callWith(call, { ctx: tracedContext(ctx, telemetry) })
  try {
    const outcome = await telemetry.within(() => callTool(tool, args, inside, { clock: ctx.clock }))
    if (!outcome.ok) telemetry.end({ ...content, error: withoutKeys(outcome.error) })
    else if (telemetry.wantsContent) telemetry.end({ ...content, result: genAiJson(outcome.value) })
    else telemetry.end({})
    return outcome
  } catch (error) {
    const failed = withoutKeys(toErrorData(error))
    // If another call of the turn failed for good, this one was only stopped.
    telemetry.end({ ...content, error: signal.aborted ? { ...failed, code: "CANCELLED" } : failed })
    throw error
  }
}

/** A tool's error may quote a key. */
function withoutKeys(error: ErrorData): ErrorData {
  return { ...error, message: withoutSecrets(error.message) }
}

/** The settings of a call come before the model's own. */
function askedModel(model: Model, call: ModelCall): AskedModel {
  return { provider: model.provider, model: model.modelId, settings: { ...settingsOf(model), ...call } }
}

/** The same model; it reports what its provider says about each answer. */
function observedModel(model: Model, call: ModelCall, telemetry: ModelCallTelemetry): Model {
  const asked = askedModel(model, call)
  return {
    ...(adaptsCalls(model) && ADAPTING),
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      const result = await telemetry.attempt(asked, false, () => model.doGenerate(options))
      const { response, finishReason, usage } = result
      const finish = finishReason.raw ?? finishReason.unified
      telemetry.answered({ ...namesOf(response), finish, tokens: tokenCounts(usage) })
      return result
    },
    async doStream(options) {
      const result = await telemetry.attempt(asked, true, () => model.doStream(options))
      return { ...result, stream: tapped(result.stream, (part) => reportPart(part, telemetry)) }
    },
  }
}

function reportPart(part: LanguageModelV3StreamPart, telemetry: ModelCallTelemetry): void {
  // The provider package sends `stream-start` itself, before anything has arrived.
  if (part.type === "stream-start") return
  if (part.type === "finish") {
    const finish = part.finishReason.raw ?? part.finishReason.unified
    telemetry.answered({ finish, tokens: tokenCounts(part.usage) })
    return
  }
  telemetry.began()
  if (part.type === "response-metadata") telemetry.answered(namesOf(part))
}

function namesOf(response: { readonly id?: unknown; readonly modelId?: unknown } | undefined) {
  const { id, modelId } = response ?? {}
  return {
    ...(typeof id === "string" && id !== "" ? { id } : {}),
    ...(typeof modelId === "string" && modelId !== "" ? { model: modelId } : {}),
  }
}
