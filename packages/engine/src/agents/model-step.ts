/**
 * One model call as a recorded step: after a crash it is answered from the record, and not paid for again. Before each
 * request is sent, its maximum usage is reserved within budgets and limits, so a call that a crash interrupted counts.
 * Failed attempts count for the model that was called, even if none of them returned a reply; a stopped call counts for
 * what it used until then. The record is only the reply; the conversation before it is derived from earlier records.
 */
import {
  addUsage,
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  type SourcedUsage,
  SuperstepError,
  toErrorData,
  type Usage,
} from "../core/index.ts"
import {
  CallMeter,
  type CallModelOptions,
  callModel,
  type Message,
  type Model,
  type ModelCall,
  type ModelReply,
  type ModelSettings,
  type ModelUsage,
  modelName,
  type ReplyDelta,
} from "../models/index.ts"
import { defaultPrices, freshId, modelReservation } from "../models/internal.ts"
import { endedCalls, type PaidStep, slotsOf, telemetryOf } from "../runtime/index.ts"
import type { Generated, GenerateRequest } from "../tools/index.ts"
import type { ActiveAgent, AgentCore } from "./agent-core.ts"
import { CallDetails } from "./call-details.ts"
import { textOf } from "./conversation.ts"
import { LiveReply, PartialAnswer } from "./live-reply.ts"
import { type LoadModels, stepKey } from "./step-plan.ts"
import { tracedModelCall } from "./traced-calls.ts"

interface ModelTurn {
  readonly prompt: Message[]
  readonly responseFormat: ModelCall["responseFormat"]
  /** The number of this model call in the agent's loop, from 1. */
  readonly number: number
  /** Ids of earlier tool calls. */
  readonly ids: ReadonlySet<string>
  /** Default: the agent's own. */
  readonly models?: LoadModels | undefined
  /** Added to the agent's own. */
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ModelCall["toolChoice"]
  /** Whether this is the final answer at a limit, for which a part of the budget is reserved. */
  readonly isFinal?: boolean | undefined
}

type Asked = Omit<ModelCall, "caller">

/** Makes the model call of a turn. */
export function modelTurn(active: ActiveAgent, turn: ModelTurn): Promise<ModelReply> {
  const { core, tools, scope, guards, secrets } = active
  const { prompt, responseFormat, ids, toolChoice } = turn
  const hasSecrets = tools.hasSecrets || !secrets.isEmpty
  const isLive = core.options.stream !== false && scope.ctx.isWatched
  const send = isLive ? deltaSender(active, turn) : undefined
  const live = send !== undefined && hasSecrets ? new LiveReply(send, tools.byName, secrets) : undefined
  const asked: Asked = { ...core.options.settings, ...turn.settings, prompt }
  if (tools.offered !== undefined) asked.tools = tools.offered
  if (toolChoice !== undefined) asked.toolChoice = toolChoice
  if (responseFormat !== undefined) asked.responseFormat = responseFormat
  return modelStep<ModelReply>({
    name: "model",
    core,
    scope,
    guards,
    isFinal: turn.isFinal,
    models: turn.models ?? core.models,
    asked,
    onDelta: live === undefined ? send : (delta) => live.take(delta),
    keep(reply) {
      const unique = withUniqueIds(reply, ids)
      if (!hasSecrets) return unique
      const kept = secrets.maskReply(unique, tools.byName)
      live?.end(kept)
      return kept
    },
  })
}

/** A call of the agent's model by one of its tools: without the conversation, the tools and the settings of the agent. */
export async function generated(
  { core, guards, scope }: Pick<ActiveAgent, "core" | "guards" | "scope">,
  request: GenerateRequest,
): Promise<Generated> {
  const { messages, instructions, maxOutputTokens, temperature, stopSequences } = request
  const prompt = messages.map(({ role, content }) => ({ role, content: [...content] }) as Message)
  return await modelStep<Generated & Recorded>({
    name: "generate",
    core,
    // A failure is a result of the tool, which must be the same after a restart.
    scope: { ...scope, isNested: true },
    guards,
    models: core.models,
    asked: {
      prompt: instructions === undefined ? prompt : [{ role: "system", content: instructions }, ...prompt],
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    },
    keep: (reply) => ({
      text: textOf(reply),
      model: reply.model,
      finish: reply.finish,
      usage: reply.usage,
    }),
  })
}

