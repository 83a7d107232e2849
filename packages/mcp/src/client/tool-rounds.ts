/**
 * One call of a tool, in rounds: each ends with the result, or with questions of the server. A round is a recorded step, and
 * its questions are answered between the rounds: by a person, by the agent's model, or from the options.
 *
 * Q1 A question is recorded before it is asked. Its answer is recorded too: nobody is asked twice, and no model call is paid
 *    for twice, also after a crash.
 * Q2 A server of revision 2026-07-28 or later continues with the answers in a new request: after a crash, in any process, the
 *    call continues where it was. A server of an earlier revision waits for the answers in its open call. If that is lost,
 *    with the process or the connection, the call is made again with the same idempotency key, and questions that it
 *    repeats get their recorded answers.
 * Q3 The time limit is that of a round: waiting for a person does not count.
 * Q4 What the server asks for is checked before anybody sees it, and so are the answers before the server gets them.
 */
import {
  type CallToolResult,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  specTypeSchemas,
} from "@modelcontextprotocol/client"
import { isSuperstepError, type Json, SuperstepError } from "@superstep/engine"
import type { ToolCallContext } from "@superstep/engine/tools"
import type { Asked, Connection, ServerQuestion } from "./connection.ts"
import { isLost } from "./connection-errors.ts"
import { elicited } from "./elicitation.ts"
import type { McpServer } from "./mcp-server.ts"
import { type SamplingOptions, sampled } from "./sampling.ts"
import { failureText, toolValue } from "./tool-content.ts"

export interface InteractionOptions {
  /** Whether the server may ask a person during a call (elicitation). The question is a request of the run. Default true. */
  readonly elicitation?: boolean | undefined
  /**
   * Whether the server may use the agent's model during a call (sampling), within the budget of the run. `true`: a person
   * approves each use. Default false.
   */
  readonly sampling?: boolean | SamplingOptions | undefined
}

/** The end of a round, as it is recorded. */
type Round =
  | { readonly value: Json }
  | { readonly failed: { readonly code: string; readonly message: string; readonly retryable?: boolean } }
  | { readonly questions: Readonly<Record<string, Json>>; readonly state?: string }

type Answers = Readonly<Record<string, Json>>

const MAX_ROUNDS = 20
const MAX_QUESTIONS = 10
/** Milliseconds before a busy server, which asks nothing, is called again. */
const AGAIN_AFTER = 250

export async function callMcpTool(
  server: McpServer,
  name: string,
  args: Readonly<Record<string, unknown>>,
  call: ToolCallContext,
  options: InteractionOptions,
): Promise<Json> {
  const { ctx, signal, tool: shownAs, idempotencyKey } = call
  const onProgress = (progress: Progress) =>
    ctx.log("info", server.hidden.text(`${shownAs}: ${progressText(progress)}`), numbers(progress))
  const meta = { "superstep/idempotency-key": idempotencyKey }
  const params = { name, arguments: args, _meta: meta }
  const open = new OpenCall(server, params, onProgress, signal)
  let answers: Answers = {}
  let state: string | undefined
  try {
    for (let number = 1; ; number++) {
      const round = await ctx.step("round", () => recorded(open.next(answers, state), signal))
      if ("value" in round) return round.value
      if ("failed" in round) throw errorOf(round.failed)
      if (number === MAX_ROUNDS) throw refused(server, `asks more than ${MAX_ROUNDS} times in one call`)
      const entries = Object.entries(round.questions)
      if (entries.length === 0) await server.pause(AGAIN_AFTER, signal)
      if (entries.length > MAX_QUESTIONS) throw refused(server, `asks ${entries.length} questions at once`)
      const replies: [string, Json][] = []
      // In order: the keys of questions in the record depend on it.
      for (const [key, question] of entries) {
        replies.push([key, await answerTo(server, question as unknown as ServerQuestion, call, options)])
      }
      open.remember(round.questions, Object.fromEntries(replies))
      answers = Object.fromEntries(replies)
      state = round.state
    }
  } finally {
    open.end()
  }
}

async function answerTo(
  server: McpServer,
  question: ServerQuestion,
  call: ToolCallContext,
  { elicitation = true, sampling = false }: InteractionOptions,
): Promise<Json> {
  if (question.method === "elicitation/create" && elicitation)
    return await elicited(server, question.params, call)
  if (question.method === "sampling/createMessage" && sampling !== false) {
    return await sampled(server, question.params, call, sampling === true ? {} : sampling)
  }
  if ((question.method as string) === "roots/list" && server.roots.length > 0) {
    return { roots: server.roots } as unknown as Json
  }
  throw refused(server, `asks for ${question.method}, which it may not use`)
}

/**
 * The call at the server. Up to revision 2025-11-25 it stays open while a question is answered; later ones begin another
 * request.
 */
class OpenCall {
  readonly #server: McpServer
  readonly #params: Record<string, unknown>
  readonly #onProgress: (progress: Progress) => void
  readonly #signal: AbortSignal
  /** Questions of earlier rounds and their answers, in order. */
  readonly #answered: (readonly [question: string, answer: Json])[] = []
  /** The answers that a call which is made again still needs. */
  #left: (readonly [question: string, answer: Json])[] = []
  #life = new AbortController()
  #result: Promise<Round> | undefined
  #isLost = false
  #reply: ((answer: Json) => void) | undefined
  #onQuestion: ((round: Round) => void) | undefined

