/**
 * OpenAI's `/v1/responses`. A response is a turn of a run, and its id names both, so the server keeps nothing of its own.
 * Every response can be read, followed and cancelled later, whether it was created with `background` or not. Questions to
 * people end it: approvals are `mcp_approval_request` items, other questions are calls of the function `question`.
 */
import { randomUUID } from "node:crypto"
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { hasEnded, type StoredRun, SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { CHAT_LABEL, type Env, needs, ownLabels, ownName, principalOf } from "../access.ts"
import { visibleWorkflow } from "../runs.ts"
import { body, failure } from "../schemas.ts"
import type { Services } from "../services.ts"
import {
  type ChatMessage,
  type ChatTurn,
  chatEvents,
  chatResponse,
  latestRun,
  pastChat,
  readRef,
  startChat,
  visibleTurn,
} from "./chat.ts"
import { answerCalls, plainText } from "./openai-chat.ts"
import { type ErrorCode, runError } from "./openai-errors.ts"
import { positionOf, type ResponseOptions, ResponseStream, responseFrame } from "./response-stream.ts"

const MAX_ID = 2_000
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() })).max(1_000)])

const item = z.union([
  z.looseObject({
    type: z.literal("message").optional(),
    role: z.enum(["user", "system", "developer", "assistant"]),
    content,
  }),
  z.looseObject({
    type: z.literal("mcp_approval_response"),
    approval_request_id: z.string().max(MAX_ID),
    approve: z.boolean(),
    reason: z.string().max(10_000).nullish(),
  }),
  z.looseObject({
    type: z.literal("function_call_output"),
    call_id: z.string().max(MAX_ID),
    output: content,
  }),
  // Items of earlier responses, which clients send back: the run has them.
  z.looseObject({ type: z.enum(["reasoning", "function_call", "mcp_call", "mcp_approval_request"]) }),
])

const functionTool = z.looseObject({
  type: z.literal("function"),
  name: z.literal("question", "the tools of a workflow are its own"),
})

const createSchema = z
  .looseObject({
    model: z.string().max(200),
    input: z.union([z.string(), z.array(item).min(1).max(10_000)]),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    instructions: z.string().nullish(),
    previous_response_id: z.string().max(MAX_ID).nullish(),
    conversation: z
      .union([z.string().min(1).max(1_000), z.looseObject({ id: z.string().min(1).max(1_000) })])
      .nullish(),
    metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
    tools: z.array(functionTool).max(100).nullish(),
  })
  .refine(
    ({ conversation, previous_response_id: previous }) => !conversation || !previous,
    "name either previous_response_id or conversation",
  )
  .openapi("ResponseRequest")

const response = z.looseObject({ id: z.string(), object: z.string(), status: z.string() }).openapi("Response")
const responseParam = z.object({ response: z.string().max(MAX_ID) })

/** Prefix of conversations that only `previous_response_id` continues. */
const UNNAMED = "previous:"

export function addOpenAiResponseRoutes(app: OpenAPIHono<Env>, services: Services): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/responses",
      ...needs("operator", { starts: true }),
      summary: "OpenAI: create a response of a workflow",
      description: "See docs/protocols.md. Settings of models, such as `temperature`, are the workflow's.",
      request: {
        headers: z.object({ "idempotency-key": z.string().min(1).max(200).optional() }),
        body: { required: true, content: { "application/json": { schema: createSchema } } },
      },
      responses: {
        200: body(response, "The response; a stream of its events with `stream`."),
        404: failure("No such workflow, response or question."),
        409: failure("The conversation is busy, or the question is no longer open."),
        422: failure("The request or an answer is not valid."),
      },
    }),
    async (c) => {
      const asked = c.req.valid("json")
      const turn = await begin(c, services, asked, c.req.valid("header")["idempotency-key"])
      const options = { ...optionsOf(c, turn.run), background: asked.background === true }
      const previous = asked.previous_response_id
      const made = new ResponseStream(turn, previous ? { ...options, previous } : options)
      if (asked.stream === true) return follow(c, services, turn, made) as never
      if (asked.background !== true) {
        for await (const event of chatEvents(services, turn, c.req.raw.signal)) made.add(event)
      }
      return c.json(made.data as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/responses/{response}",
      ...needs("viewer"),
      summary: "OpenAI: show or follow a response",
      request: {
        params: responseParam,
        query: z.object({
          stream: z.enum(["true", "false"]).optional(),
          starting_after: z.coerce
            .number()
            .int()
            .min(0)
            .max(Number.MAX_SAFE_INTEGER)
            .optional()
            .openapi({ description: "The `sequence_number` of the last event you have." }),
        }),
      },
      responses: {
        200: body(response, "The response so far; a stream of its events with `stream=true`."),
        404: failure("No such response."),
      },
    }),
    async (c) => {
      const turn = await visibleResponse(c, services, c.req.valid("param").response)
      const { stream, starting_after: after } = c.req.valid("query")
      const made = new ResponseStream(turn, optionsOf(c, turn.run))
      if (stream === "true") return follow(c, services, turn, made, after) as never
      for (const event of await pastChat(services, turn)) made.add(event)
      return c.json(made.data as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/responses/{response}/cancel",
      ...needs("operator"),
      summary: "OpenAI: cancel a response",
      request: { params: responseParam },
      responses: { 200: body(response, "The response."), 404: failure("No such response.") },
    }),
    async (c) => {
      const turn = await visibleResponse(c, services, c.req.valid("param").response)
      if (!hasEnded(turn.run)) {
        await services.runtime.cancel(turn.run.runId, `cancelled by ${principalOf(c).id}`)
      }
      const made = new ResponseStream(turn, optionsOf(c, turn.run))
      for (const event of await pastChat(services, turn)) made.add(event)
      return c.json(made.data as never, 200)
    },
  )
}