/** Sends deltas with their call and agent; for structured output, with the value so far. */
function deltaSender(
  { core, scope }: ActiveAgent,
  { number, responseFormat }: ModelTurn,
): (delta: ReplyDelta) => void {
  const { ctx, path } = scope
  const call = stepKey(path, "model", number)
  const { name: agent } = core
  const isData = responseFormat?.type === "json"
  const partial = isData ? new PartialAnswer((value) => ctx.partial({ call, value, agent })) : undefined
  return ({ kind, text, offset, tool }) => {
    ctx.delta(
      tool === undefined ? { kind, text, offset, call, agent } : { kind, text, offset, tool, call, agent },
    )
    if (kind === "text") partial?.take(text, offset)
  }
}

/** Some models repeat an id of an earlier reply; results are matched with calls by id. */
function withUniqueIds(reply: ModelReply, ids: ReadonlySet<string>): ModelReply {
  if (!reply.content.some((part) => part.type === "tool-call" && ids.has(part.id))) return reply
  const taken = new Set(ids)
  const content = reply.content.map((part) => {
    if (part.type !== "tool-call") return part
    const id = freshId(part.id, taken)
    return id === part.id ? part : { ...part, id }
  })
  return { ...reply, content }
}

interface ModelStep<T extends Recorded> extends Pick<ActiveAgent, "core" | "scope" | "guards"> {
  readonly name: "model" | "summary" | "generate"
  readonly isFinal?: boolean | undefined
  readonly models: LoadModels
  readonly asked: Asked
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined
  /** The reply as it is recorded. */
  keep(reply: ModelReply): T
}

interface Recorded {
  readonly model: string
  readonly usage: Usage
}

interface Failed {
  readonly failed: ErrorData
}

export function modelStep<T extends Recorded>(step: ModelStep<T>): Promise<T> {
  const { core, scope } = step
  const { name: agent } = core
  const meter = new CallMeter()
  const details = core.options.recordCalls === false ? undefined : new CallDetails(scope.ctx, step.asked)
  const sourced = (used: readonly ModelUsage[]): SourcedUsage[] =>
    used.map(({ usage, model }) => ({ usage, source: { agent, model } }))
  const recorded = scope.ctx.step<T | Failed>(
    step.name,
    (paid) => reply(step, paid, meter, details).catch((error: unknown) => failureOf(step, error)),
    {
      usage: (result) => ("failed" in result ? {} : counted(step, result)),
      source: (result) => ("failed" in result ? { agent } : { agent, model: result.model }),
      also: () => sourced(meter.dropped),
      details: () => details?.recorded(),
      spent: () => sourced(meter.spent),
    },
  )
  return recorded.then(replyOrThrow)
}

function replyOrThrow<T extends Recorded>(recorded: T | Failed): T {
  if ("failed" in recorded) throw fromErrorData(recorded.failed)
  return recorded
}

/**
 * A failure is recorded inside another agent's tool call, where it is a result that must be the same after a restart, and
 * before a retry with a shorter prompt. Any other is thrown.
 */
function failureOf({ scope }: Pick<ModelStep<Recorded>, "scope">, error: unknown): Failed {
  const isAnswered = scope.isNested || isSuperstepError(error, "CONTEXT_OVERFLOW")
  if (!isAnswered || scope.signal.aborted || endsAll(error)) throw error
  return { failed: toErrorData(error) }
}

