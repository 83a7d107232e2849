/**
 * The usage of a call. Before the call: an estimate, to reserve it. After the call: the provider's numbers, an estimate
 * if it reports none, and the cost if the price is known. Estimates are based on length, and are marked as estimates.
 */
import type { LanguageModelV3Usage } from "@ai-sdk/provider"
import { addUsage, type Usage } from "../core/index.ts"
import type { AnswerTokens } from "../runtime/index.ts"
import { type Message, type Model, type ModelCall, modelName, type ReplyPart, settingsOf } from "./model.ts"
import { defaultPrices, type PriceTable } from "./prices.ts"

const CHARACTERS_PER_TOKEN = 4
/** Scripts in which a character is about a token: Chinese, Japanese, Korean. */
const DENSE = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g
/** The role and the borders of a message. */
const PER_MESSAGE = 4
/** An image or a document counts as one page: its size says little. */
const PER_FILE = 1_000

export function estimateTokens(text: string): number {
  const dense = text.match(DENSE)?.length ?? 0
  return dense + Math.ceil((text.length - dense) / CHARACTERS_PER_TOKEN)
}

/** The input of a model: the prompt and the offered tools. */
export function estimateInput({ prompt, tools }: Pick<ModelCall, "prompt" | "tools">): number {
  let tokens = tools === undefined ? 0 : measuredOnce(tools, toolTokens)
  for (const message of prompt) tokens += measuredOnce(message, messageTokens)
  return tokens
}

const measured = new WeakMap<object, number>()

/** Caches by object: messages and lists of tools do not change, and each turn repeats those of all earlier turns. */
function measuredOnce<T extends object>(value: T, measure: (value: T) => number): number {
  const known = measured.get(value)
  if (known !== undefined) return known
  const tokens = measure(value)
  measured.set(value, tokens)
  return tokens
}

function toolTokens(tools: NonNullable<ModelCall["tools"]>): number {
  return estimateTokens(JSON.stringify(tools))
}

function messageTokens({ content }: Message): number {
  if (typeof content === "string") return PER_MESSAGE + estimateTokens(content)
  let tokens = PER_MESSAGE
  for (const part of content) {
    if (part.type === "text" || part.type === "reasoning") tokens += estimateTokens(part.text)
    else if (part.type === "file") tokens += PER_FILE
    else if (part.type === "tool-result" && part.output.type === "content") {
      for (const one of part.output.value) tokens += one.type === "text" ? estimateTokens(one.text) : PER_FILE
    } else tokens += estimateTokens(JSON.stringify(part))
  }
  return tokens
}

function estimateOutput(content: readonly ReplyPart[]): number {
  let tokens = 0
  for (const part of content) {
    if (part.type === "text" || part.type === "reasoning") tokens += estimateTokens(part.text)
    else if (part.type === "tool-call" || part.type === "provider-call")
      tokens += estimateTokens(part.name) + estimateTokens(part.args)
  }
  return tokens
}

/**
 * The maximum usage of a call: the prompt by its length, the reply by the call's limit, at the price of the most
 * expensive model that may answer. Without a limit on the reply, only the prompt can be reserved.
 */
export function modelReservation(
  models: readonly Model[],
  call: ModelCall,
  prices: PriceTable = defaultPrices(),
): Usage {
  const inputTokens = estimateInput(call)
  let outputTokens = 0
  let usd: number | undefined
  let unpricedCalls = 0
  for (const model of models) {
    const output = maxReply(model, call)
    outputTokens = Math.max(outputTokens, output)
    const cost = prices.cost(modelName(model), { input: inputTokens, output })
    if (cost === undefined) unpricedCalls = 1
    else usd = Math.max(usd ?? 0, cost)
  }
  const usage: MutableUsage = { inputTokens, outputTokens, modelCalls: 1 }
  if (usd !== undefined) usage.usd = usd
  // A model without a known price may be the one that answers.
  if (usd === undefined || unpricedCalls > 0) usage.unpricedCalls = 1
  usage.estimatedCalls = 1
  return usage
}

type MutableUsage = { -readonly [Counter in keyof Usage]: Usage[Counter] }

/** Settings come from the user unchecked: a value that is not a positive number sets no limit. */
function maxReply(model: Model, call: ModelCall): number {
  const { maxOutputTokens: most = settingsOf(model).maxOutputTokens } = call
  return typeof most === "number" && most > 0 && Number.isFinite(most) ? most : 0
}

export function usageOf(
  model: string,
  call: ModelCall,
  content: readonly ReplyPart[],
  reported: LanguageModelV3Usage | undefined,
  prices: PriceTable,
): Usage {
  return counted(model, call, tokenCounts(reported), () => estimateOutput(content), prices)
}