  constructor(
    server: McpServer,
    params: Record<string, unknown>,
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ) {
    this.#server = server
    this.#params = params
    this.#onProgress = onProgress
    this.#signal = signal
    // A stopped task may never get its answer.
    signal.addEventListener("abort", this.#onAbort, { once: true })
  }

  readonly #onAbort = () => this.#life.abort(this.#signal.reason)

  /** Up to the next questions, or the result. */
  async next(answers: Answers, state: string | undefined): Promise<Round> {
    const what = `the call of "${this.#params.name}"`
    try {
      return await this.#server.limited(what, (met) => this.#round(answers, state, met), this.#signal)
    } catch (error) {
      this.end(error)
      throw error
    }
  }

  async #round(
    answers: Answers,
    state: string | undefined,
    met: (connection: Connection) => void,
  ): Promise<Round> {
    const question = new Promise<Round>((resolve) => {
      this.#onQuestion = resolve
    })
    const reply = this.#reply
    this.#reply = undefined
    if (this.#result === undefined || this.#isLost) this.#begin(answers, state, met)
    else reply?.(Object.values(answers)[0] as Json)
    const round = await Promise.race([this.#result as Promise<Round>, question])
    // Nothing waits for the answers but the next request.
    if ("questions" in round && this.#reply === undefined) this.#result = undefined
    return round
  }

  #begin(answers: Answers, state: string | undefined, met: (connection: Connection) => void): void {
    this.#life = new AbortController()
    this.#isLost = false
    this.#left = [...this.#answered]
    const more = {
      ...(Object.keys(answers).length > 0 && { inputResponses: answers }),
      ...(state !== undefined && { requestState: state }),
    }
    const { signal } = this.#life
    const work = (connection: Connection) => {
      met(connection)
      return this.#send(connection, more, signal)
    }
    this.#result = this.#server.connected(work, signal)
    // The round that waits for it sees the failure.
    this.#result.catch((error) => {
      this.#isLost = isLost(error)
    })
  }

  async #send(connection: Connection, more: object, signal: AbortSignal): Promise<Round> {
    // An earlier revision knows nothing of answers in a request: it asks again.
    const params = connection.isModern ? { ...this.#params, ...more } : this.#params
    const asked: Asked = (question) => this.#asked(question)
    const onProgress = this.#onProgress
    const sent = { method: "tools/call", params }
    const result: CallToolResult & Partial<InputRequired> = await connection.request(
      sent,
      specTypeSchemas.CallToolResult,
      { signal, onProgress, asked },
    )
    const { hidden } = this.#server
    if (result.resultType === "input_required") {
      const { inputRequests = {}, requestState: state } = result
      if (state !== undefined && hidden.text(state) !== state) {
        throw refused(this.#server, "repeats a secret in the state of its call, which would be recorded")
      }
      const questions = hidden.json(inputRequests as Json) as Readonly<Record<string, Json>>
      return { questions, ...(state !== undefined && { state }) }
    }
    // The tool failed: the model reads why. Repeating the same call would fail again.
    if (result.isError === true) {
      return {
        failed: { code: "MCP_TOOL_FAILED", message: hidden.text(failureText(result)), retryable: false },
      }
    }
    return { value: hidden.json(toolValue(result)) }
  }

  /** A question of an open call is answered by the next round, or by an earlier one if the call is made again. */
  #asked({ method, params }: ServerQuestion): Promise<Record<string, unknown>> {
    const question = this.#server.hidden.json({ method, params } as unknown as Json)
    const text = JSON.stringify(question)
    const known = this.#left.findIndex(([one]) => one === text)
    if (known >= 0) {
      const [[, answer] = []] = this.#left.splice(known, 1)
      return Promise.resolve(answer as Record<string, unknown>)
    }
    if (this.#reply !== undefined) {
      const text = "Another question is still open: ask one at a time."
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, text)
    }
    return new Promise((resolve) => {
      this.#reply = resolve as (answer: Json) => void
      this.#onQuestion?.({ questions: { question } })
    })
  }

  remember(questions: Readonly<Record<string, Json>>, answers: Answers): void {
    for (const [key, question] of Object.entries(questions)) {
      this.#answered.push([JSON.stringify(question), answers[key] as Json])
    }
  }

  /** Cancels the call if it is still open. */
  end(reason?: unknown): void {
    this.#signal.removeEventListener("abort", this.#onAbort)
    this.#result = undefined
    this.#reply = undefined
    this.#life.abort(reason)
  }
}

interface InputRequired {
  readonly resultType: "input_required"
  readonly inputRequests?: unknown
  readonly requestState?: string
}

/** A failure is a result too: after a restart the model sees the same. */
async function recorded(round: Promise<Round>, signal: AbortSignal): Promise<Round> {
  try {
    return await round
  } catch (error) {
    signal.throwIfAborted()
    if (!isSuperstepError(error)) throw error
    const { code, message, retryable } = error
    return { failed: { code, message, ...(retryable !== undefined && { retryable }) } }
  }
}

function errorOf({
  code,
  message,
  retryable,
}: Extract<Round, { failed: unknown }>["failed"]): SuperstepError {
  return new SuperstepError(code, message, retryable === undefined ? {} : { retryable })
}

function refused({ name }: McpServer, what: string): SuperstepError {
  return new SuperstepError("MCP_REFUSED", `The MCP server "${name}" ${what}.`, { retryable: false })
}

function progressText({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
}

function numbers({ progress, total }: Progress): Json {
  return total === undefined ? { progress } : { progress, total }
}
