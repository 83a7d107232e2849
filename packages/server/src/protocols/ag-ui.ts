/**
 * AG-UI: a request is a run of that protocol, answered with its events. It is a turn of one of our runs: questions to people
 * end it with interrupts, and the `resume` entries of the next request answer them. A request that repeats the `runId` of an
 * earlier one follows that run again from its beginning, with the same ids.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { type OpenRequest, type StoredRun, SuperstepError, type Usage } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, isVisible, needs, principalOf, tenantName } from "../access.ts"
import { visibleWorkflow } from "../runs.ts"
import { failure } from "../schemas.ts"
import type { Services } from "../services.ts"
import {
  answerChat,
  type ChatMessage,
  type ChatTurn,
  chatEvents,
  chatResponse,
  readRef,
  refOf,
  startChat,
  visibleTurn,
} from "./chat.ts"
import { approvalOf, type ChatEnd, type ChatEvent, type ChatOutcome } from "./chat-fold.ts"

const VERSION = "1.0"
const id = z.string().min(1).max(1_000)
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string().max(100) })).max(1_000)])

const inputSchema = z
  .looseObject({
    threadId: id.openapi({ description: "The conversation." }),
    runId: id.openapi({ description: "A request with the same one follows the same run." }),
    messages: z
      .array(
        z.union([
          z.looseObject({ role: z.enum(["user", "system", "developer"]), content }),
          z.looseObject({ role: z.literal("assistant"), content: content.nullish() }),
          // What the workflow did: its run has that.
          z.looseObject({ role: z.enum(["tool", "activity", "reasoning"]) }),
        ]),
      )
      .max(10_000)
      .openapi({ minItems: 1, description: "May be empty beside `resume`." }),
    resume: z
      .array(
        z.looseObject({
          interruptId: z.string().max(2_000),
          status: z.enum(["resolved", "cancelled"]),
          payload: z.unknown().optional(),
        }),
      )
      .max(1_000)
      .nullish(),
  })
  .openapi("AgUiRun")

type Input = z.infer<typeof inputSchema>

export function addAgUiRoutes(app: OpenAPIHono<Env>, services: Services): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/workflows/{workflow}/ag-ui",
      ...needs("operator", { starts: true }),
      summary: "AG-UI: run a workflow as an agent",
      request: {
        params: z.object({ workflow: z.string() }),
        body: { required: true, content: { "application/json": { schema: inputSchema } } },
      },
      responses: {
        200: { description: "AG-UI events, as server-sent events." },
        404: failure("No such workflow, or no such interrupt."),
        409: failure("The thread is busy."),
        422: failure("The request or an answer is not valid."),
      },
    }),
    async (c) => {
      const input = c.req.valid("json")
      const turn = await begin(c, services, c.req.valid("param").workflow, input)
      const frames = async function* (signal: AbortSignal) {
        const events = new AgUiEvents(turn.run, input)
        yield frame(events.begin())
        for await (const event of chatEvents(services, turn, signal)) {
          for (const made of events.add(event)) yield frame(made)
        }
      }
      const broken = (problem: object) => frame({ type: "RUN_ERROR", ...problem })
      return chatResponse(c, services, turn, { frames, broken })
    },
  )
}

async function begin(c: Context<Env>, services: Services, name: string, input: Input): Promise<ChatTurn> {
  const workflow = await visibleWorkflow(principalOf(c), services, name)
  if (input.resume && input.resume.length > 0) return await resumed(c, services, input.resume)
  const key = `ag-ui:${input.runId}`
  const [known] = await services.runtime.runs({ key: tenantName(principalOf(c), key), limit: 1 })
  if (known !== undefined && isVisible(principalOf(c), known)) return { run: known, turn: 0 }
  const messages = input.messages.flatMap(chatMessage)
  if (messages.at(-1)?.role !== "user") {
    throw new SuperstepError(
      "INPUT_INVALID",
      "The last message is not the user's, and there are no resume entries.",
    )
  }
  return await startChat(c, services, { workflow, messages, chat: input.threadId, key })
}

/** Answers interrupts. If none is open any more, the run continues already: it is followed. */
async function resumed(
  c: Context<Env>,
  services: Services,
  entries: NonNullable<Input["resume"]>,
): Promise<ChatTurn> {
  const refs = entries.map(({ interruptId }) => readRef(interruptId))
  const now = await visibleTurn(c, services, refs[0]?.run)
  if (now === undefined || refs.some((ref) => ref?.run !== now.run.runId)) {
    throw new SuperstepError("REQUEST_UNKNOWN", "The resume entries are not the interrupts of one run.")
  }
  const { run } = now
  const answers = entries.flatMap(({ status, payload }, i) => {
    const request = now.requests.find((one) => one.id === refs[i]?.part)
    return request === undefined ? [] : [{ request: request.id, answer: answerOf(request, status, payload) }]
  })
  if (answers.length === 0) return now
  if (answers.some(({ answer }) => answer === undefined)) {
    await services.runtime.cancel(run.runId, `cancelled by ${principalOf(c).id}`)
    return { run, turn: now.rests ? now.turn + 1 : now.turn }
  }
  const values = answers.map(({ request, answer }) => ({ request, value: answer?.value }))
  return await answerChat(c, services, run, values)
}