/** The received part of a stream. */
interface Streamed {
  /** Everything received, as one string. */
  readonly received: string
  readonly usage: LanguageModelV3Usage | undefined
}

/** The usage of one request to a model, from the moment it is sent. */
export class RequestUsage {
  readonly model: string
  readonly #call: ModelCall
  readonly #prices: PriceTable
  stream: Streamed | undefined
  /** The usage that the provider reported with a reply that is not an answer. */
  reported: Usage | undefined

  constructor(model: string, call: ModelCall, prices: PriceTable) {
    this.model = model
    this.#call = call
    this.#prices = prices
  }

  /** The usage so far: the prompt, and what was received. */
  soFar(): Usage {
    const { received = "", usage } = this.stream ?? {}
    return (
      this.reported ??
      counted(this.model, this.#call, tokenCounts(usage), () => estimateTokens(received), this.#prices)
    )
  }

  /** The usage of a failed request; undefined if it was not sent. A request that the provider refused costs no tokens. */
  after({ isSent, isServed }: { readonly isSent: boolean; readonly isServed: boolean }): Usage | undefined {
    const { received = "", usage } = this.stream ?? {}
    const { input, output } = tokenCounts(usage)
    const hasBegun = this.reported !== undefined || received !== "" || (input ?? output) !== undefined
    if (hasBegun || isServed) return this.soFar()
    return isSent ? { modelCalls: 1 } : undefined
  }
}

/** The token counts that the provider reported; invalid ones are ignored. */
export function tokenCounts(reported: LanguageModelV3Usage | undefined): AnswerTokens {
  const { inputTokens, outputTokens } = reported ?? {}
  return {
    input: total(inputTokens, "noCache", "cacheRead", "cacheWrite"),
    output: total(outputTokens, "text", "reasoning"),
    cacheRead: count(inputTokens?.cacheRead),
    cacheWrite: count(inputTokens?.cacheWrite),
    reasoning: count(outputTokens?.reasoning),
  }
}

function counted(
  model: string,
  call: ModelCall,
  { input, output, cacheRead, cacheWrite, reasoning }: AnswerTokens,
  estimate: () => number,
  prices: PriceTable,
): Usage {
  const tokens = { input: input ?? estimateInput(call), output: output ?? estimate(), cacheRead, cacheWrite }
  const usd = prices.cost(model, tokens)
  const usage: MutableUsage = { inputTokens: tokens.input, outputTokens: tokens.output }
  if (cacheRead) usage.cachedInputTokens = cacheRead
  if (cacheWrite) usage.cacheWriteTokens = cacheWrite
  if (reasoning) usage.reasoningTokens = reasoning
  usage.modelCalls = 1
  if (usd === undefined) usage.unpricedCalls = 1
  else usage.usd = usd
  if (input === undefined || output === undefined) usage.estimatedCalls = 1
  return usage
}

/** The total, or the sum of its parts if only these are reported. */
function total<Part extends string>(
  reported: Partial<Record<Part | "total", number | undefined>> | undefined,
  ...parts: Part[]
): number | undefined {
  const whole = count(reported?.total)
  if (whole !== undefined) return whole
  const known = parts.map((part) => count(reported?.[part])).filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}

/** An invalid count is ignored: a reply that was paid for must not fail because of it. */
function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined
}

// Meters a model call: the usage of its failed attempts, each with its model, and of the request in flight. Every request
// counts from the moment it is sent.

/** The usage of a model. */
export interface ModelUsage {
  readonly model: string
  readonly usage: Usage
}

/** A request that was sent. */
interface Request {
  readonly model: string
  /** Its usage so far, estimated if the provider did not report it. */
  soFar(): Usage
}

const NOTHING: readonly ModelUsage[] = Object.freeze([])

export class CallMeter {
  #dropped: Map<string, Usage> | undefined
  #current: Request | undefined

  begin(request: Request): void {
    this.#current = request
  }

  /** The request succeeded: the reply contains its usage. */
  end(): void {
    this.#current = undefined
  }

  /** The request failed; undefined if it was never sent. */
  drop(usage: Usage | undefined): void {
    const model = this.#current?.model
    this.#current = undefined
    if (model === undefined || usage === undefined) return
    this.#dropped ??= new Map()
    this.#dropped.set(model, addUsage(this.#dropped.get(model) ?? {}, usage))
  }

  /** The usage of failed attempts, by model. */
  get dropped(): readonly ModelUsage[] {
    if (this.#dropped === undefined) return NOTHING
    return [...this.#dropped].map(([model, usage]) => ({ model, usage }))
  }

  /** The usage of all failed attempts and of the request in flight. */
  get spent(): readonly ModelUsage[] {
    const current = this.#current
    if (current === undefined) return this.dropped
    return [...this.dropped, { model: current.model, usage: current.soFar() }]
  }
}
