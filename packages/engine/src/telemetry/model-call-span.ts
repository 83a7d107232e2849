/**
 * One model call as its caller sees it: a span with all attempts and fallbacks, as the conventions require. A failed attempt
 * is an event; the requests of HTTP clients, where they are traced, are the span's children.
 *
 * G1 the span ends once, and only then is it counted.
 * G2 it has the numbers that the provider reports, never our estimates.
 * G3 it names the model that was called last, which is the one that answered, if any.
 */
import type { Attributes, Context, Span } from "@opentelemetry/api"
import type { ErrorData } from "../core/index.ts"
import type {
  AnswerInfo,
  AskedModel,
  ModelCallInfo,
  ModelCallOutcome,
  ModelCallTelemetry,
} from "../runtime/index.ts"
import * as attr from "./attributes.ts"
import { openTelemetry, type TelemetrySink } from "./open-telemetry.ts"

/** The span that a call is below. */
interface ModelCallParent {
  readonly sink: TelemetrySink
  /** Names the workflow and the run. */
  readonly run: Attributes
  open(): Context
}

const CHAT = { [attr.OPERATION]: "chat" }

export class ModelCallSpan implements ModelCallTelemetry {
  readonly #sink: TelemetrySink
  readonly #workflow: Attributes
  readonly #span: Span
  readonly #context: Context
  readonly #startedAt: number
  #asked: AskedModel
  #answer: AnswerInfo | undefined
  #attempts = 0
  #attemptedAt = 0
  #firstChunk: number | undefined
  #ended = false

  constructor(parent: ModelCallParent, call: ModelCallInfo) {
    const { sink, run } = parent
    const below = parent.open()
    this.#sink = sink
    // Metrics name workflows, never runs.
    this.#workflow = { [attr.WORKFLOW_NAME]: run[attr.WORKFLOW_NAME] }
    this.#asked = call
    const attributes = {
      ...run,
      ...CHAT,
      ...attr.modelAttributes(call),
      ...attr.settingsAttributes(call.settings),
      [attr.AGENT_NAME]: call.agent,
      [attr.OUTPUT_TYPE]: call.isJson ? "json" : "text",
    }
    this.#span = sink.tracer.startSpan(
      `chat ${call.model}`,
      { kind: openTelemetry().SpanKind.CLIENT, attributes },
      below,
    )
    this.#context = openTelemetry().trace.setSpan(below, this.#span)
    this.#startedAt = sink.now()
  }

  get wantsContent(): boolean {
    return this.#sink.content
  }

  attempt<T>(asked: AskedModel, isStreamed: boolean, ask: () => T): T {
    const { provider, model } = this.#asked
    if (asked.provider !== provider || asked.model !== model) {
      this.#span.updateName(`chat ${asked.model}`)
      this.#span.setAttributes({
        ...attr.modelAttributes(asked),
        ...attr.settingsAttributes(asked.settings),
      })
    }
    this.#asked = asked
    this.#answer = undefined
    this.#firstChunk = undefined
    this.#attempts++
    if (isStreamed) this.#span.setAttribute(attr.REQUEST_STREAM, true)
    this.#attemptedAt = this.#sink.now()
    return openTelemetry().context.with(this.#context, ask)
  }

  attemptFailed(error: ErrorData): void {
    this.#span.addEvent(attr.ATTEMPT_FAILED, {
      ...attr.modelAttributes(this.#asked),
      [attr.ATTEMPT]: this.#attempts,
      [attr.ERROR_TYPE]: attr.errorType(error),
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
    span.setAttribute(attr.ATTEMPTS, this.#attempts)
    if (this.#answer !== undefined) span.setAttributes(attr.answerAttributes(this.#answer))
    if (this.#firstChunk !== undefined) span.setAttribute(attr.FIRST_CHUNK, this.#firstChunk)
    span.setAttributes({ [attr.INSTRUCTIONS]: instructions, [attr.INPUT]: input, [attr.OUTPUT]: output })
    attr.markEnded(span, error)
    span.end()
    this.#count(error)
  }

  #count(error: ErrorData | undefined): void {
    const { modelDuration, modelFirstChunk, modelTokens } = this.#sink.instruments
    const { model, tokens } = this.#answer ?? {}
    const measured: Attributes = { ...CHAT, ...this.#workflow, ...attr.modelAttributes(this.#asked) }
    if (model !== undefined) measured[attr.RESPONSE_MODEL] = model
    const failed = error === undefined ? {} : { [attr.ERROR_TYPE]: attr.errorType(error) }
    modelDuration.record(this.#seconds(this.#startedAt), { ...measured, ...failed })
    if (this.#firstChunk !== undefined) modelFirstChunk.record(this.#firstChunk, measured)
    if (tokens?.input !== undefined)
      modelTokens.record(tokens.input, { ...measured, [attr.TOKEN_KIND]: "input" })
    if (tokens?.output !== undefined) {
      modelTokens.record(tokens.output, { ...measured, [attr.TOKEN_KIND]: "output" })
    }
  }

  #seconds(since: number): number {
    return (this.#sink.now() - since) / 1_000
  }
}
