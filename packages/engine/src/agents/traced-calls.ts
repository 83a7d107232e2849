/**
 * An agent's work, and its calls of models and tools, while somebody traces the run. Without telemetry none of this is
 * called. A call that the record answers is not made, and so has no span.
 */
import { type ErrorData, toErrorData } from "../core/index.ts"
import {
  type CallModelOptions,
  callModel,
  type Model,
  type ModelCall,
  type ModelReply,
} from "../models/index.ts"
import { withoutSecrets } from "../models/redact.ts"
import { type Context, tracedContext, type WorkTelemetry } from "../runtime/index.ts"
import { callTool, type ToolOutcome } from "../tools/call-tool.ts"
import type { Tool, ToolCallContext } from "../tools/index.ts"
import { maskArgs } from "../tools/secrets.ts"
import type { AgentCore } from "./agent-core.ts"
import { askedModel, observedModel } from "./observed-model.ts"
import { toldJson, toldPrompt, toldReply } from "./told-content.ts"

/** `work` gets the context in which what the agent does is its own. */
export async function tracedAgent<T>(
  above: WorkTelemetry,
  { name, description }: AgentCore,
  ctx: Context,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  const telemetry = above.startAgent({ agent: name, description })
  try {
    const answer = await telemetry.within(() => work(tracedContext(ctx, telemetry)))
    telemetry.end()
    return answer
  } catch (error) {
    telemetry.end(told(toErrorData(error)))
    throw error
  }
}

/** `keep` gives the reply as it is recorded, without secret arguments. */
export async function tracedModelCall<T>(
  above: WorkTelemetry,
  models: readonly Model[],
  call: ModelCall,
  options: CallModelOptions,
  keep: (reply: ModelReply) => T,
): Promise<T> {
  const [first] = models
  if (first === undefined) return keep(await callModel(models, call, options))
  const telemetry = above.startModelCall({
    ...askedModel(first, call),
    agent: call.caller.agent,
    isJson: call.responseFormat?.type === "json",
  })
  const prompt = telemetry.wantsContent ? toldPrompt(call.prompt) : {}
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
    telemetry.end({ ...prompt, ...(telemetry.wantsContent ? { output: toldReply(shown(kept, reply)) } : {}) })
    return kept
  } catch (error) {
    telemetry.end({ ...prompt, error: told(toErrorData(error)) })
    throw error
  }
}

/** What is recorded of a summary is its text alone; its prompt was without secrets. */
function shown(kept: unknown, reply: ModelReply): ModelReply {
  const isReply = typeof kept === "object" && kept !== null && "content" in kept
  return isReply ? (kept as ModelReply) : reply
}

/** `isResumed`: the call began before a restart, and what it does until it is new comes from the record. */
export async function tracedToolCall(
  above: WorkTelemetry,
  tool: Tool,
  args: unknown,
  call: ToolCallContext,
  isResumed: boolean,
): Promise<ToolOutcome> {
  const { name, description, secret } = tool
  const { id, agent, ctx, signal } = call
  const telemetry = above.startToolCall({ tool: name, description, id, agent, isResumed })
  const given = telemetry.wantsContent ? { args: toldJson(maskArgs(args as never, secret)) } : {}
  const inside = { ...call, ctx: tracedContext(ctx, telemetry) }
  try {
    const outcome = await telemetry.within(() => callTool(tool, args, inside, { clock: ctx.clock }))
    if (!outcome.ok) telemetry.end({ ...given, error: told(outcome.error) })
    else if (telemetry.wantsContent) telemetry.end({ ...given, result: toldJson(outcome.value) })
    else telemetry.end({})
    return outcome
  } catch (error) {
    const failed = told(toErrorData(error))
    // Another call of the turn may have failed for good: this one was only stopped.
    telemetry.end({ ...given, error: signal.aborted ? { ...failed, code: "CANCELLED" } : failed })
    throw error
  }
}

/** What a tool throws may quote a key. */
function told(error: ErrorData): ErrorData {
  return { ...error, message: withoutSecrets(error.message) }
}
