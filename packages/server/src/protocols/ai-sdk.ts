/**
 * The UI message stream of the AI SDK, for `useChat` with its `DefaultChatTransport`. A run is one message of the assistant.
 * Approvals are those of the SDK (`addToolApprovalResponse`); other questions are calls of the tool `question`, which
 * `addToolOutput` answers. A client that joins again gets the whole message once more, which replaces what it has.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { type Json, type StoredRun, SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, needs, principalOf } from "../access.ts"
import { visibleWorkflow } from "../runs.ts"
import { failure } from "../schemas.ts"
import type { Services } from "../services.ts"
import {
  answerChat,
  type ChatMessage,
  type ChatTurn,
  chatEvents,
  chatResponse,
  latestRun,
  questionOf,
  readRef,
  refOf,
  startChat,
  turnNow,
  visibleTurn,
} from "./chat.ts"
import { approvalOf, type ChatCall, type ChatEnd, type ChatEvent } from "./chat-fold.ts"

const HEADERS = { "x-vercel-ai-ui-message-stream": "v1" }
const QUESTION = "question"

const partSchema = z.looseObject({ type: z.string().max(200) })
const chatSchema = z
  .looseObject({
    id: z.string().min(1).max(1_000).openapi({ description: "The id of the chat." }),
    messages: z
      .array(
        z.looseObject({
          role: z.enum(["user", "system", "assistant"]),
          parts: z.array(partSchema).max(10_000),
        }),
      )
      .min(1)
      .max(10_000),
  })
  .openapi("UiChatRequest")

const stream = { description: "A UI message stream." }

export function addAiSdkRoutes(app: OpenAPIHono<Env>, services: Services): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/workflows/{workflow}/chat",
      ...needs("operator", { starts: true }),
      summary: "AI SDK: let a workflow answer a chat",
      request: {
        params: z.object({ workflow: z.string() }),
        body: { required: true, content: { "application/json": { schema: chatSchema } } },
      },
      responses: {
        200: stream,
        404: failure("No such workflow."),
        409: failure("The chat is busy, or the question is no longer open."),
        422: failure("The request or an answer is not valid."),
      },
    }),
    async (c) => {
      const workflow = await visibleWorkflow(principalOf(c), services, c.req.valid("param").workflow)
      const { id: chat, messages } = c.req.valid("json")
      const last = messages.at(-1)
      const turn =
        last?.role === "assistant"
          ? await answered(c, services, last.parts)
          : await startChat(c, services, { workflow, chat, messages: messages.flatMap(chatMessage) })
      return uiStream(c, services, turn, turn.turn)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/workflows/{workflow}/chat/{chat}/stream",
      ...needs("viewer"),
      summary: "AI SDK: join the last message of a chat again",
      request: { params: z.object({ workflow: z.string(), chat: z.string().max(1_000) }) },
      responses: { 200: stream, 204: { description: "The chat has no message." } },
    }),
    async (c) => {
      const { workflow, chat } = c.req.valid("param")
      const run = await latestRun(c, services, workflow, chat)
      if (run === undefined) return c.body(null, 204)
      return uiStream(c, services, await turnNow(services, run), 0)
    },
  )
}

function uiStream(c: Context<Env>, services: Services, turn: ChatTurn, from: number): Response {
  const frames = async function* (signal: AbortSignal) {
    const parts = new UiParts(turn.run)
    yield frame({ type: "start", messageId: parts.id })
    for await (const event of chatEvents(services, turn, signal, { from })) {
      for (const part of parts.add(event)) yield frame(part)
    }
    yield "data: [DONE]\n\n"
  }
  const broken = ({ message }: { readonly message: string }) => frame({ type: "error", errorText: message })
  return chatResponse(c, services, turn, { frames, broken }, HEADERS)
}

type Part = Readonly<Record<string, unknown>>
type UiMessage = z.infer<typeof chatSchema>["messages"][number]

function chatMessage({ role, parts }: UiMessage): ChatMessage[] {
  if (role === "assistant") {
    const written = parts.flatMap(({ type, text }) =>
      type === "text" && typeof text === "string" ? [text] : [],
    )
    return written.length === 0 ? [] : [{ role, content: written.join("\n\n") }]
  }
  const content = parts.filter(({ type }) => type === "text" || type === "file")
  return content.length === 0 ? [] : [{ role: "user", content }]
}

/** Continues the run whose questions the parts answer. Those that were answered before are sent again, and do not count. */
async function answered(c: Context<Env>, services: Services, parts: readonly Part[]): Promise<ChatTurn> {
  const answers = parts.flatMap(answerIn)
  const now = await visibleTurn(c, services, answers.at(-1)?.run)
  if (now === undefined) {
    throw new SuperstepError("REQUEST_UNKNOWN", "The last message is neither the user's nor an answer.")
  }
  const { run, requests } = now
  const open = answers.filter(
    (answer) => answer.run === run.runId && requests.some(({ id }) => id === answer.request),
  )
  if (open.length === 0) {
    throw new SuperstepError("REQUEST_ANSWERED", "The last message answers no open question.")
  }
  return await answerChat(c, services, run, open)
}