function follow(
  c: Context<Env>,
  services: Services,
  turn: ChatTurn,
  made: ResponseStream,
  after?: number,
): Response {
  async function* frames(signal: AbortSignal) {
    const { edition } = positionOf(after ?? 0)
    for (const event of made.begin()) if (event.number > (after ?? -1)) yield responseFrame(event)
    for await (const event of chatEvents(services, turn, signal, { edition })) {
      for (const one of made.add(event, after)) yield responseFrame(one)
    }
  }
  const broken = (problem: ErrorCode) =>
    `event: error\ndata: ${JSON.stringify({ error: runError(problem) })}\n\n`
  return chatResponse(c, services, turn, { frames, broken })
}

type Create = z.infer<typeof createSchema>
type Item = Exclude<Create["input"], string>[number]

async function begin(
  c: Context<Env>,
  services: Services,
  asked: Create,
  key: string | undefined,
): Promise<ChatTurn> {
  const workflow = await visibleWorkflow(principalOf(c), services, asked.model)
  const previous = asked.previous_response_id
    ? (await visibleResponse(c, services, asked.previous_response_id)).run
    : undefined
  const items = typeof asked.input === "string" ? [] : asked.input
  const answers = items.flatMap(answerOf)
  if (answers.length > 0) {
    const turn = await answerCalls(c, services, answers)
    if (previous !== undefined && previous.runId !== turn.run.runId) throw otherRun()
    return turn
  }
  const messages: ChatMessage[] =
    typeof asked.input === "string" ? [{ role: "user", content: asked.input }] : items.flatMap(messageOf)
  if (!messages.some(({ role }) => role === "user")) {
    throw new SuperstepError("INPUT_INVALID", "The input has neither a message of the user nor an answer.")
  }
  const instructions: ChatMessage[] = asked.instructions
    ? [{ role: "user", content: asked.instructions }]
    : []
  const named = typeof asked.conversation === "string" ? asked.conversation : asked.conversation?.id
  const chat = named ?? (previous && (await chatAfter(c, services, previous))) ?? `${UNNAMED}${randomUUID()}`
  const labels = asked.metadata ?? undefined
  return await startChat(c, services, {
    workflow,
    messages: [...instructions, ...messages],
    chat,
    key,
    labels,
  })
}

/** The conversation of a response, if that is its last one: a thread has no branches. */
async function chatAfter(c: Context<Env>, services: Services, run: StoredRun): Promise<string | undefined> {
  const chat = ownName(principalOf(c), run.labels?.[CHAT_LABEL])
  if (chat === undefined) return undefined
  const latest = await latestRun(c, services, undefined, chat)
  if (latest === undefined || latest.runId === run.runId) return chat
  const text = "Another response has followed this one. Continue with that: a conversation has no branches."
  throw new SuperstepError("OPTION_INVALID", text)
}

function otherRun(): SuperstepError {
  return new SuperstepError(
    "OPTION_INVALID",
    "The answers belong to another response than previous_response_id.",
  )
}

function answerOf(one: Item): Parameters<typeof answerCalls>[2][number][] {
  if (one.type === "function_call_output" && "call_id" in one) {
    return [[String(one.call_id), plainText(one.output as string)]]
  }
  if (one.type !== "mcp_approval_response" || !("approve" in one)) return []
  const { approve, reason } = one
  return [[String(one.approval_request_id), () => (reason ? { approve, reason } : { approve })]]
}

function messageOf(one: Item): ChatMessage[] {
  if (!("role" in one)) return []
  const written = one.content as Extract<Item, { role: string }>["content"]
  return one.role === "assistant"
    ? [{ role: "assistant", content: plainText(written) }]
    : [{ role: "user", content: written }]
}

/** A response that does not exist, or is of another tenant: RUN_UNKNOWN. */
async function visibleResponse(c: Context<Env>, services: Services, id: string): Promise<ChatTurn> {
  const ref = readRef(/^resp_(.+)$/.exec(id)?.[1] ?? "")
  const now = await visibleTurn(c, services, ref?.run)
  const turn = /^\d{1,9}$/.test(ref?.part ?? "") ? Number(ref?.part) : Number.NaN
  if (now !== undefined && turn <= now.turn) return { run: now.run, turn }
  throw new SuperstepError("RUN_UNKNOWN", `There is no response "${id}".`)
}

function optionsOf(c: Context<Env>, run: StoredRun): ResponseOptions {
  const chat = ownName(principalOf(c), run.labels?.[CHAT_LABEL])
  const conversation = chat?.startsWith(UNNAMED) ? undefined : chat
  return { conversation, metadata: ownLabels(run.labels) }
}
