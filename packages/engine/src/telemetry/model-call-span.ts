/**
 * One call of a model as its caller sees it: a span with all attempts and fallbacks, as the conventions want it. An attempt
 * that failed is an event; the requests of HTTP clients, where they are traced, are the span's children.
 *
 * G1 the span ends once, and only then is it counted.
 * G2 it says what the provider told; what we estimate is not here.
 * G3 it names the model that was asked last, which is the one that answered if any did.
 */
import { type Attributes, type Context, context, type Span, SpanKind, trace } from "@opentelemetry/api"
import type { ErrorData } from "../core/index.ts"
import type {
  AnswerInfo,
  AskedModel,
  ModelCallInfo,
  ModelCallOutcome,
  ModelCallTelemetry,
} from "../runtime/index.ts"
import { ERROR_TYPE } from "./attributes.ts"
import { errorType, markEnded } from "./failure.ts"
import {
  AGENT_NAME,
  ATTEMPT,
  ATTEMPT_FAILED,
  ATTEMPTS,
  answerAttributes,
  FIRST_CHUNK,
  INPUT,
  INSTRUCTIONS,
  modelAttributes,
  OPERATION,
  OUTPUT,
  OUTPUT_TYPE,
  REQUEST_STREAM,
  RESPONSE_MODEL,
  settingsAttributes,
  TOKEN_KIND,
} from "./gen-ai-attributes.ts"
import type { Outlet } from "./outlet.ts"

const CHAT = { [OPERATION]: "chat" }

export class ModelCallSpan implements ModelCallTelemetry {
  readonly #outlet: Outlet
  readonly #span: Span
  readonly #context: Context
  readonly #startedAt: number
  #asked: AskedModel
  #answer: AnswerInfo | undefined
  #attempts = 0
  #attemptedAt = 0
  #firstChunk: number | undefined
  #ended = false

  constructor(outlet: Outlet, below: Context, call: ModelCallInfo) {
    this.#outlet = outlet
    this.#asked = call
    const attributes = {
      ...CHAT,
      ...modelAttributes(call),
      ...settingsAttributes(call.settings),
      [AGENT_NAME]: call.agent,
      [OUTPUT_TYPE]: call.isJson ? "json" : "text",
    }
    this.#span = outlet.tracer.startSpan(`chat ${call.model}`, { kind: SpanKind.CLIENT, attributes }, below)
    this.#context = trace.setSpan(below, this.#span)
    this.#startedAt = outlet.now()
  }

  get wantsContent(): boolean {
    return this.#outlet.content
  }

  attempt<T>(asked: AskedModel, isStreamed: boolean, ask: () => T): T {
    const { provider, model } = this.#asked
    if (asked.provider !== provider || asked.model !== model) {
      this.#span.updateName(`chat ${asked.model}`)
      this.#span.setAttributes({ ...modelAttributes(asked), ...settingsAttributes(asked.settings) })
    }
    this.#asked = asked
    this.#answer = undefined
    this.#firstChunk = undefined
    this.#attempts++
    if (isStreamed) this.#span.setAttribute(REQUEST_STREAM, true)
    this.#attemptedAt = this.#outlet.now()
    return context.with(this.#context, ask)
  }

  attemptFailed(error: ErrorData): void {
    this.#span.addEvent(ATTEMPT_FAILED, {
      ...modelAttributes(this.#asked),
      [ATTEMPT]: this.#attempts,
      [ERROR_TYPE]: errorType(error),
      "exception.message": error.message,
    })
  }

  began(): void {
    this.#firstChunk ??= this.#seconds(this.#attemptedAt)
  }

  answered(answer: AnswerInfo): void {
    this.#answer = { ...this.#answer, ...answer }
  }

  end({ error, instructions, input, output }: ModelCallOutcome): void {
    if (this.#ended) return
    this.#ended = true
    const span = this.#span
    span.setAttribute(ATTEMPTS, this.#attempts)
    if (this.#answer !== undefined) span.setAttributes(answerAttributes(this.#answer))
    if (this.#firstChunk !== undefined) span.setAttribute(FIRST_CHUNK, this.#firstChunk)
    span.setAttributes({ [INSTRUCTIONS]: instructions, [INPUT]: input, [OUTPUT]: output })
    markEnded(span, error)
    span.end()
    this.#count(error)
  }

  #count(error: ErrorData | undefined): void {
    const { modelDuration, modelFirstChunk, modelTokens } = this.#outlet.instruments
    const { model, tokens } = this.#answer ?? {}
    const measured: Attributes = { ...CHAT, ...modelAttributes(this.#asked) }
    if (model !== undefined) measured[RESPONSE_MODEL] = model
    const failed = error === undefined ? {} : { [ERROR_TYPE]: errorType(error) }
    modelDuration.record(this.#seconds(this.#startedAt), { ...measured, ...failed })
    if (this.#firstChunk !== undefined) modelFirstChunk.record(this.#firstChunk, measured)
    if (tokens?.input !== undefined) modelTokens.record(tokens.input, { ...measured, [TOKEN_KIND]: "input" })
    if (tokens?.output !== undefined) {
      modelTokens.record(tokens.output, { ...measured, [TOKEN_KIND]: "output" })
    }
  }

  #seconds(since: number): number {
    return (this.#outlet.now() - since) / 1_000
  }
}