interface Answer {
  readonly run: string
  readonly request: string
  readonly value: unknown
}

function answerIn(part: Part): Answer[] {
  const { type, toolName, state, toolCallId, output } = part
  const approval = Object(part.approval) as { id?: unknown; approved?: unknown; reason?: unknown }
  const isQuestion = type === `tool-${QUESTION}` || (type === "dynamic-tool" && toolName === QUESTION)
  const made = (id: unknown, value: unknown): Answer[] => {
    const ref = typeof id === "string" ? readRef(id) : undefined
    return ref === undefined ? [] : [{ run: ref.run, request: ref.part, value }]
  }
  if (isQuestion && state === "output-available") return made(toolCallId, output)
  if (state !== "approval-responded" || typeof approval.approved !== "boolean") return []
  const { approved: approve, reason } = approval
  return made(approval.id, typeof reason === "string" ? { approve, reason } : { approve })
}

/** The chunks of one message. */
class UiParts {
  readonly id: string
  readonly #run: StoredRun
  #isInStep = false
  #needsStep = true
  #open: string | undefined

  constructor(run: StoredRun) {
    this.#run = run
    this.id = `msg_${run.runId}`
  }

  add(event: ChatEvent): readonly object[] {
    switch (event.type) {
      case "delta": {
        const id = `${event.item}.${event.edition}`
        const begins = this.#open === id ? [] : [...this.#step(), { type: `${event.kind}-start`, id }]
        this.#open = id
        return [...begins, { type: `${event.kind}-delta`, id, delta: event.text }]
      }
      case "done": {
        const id = `${event.item}.${event.edition}`
        if (this.#open !== id) return []
        this.#open = undefined
        return [{ type: `${event.kind}-end`, id }]
      }
      case "call":
        return [...this.#step(), callChunk(event.call)]
      case "result": {
        this.#needsStep = true
        const { outcome } = event
        const toolCallId = event.call.id
        if (outcome.ok)
          return [{ type: "tool-output-available", toolCallId, output: outcome.value, dynamic: true }]
        if (outcome.denied) return [{ type: "tool-output-denied", toolCallId }]
        return [{ type: "tool-output-error", toolCallId, errorText: outcome.error, dynamic: true }]
      }
      case "file":
        return [...this.#step(), { type: "file", mediaType: event.mediaType, url: fileUrl(event) }]
      case "source":
        return [
          ...this.#step(),
          { type: "source-url", sourceId: event.id, url: event.url, title: event.title },
        ]
      case "request": {
        const ref = refOf(this.#run.runId, event.request.id)
        const toolCallId = event.call?.id
        if (toolCallId !== undefined) return [{ type: "tool-approval-request", approvalId: ref, toolCallId }]
        const input = questionOf(event.request)
        return [
          ...this.#step(),
          { type: "tool-input-available", toolCallId: ref, toolName: QUESTION, input, dynamic: true },
        ]
      }
      case "answered": {
        this.#needsStep = true
        if (approvalOf(event.request) !== undefined) return []
        const toolCallId = refOf(this.#run.runId, event.request.id)
        if (event.value !== undefined) {
          return [{ type: "tool-output-available", toolCallId, output: event.value, dynamic: true }]
        }
        const errorText = "The question was closed without an answer."
        return [{ type: "tool-output-error", toolCallId, errorText, dynamic: true }]
      }
      case "end":
        return this.#end(event)
    }
  }

  /** A step for each model call: clients look at the tools of the last one. */
  #step(): object[] {
    if (!this.#needsStep) return []
    const before = this.#isInStep ? [{ type: "finish-step" }] : []
    this.#needsStep = false
    this.#isInStep = true
    return [...before, { type: "start-step" }]
  }

  #end({ status, usage, error, finish }: ChatEnd): object[] {
    const step = this.#isInStep ? [{ type: "finish-step" }] : []
    const messageMetadata = { run: this.#run.runId, usage }
    if (status === "failed")
      return [...step, { type: "error", errorText: error?.message ?? "The run failed." }]
    if (status === "cancelled")
      return [...step, { type: "abort", reason: error?.message ?? "The run was cancelled." }]
    const reason =
      status === "waiting"
        ? "tool-calls"
        : status === "limit" || finish === "length"
          ? "length"
          : finish === "content-filter"
            ? "content-filter"
            : "stop"
    return [...step, { type: "finish", finishReason: reason, messageMetadata }]
  }
}

function callChunk({ id, name, args, isProvider }: ChatCall) {
  const fixed = {
    toolCallId: id,
    toolName: name,
    dynamic: true,
    ...(isProvider && { providerExecuted: true }),
  }
  try {
    return { type: "tool-input-available", ...fixed, input: JSON.parse(args === "" ? "{}" : args) as Json }
  } catch {
    return { type: "tool-input-error", ...fixed, input: args, errorText: "The arguments are not JSON." }
  }
}

function fileUrl({ mediaType, data }: { readonly mediaType: string; readonly data: string }): string {
  return /^https?:/i.test(data) ? data : `data:${mediaType};base64,${data}`
}

function frame(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}