/** Undefined: the client abandons a question, and so the run. An approval that it abandons is refused. */
function answerOf(
  request: OpenRequest,
  status: "resolved" | "cancelled",
  payload: unknown,
): { readonly value: unknown } | undefined {
  if (status === "resolved") return { value: payload ?? null }
  return approvalOf(request) === undefined ? undefined : { value: { approve: false } }
}

function chatMessage({ role, content: written }: Input["messages"][number]): ChatMessage[] {
  if (written === undefined || written === null) return []
  const parts = written as string | readonly Part[]
  if (role === "assistant") {
    const text = typeof parts === "string" ? parts : parts.map((part) => part.text ?? "").join("")
    return text === "" ? [] : [{ role, content: text }]
  }
  if (role !== "user" && role !== "system" && role !== "developer") return []
  return [{ role: "user", content: typeof parts === "string" ? parts : parts.map(filePart) }]
}

interface Part {
  readonly type: string
  readonly text?: string
  readonly [field: string]: unknown
}

/** The part as agents read it. `binary` is the form before version 1.0. */
function filePart(part: Part): unknown {
  const { type, metadata } = part
  const { value, mimeType } = Object(part.source) as { value?: unknown; mimeType?: unknown }
  const { filename } = Object(metadata) as { filename?: unknown }
  switch (type) {
    case "image":
      return { type: "image", image: value, mediaType: mimeType }
    case "audio":
    case "video":
    case "document":
      return { type: "file", data: value, mediaType: mimeType, filename }
    case "binary":
      return { type: "file", data: part.data ?? part.url, mediaType: part.mimeType, filename: part.filename }
    default:
      return part
  }
}

interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

class AgUiEvents {
  readonly #run: StoredRun
  readonly #ids: { readonly threadId: string; readonly runId: string }
  #open: string | undefined

  constructor(run: StoredRun, { threadId, runId }: Input) {
    this.#run = run
    this.#ids = { threadId, runId }
  }

  begin(): AgUiEvent {
    const metadata = { superstep: { run: this.#run.runId } }
    return { type: "RUN_STARTED", ...this.#ids, protocolVersion: VERSION, metadata }
  }

  add(event: ChatEvent): readonly AgUiEvent[] {
    const messageId = `${refOf(this.#run.runId, event.item)}${event.edition === 0 ? "" : `.${event.edition}`}`
    switch (event.type) {
      case "delta": {
        const begins = this.#open === messageId ? [] : STARTS[event.kind](messageId)
        this.#open = messageId
        const type = event.kind === "text" ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT"
        return [...begins, { type, messageId, delta: event.text }]
      }
      case "done":
        if (this.#open !== messageId) return []
        this.#open = undefined
        return ENDS[event.kind](messageId)
      case "call": {
        const { id: toolCallId, name: toolCallName, args } = event.call
        return [
          { type: "TOOL_CALL_START", toolCallId, toolCallName },
          { type: "TOOL_CALL_ARGS", toolCallId, delta: args === "" ? "{}" : args },
          { type: "TOOL_CALL_END", toolCallId },
        ]
      }
      case "result": {
        const text = resultText(event.outcome)
        return [
          { type: "TOOL_CALL_RESULT", messageId, toolCallId: event.call.id, content: text, role: "tool" },
        ]
      }
      case "end":
        return [this.#end(event)]
      default:
        return []
    }
  }

  #end({ status, requests, usage, error }: ChatEnd): AgUiEvent {
    const used = [usageData(usage)]
    if (status === "failed" || status === "limit") {
      return {
        type: "RUN_ERROR",
        code: error?.code,
        message: error?.message ?? "The run failed.",
        usage: used,
      }
    }
    const outcome =
      status === "waiting"
        ? { type: "interrupt", interrupts: requests.map((request) => interruptOf(this.#run.runId, request)) }
        : { type: status === "cancelled" ? "cancelled" : "success" }
    return { type: "RUN_FINISHED", ...this.#ids, outcome, usage: used }
  }
}

const STARTS = {
  text: (messageId: string) => [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" }],
  reasoning: (messageId: string) => [
    { type: "REASONING_START", messageId },
    { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
  ],
} as const

const ENDS = {
  text: (messageId: string) => [{ type: "TEXT_MESSAGE_END", messageId }],
  reasoning: (messageId: string) => [
    { type: "REASONING_MESSAGE_END", messageId },
    { type: "REASONING_END", messageId },
  ],
} as const

function interruptOf(run: string, request: OpenRequest) {
  const { prompt, data, to, schema, deadline } = request
  const call = approvalOf(request)
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema)
  return {
    id: refOf(run, request.id),
    reason: call === undefined ? "input_required" : "tool_call",
    message: prompt,
    ...(call !== undefined && { toolCallId: call.id }),
    ...(isObject && { responseSchema: schema }),
    ...(deadline !== undefined && { expiresAt: new Date(deadline).toISOString() }),
    metadata: { ...(data !== undefined && { data }), ...(to !== undefined && { to }) },
  }
}

function resultText(outcome: ChatOutcome): string {
  if (!outcome.ok) return outcome.error
  return typeof outcome.value === "string" ? outcome.value : JSON.stringify(outcome.value)
}

function usageData(usage: Usage) {
  const { inputTokens = 0, outputTokens = 0, reasoningTokens = 0, cachedInputTokens = 0 } = usage
  const totalTokens = inputTokens + outputTokens
  return { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens }
}

function frame(event: AgUiEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
