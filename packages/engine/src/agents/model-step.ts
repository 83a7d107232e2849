/**
 * One call of a model, as a recorded step: after a crash its record answers, and it is not paid again. Before it is made,
 * it reserves what it may use, within budgets and limits: a call that a crash cut off counts. What attempts have cost is
 * counted also when none of them gave a reply.
 */
import {
  addUsage,
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  SuperstepError,
  toErrorData,
  type Usage,
} from "../core/index.ts"
import { usualPrices } from "../models/call-model.ts"
import {
  type CallModelOptions,
  callModel,
  type Model,
  type ModelCall,
  type ModelReply,
  modelName,
  type ReplyDelta,
} from "../models/index.ts"
import { modelReservation } from "../models/reservation.ts"
import { endedCalls, type PaidStep, telemetryOf } from "../runtime/index.ts"
import type { AgentCore } from "./agent-core.ts"
import type { Guard } from "./agent-limits.ts"
import type { Place } from "./agent-loop.ts"
import { tracedModelCall } from "./traced-calls.ts"

export interface ModelStep<T extends Recorded> {
  readonly name: "model" | "summary"
  readonly core: AgentCore
  readonly models: () => readonly Model[] | Promise<readonly Model[]>
  readonly guards: readonly Guard[]
  readonly place: Place
  readonly signal: AbortSignal
  readonly asked: Omit<ModelCall, "caller">
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

export async function modelStep<T extends Recorded>(step: ModelStep<T>): Promise<T> {
  const { core, place } = step
  const { name: agent } = core
  const dropped: Recorded[] = []
  const recorded = await place.ctx.step<T | Failed>(
    step.name,
    (paid) => replyOrFailure(step, paid, dropped),
    {
      usage: (result) => ("failed" in result ? sum(dropped) : counted(step, result)),
      source: (result) => {
        const model = "failed" in result ? onlyModel(dropped) : result.model
        return model === undefined ? { agent } : { agent, model }
      },
      spent: () => dropped.map(({ usage, model }) => ({ usage, source: { agent, model } })),
    },
  )
  if ("failed" in recorded) throw fromErrorData(recorded.failed)
  return recorded
}

async function replyOrFailure<T extends Recorded>(
  step: ModelStep<T>,
  paid: PaidStep,
  dropped: Recorded[],
): Promise<T | Failed> {
  try {
    return await reply(step, paid, dropped)
  } catch (error) {
    // Inside another agent's tool call a failure is a result, and must be the same one after a restart.
    if (!step.place.isNested || step.signal.aborted || endsAll(error)) throw error
    return { failed: toErrorData(error) }
  }
}

function endsAll(error: unknown): boolean {
  if (!isSuperstepError(error)) return false
  return error.fatal === true || (error.limit === true && error.code !== "AGENT_LIMIT")
}

async function reply<T extends Recorded>(
  step: ModelStep<T>,
  paid: PaidStep,
  dropped: Recorded[],
): Promise<T> {
  const { core, place, guards, asked, signal, onDelta } = step
  const { ctx } = place
  const caller = { agent: core.name, ordinal: endedCalls(ctx, core.name) }
  const given = step.models()
  const models = given instanceof Promise ? await given : given
  const call: ModelCall = { ...asked, caller }
  // From here to the reservation nothing is awaited: calls at the same time see each other.
  ctx.checkBudget()
  for (const guard of guards) guard.checkModelCall(ctx)
  const needed = counted(step, { usage: modelReservation(models, call, core.options.calling?.prices) })
  const source = { agent: core.name }
  const reserved = withModelNames(models, core, () => {
    for (const guard of guards) guard.checkPrice(needed)
    return paid.reserve(needed, source)
  })
  if (reserved !== undefined) await reserved
  const options: CallModelOptions = {
    ...core.options.calling,
    signal,
    clock: ctx.clock,
    onDelta,
    beforeRetry: (usage) => paid.reserve(addUsage(usage, needed), source),
    onDropped: (usage, model) => dropped.push({ usage, model }),
  }
  const above = telemetryOf(ctx)
  if (above === undefined) return step.keep(await callModel(models, call, options))
  return await tracedModelCall(above, models, call, options, (reply) => step.keep(reply))
}

/** Says which prices are missing, and what to do about it. */
function withModelNames<T>(models: readonly Model[], { name, options }: AgentCore, reserve: () => T): T {
  try {
    return reserve()
  } catch (error) {
    if (!isSuperstepError(error, "BUDGET_UNPRICED")) throw error
    const prices = options.calling?.prices ?? usualPrices()
    const unpriced = models.map(modelName).filter((one) => prices.priceOf(one) === undefined)
    const text =
      `Agent "${name}": ${error.message} (${[...new Set(unpriced)].join(", ")}). Give its price with calling.prices or ` +
      `registerPrices (--price ${unpriced[0]}=INPUT,OUTPUT), or set allowUnpriced beside usd to count its calls as free.`
    throw new SuperstepError(error.code, text, { retryable: false, fatal: true })
  }
}

/** A turn of the loop; a summary is none. */
function counted({ name }: Pick<ModelStep<Recorded>, "name">, { usage }: Pick<Recorded, "usage">): Usage {
  return name === "model" ? { ...usage, iterations: 1 } : usage
}

function sum(dropped: readonly Recorded[]): Usage {
  return dropped.reduce((total: Usage, { usage }) => addUsage(total, usage), {})
}

function onlyModel(dropped: readonly Recorded[]): string | undefined {
  return dropped.length === 1 ? dropped[0]?.model : undefined
}
