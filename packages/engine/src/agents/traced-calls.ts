/**
 * Spans of agents and of their model and tool calls. Without telemetry nothing is traced. A call that is answered from
 * the record is not made, so it has no span.
 */
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { type ErrorData, toErrorData } from "../core/index.ts"
import {
  type CallModelOptions,
  callModel,
  type Message,
  type Model,
  type ModelCall,
  type ModelReply,
  type ReplyPart,
} from "../models/index.ts"
import {
  ADAPTING,
  adaptsCalls,
  secretMask,
  settingsOf,
  tapped,
  tokenCounts,
  withoutSecrets,
} from "../models/internal.ts"
import {
  type AgentInfo,
  type AskedModel,
  type Context,
  type ModelCallOutcome,
  type ModelCallTelemetry,
  telemetryOf,
  tracedContext,
  type WorkTelemetry,
} from "../runtime/index.ts"
import type { Tool, ToolCallContext } from "../tools/index.ts"
import { callTool, callWith, maskArgs, type ToolOutcome } from "../tools/internal.ts"
import type { AgentCore } from "./agent-core.ts"
import { readObject } from "./conversation.ts"

/** Runs `work` with a context in which everything belongs to the agent's span. */
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

/** The span of an agent that took over the conversation, inside the span of the first agent. */
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

/** Undefined for a summary: only its text is recorded. Its prompt has no secrets, so neither does the reply. */
function replyIn(kept: unknown): ModelReply | undefined {
  return typeof kept === "object" && kept !== null && "content" in kept ? (kept as ModelReply) : undefined
}

/** `isResumed`: the call began before a restart, and its first part is answered from the record. */
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
    // If another call of the turn failed permanently, this one was only stopped.
    telemetry.end({ ...content, error: signal.aborted ? { ...failed, code: "CANCELLED" } : failed })
    throw error
  }
}

/** A tool's error may quote a key. */
function withoutKeys(error: ErrorData): ErrorData {
  return { ...error, message: withoutSecrets(error.message) }
}

/** The settings of a call override the model's own. */
function askedModel(model: Model, call: ModelCall): AskedModel {
  return { provider: model.provider, model: model.modelId, settings: { ...settingsOf(model), ...call } }
}

/** The same model; reports what its provider returns with each answer. */
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

// Prompts and replies for spans, if the user opts in to content: JSON in the shape of OpenTelemetry's conventions for
// generative AI, without keys and without the bytes of files.

type Part = Exclude<Message["content"], string>[number]
type GenAiPart = Readonly<Record<string, unknown>> & { readonly type: string }

/** Instructions are separate from the conversation. */
export function genAiPrompt(prompt: readonly Message[]): Pick<ModelCallOutcome, "instructions" | "input"> {
  const instructions: GenAiPart[] = []
  const input: { role: string; parts: GenAiPart[] }[] = []
  for (const message of prompt) {
    if (message.role === "system") instructions.push({ type: "text", content: message.content })
    else input.push({ role: message.role, parts: message.content.map(promptPart) })
  }
  return {
    ...(instructions.length === 0 ? {} : { instructions: genAiJson(instructions) }),
    input: genAiJson(input),
  }
}

function promptPart(part: Part): GenAiPart {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text }
    case "tool-call":
      return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input }
    case "tool-result": {
      const { output } = part
      const response = "value" in output ? output.value : `denied ${output.reason ?? ""}`.trim()
      return { type: "tool_call_response", id: part.toolCallId, response }
    }
    case "file":
      return { type: "attachment", mime_type: part.mediaType, name: part.filename }
    default:
      return { type: part.type }
  }
}

function genAiReply({ content, finish }: ModelReply): string {
  return genAiJson([{ role: "assistant", parts: content.map(replyPart), finish_reason: FINISH[finish] }])
}

function replyPart(part: ReplyPart): GenAiPart {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text }
    case "tool-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: readObject(part.args) }
    case "provider-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: readObject(part.args) }
    case "provider-result":
      return { type: "tool_call_response", id: part.id, response: part.result }
    case "file":
      return { type: "attachment", mime_type: part.mediaType }
    case "source":
      return { type: "source", id: part.id, title: part.title, uri: part.url }
  }
}

const FINISH: Readonly<Record<ModelReply["finish"], string>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  refusal: "refusal",
  empty: "stop",
  pause: "pause",
  "tool-calls": "tool_call",
  error: "error",
  other: "other",
}

/** Masks keys in every string, and then next to their names in the JSON. Files are named, not included. */
export function genAiJson(value: unknown, mask = secretMask()): string {
  const json = JSON.stringify(value, function (this: { readonly mediaType?: unknown }, key, one) {
    if (key === "data" && typeof this.mediaType === "string" && !/^https?:/.test(String(one)))
      return undefined
    return typeof one === "string" ? mask(one) : one
  })
  return mask(json ?? "null")
}