function endsAll(error: unknown): boolean {
  if (!isSuperstepError(error)) return false
  return error.fatal === true || (error.limit === true && error.code !== "AGENT_LIMIT")
}

async function reply<T extends Recorded>(
  step: ModelStep<T>,
  paid: PaidStep,
  meter: CallMeter,
  details: CallDetails | undefined,
): Promise<T> {
  const { core, scope, guards, asked, onDelta } = step
  const { ctx, signal } = scope
  const caller = { agent: core.name, ordinal: endedCalls(ctx, core.name) }
  const loaded = step.models()
  const models = loaded instanceof Promise ? await loaded : loaded
  const call: ModelCall = { caller, ...asked }
  signal.throwIfAborted()
  // Nothing is awaited from here to the reservation, so that simultaneous calls see each other's reservations.
  ctx.checkBudget()
  const headroom = headroomOf(step, models, call)
  for (const guard of guards) guard.checkModelCall(ctx, headroom)
  const needed = counted(step, { usage: modelReservation(models, call, core.options.calling?.prices) })
  const source = { agent: core.name }
  const reserved = withModelNames(models, core, () => {
    for (const guard of guards) guard.checkPrice(needed)
    return paid.reserve(needed, source, headroom)
  })
  if (reserved !== undefined) await reserved
  const options: CallModelOptions = {
    ...core.options.calling,
    signal,
    clock: ctx.clock,
    slots: slotsOf(ctx),
    onDelta,
    onAnswered: (facts) => details?.answered(facts),
    meter,
    beforeRetry() {
      for (const guard of guards) guard.checkModelCall(ctx, headroom)
      return paid.reserve(
        meter.dropped.reduce((sum, { usage }) => addUsage(sum, usage), needed),
        source,
        headroom,
      )
    },
  }
  const parent = telemetryOf(ctx)
  if (parent === undefined) return step.keep(await callModel(models, call, options))
  return await tracedModelCall(parent, models, call, options, (reply) => step.keep(reply))
}

/** Adds the models without a price to the error, and how to set their prices. */
function withModelNames<T>(models: readonly Model[], { name, options }: AgentCore, reserve: () => T): T {
  try {
    return reserve()
  } catch (error) {
    if (!isSuperstepError(error, "BUDGET_UNPRICED")) throw error
    const prices = options.calling?.prices ?? defaultPrices()
    const unpriced = models.map(modelName).filter((one) => prices.priceOf(one) === undefined)
    const text =
      `Agent "${name}": ${error.message} (${[...new Set(unpriced)].join(", ")}). Set its price with calling.prices or ` +
      `registerPrices (--price ${unpriced[0]}=INPUT,OUTPUT), or set allowUnpriced beside usd to count its calls as free.`
    throw new SuperstepError(error.code, text, { retryable: false, fatal: true })
  }
}

/** The maximum number of tokens of a final answer, unless the agent's settings allow fewer. */
export const FINAL_TOKENS = 1_000

/** The usage to keep free for a final answer, if the agent gives one at a limit. */
function headroomOf<T extends Recorded>(
  { core, isFinal }: ModelStep<T>,
  models: readonly Model[],
  call: ModelCall,
): Usage | undefined {
  if (isFinal === true || core.options.onLimit !== "answer") return undefined
  const { tools: _, ...asked } = call
  const maxOutputTokens = Math.min(FINAL_TOKENS, call.maxOutputTokens ?? FINAL_TOKENS)
  const { inputTokens, outputTokens, usd } = modelReservation(
    models,
    { ...asked, maxOutputTokens },
    core.options.calling?.prices,
  )
  return { inputTokens, outputTokens, ...(usd === undefined ? {} : { usd }), modelCalls: 1, iterations: 1 }
}

/** Only a turn of the loop is an iteration; a summary is not. */
function counted({ name }: Pick<ModelStep<Recorded>, "name">, { usage }: Pick<Recorded, "usage">): Usage {
  return name === "model" ? { iterations: 1, ...usage } : usage
}
