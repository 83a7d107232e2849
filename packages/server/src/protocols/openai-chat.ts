/**
 * OpenAI's `/v1/models` and `/v1/chat/completions`. The model is a workflow. Its tools are its own: a client sees their
 * results in the answer. What the client has to answer, questions to people, are calls of the functions `question` and
 * `approval`; a tool message with the id of the call is the answer, and the run continues.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { type OpenRequest, SuperstepError, type Usage } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, maySee, needs, principalOf } from "../access.ts"
import { visibleWorkflow } from "../runs.ts"
import { body, failure } from "../schemas.ts"
import type { Services } from "../services.ts"
import {
  answerChat,
  answerIn,
  type ChatMessage,
  type ChatTurn,
  chatEvents,
  chatResponse,
  locationOf,
  questionOf,
  readRef,
  refOf,
  startChat,
  visibleTurn,
} from "./chat.ts"
import { approvalOf, type ChatEnd } from "./chat-fold.ts"
import { type ErrorCode, type OpenAiError, runError } from "./openai-errors.ts"

/** The functions by which a client is asked. */
const FUNCTIONS = ["question", "approval"] as const

const part = z.looseObject({ type: z.string() })
const content = z.union([z.string(), z.array(part).max(1_000)])
const message = z.union([
  z.looseObject({ role: z.enum(["user", "system", "developer"]), content }),
  z.looseObject({ role: z.literal("assistant"), content: content.nullish() }),
  z.looseObject({ role: z.literal("tool"), tool_call_id: z.string().max(2_000), content }),
])

const functionTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({ name: z.enum(FUNCTIONS, "the tools of a workflow are its own") }),
})

const completionSchema = z
  .looseObject({
    model: z.string().max(200),
    messages: z.array(message).min(1).max(10_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    n: z.literal(1, "a workflow has one answer").nullish(),
    tools: z.array(functionTool).max(100).nullish(),
    response_format: z
      .looseObject({ type: z.literal("text", "the workflow decides on the format of its answer") })
      .nullish(),
  })
  .openapi("ChatCompletionRequest")

const modelSchema = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    created: z.number().int(),
    owned_by: z.string(),
  })
  .openapi("Model")

const completion = z.looseObject({
  id: z.string(),
  object: z.string(),
  created: z.number().int(),
  model: z.string(),
})

export function addOpenAiChatRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { catalog } = services
  // Workflows have no date: they are what this process has loaded.
  const created = seconds(Date.now())
  const modelData = ({ name }: { readonly name: string }) =>
    ({ id: name, object: "model", created, owned_by: "superstep" }) as const

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/models",
      ...needs("viewer"),
      summary: "OpenAI: list the workflows as models",
      responses: {
        200: body(z.object({ object: z.literal("list"), data: z.array(modelSchema) }), "All of them."),
      },
    }),
    async (c) => {
      const visible = (await catalog.list()).filter(({ name }) => maySee(principalOf(c), name))
      return c.json({ object: "list" as const, data: visible.map(modelData) }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/models/{model}",
      ...needs("viewer"),
      summary: "OpenAI: show a workflow as a model",
      request: { params: z.object({ model: z.string() }) },
      responses: { 200: body(modelSchema, "The workflow."), 404: failure("No such workflow.") },
    }),
    async (c) =>
      c.json(modelData(await visibleWorkflow(principalOf(c), services, c.req.valid("param").model)), 200),
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/chat/completions",
      ...needs("operator", { starts: true }),
      summary: "OpenAI: let a workflow answer a conversation",
      description: "See docs/protocols.md. Settings of models, such as `temperature`, are the workflow's.",
      request: {
        headers: z.object({ "idempotency-key": z.string().min(1).max(200).optional() }),
        body: { required: true, content: { "application/json": { schema: completionSchema } } },
      },
      responses: {
        200: body(completion, "The answer; a stream of chunks with `stream`."),
        404: failure("No such workflow, or no such question."),
        409: failure("The question is no longer open."),
        422: failure("The request or an answer is not valid."),
        500: failure("The run failed."),
      },
    }),
    async (c) => {
      const asked = c.req.valid("json")
      const turn = await begin(c, services, asked, c.req.valid("header")["idempotency-key"])
      if (asked.stream === true) {
        const withUsage = asked.stream_options?.include_usage === true
        const frames = (signal: AbortSignal) => chunks(services, turn, signal, withUsage)
        const broken = (problem: ErrorCode) => frame({ error: runError(problem) })
        return chatResponse(c, services, turn, { frames, broken }) as never
      }
      return (await completed(services, turn, c.req.raw.signal)) as never
    },
  )
}

type Completion = z.infer<typeof completionSchema>

/** Starts a run, or continues the one whose questions the client answers. */
async function begin(
  c: Context<Env>,
  services: Services,
  { model, messages }: Completion,
  key: string | undefined,
): Promise<ChatTurn> {
  const workflow = await visibleWorkflow(principalOf(c), services, model)
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant")
  const answers = messages.slice(lastAnswer + 1).filter((one) => one.role === "tool")
  if (answers.length > 0) {
    const texts = answers.map(
      ({ tool_call_id, content: written }) => [tool_call_id, plainText(written)] as const,
    )
    return await answerCalls(c, services, texts)
  }
  return await startChat(c, services, { workflow, messages: messages.flatMap(chatMessage), key })
}

/** Answers by the ids of the calls that asked. */
export async function answerCalls(
  c: Context<Env>,
  services: Services,
  answers: readonly (readonly [id: string, text: string | ((request: OpenRequest) => unknown)])[],
): Promise<ChatTurn> {
  const refs = answers.map(([id]) => readRef(id.replace(/^(?:call|mcpr)_/, "")))
  const now = await visibleTurn(c, services, refs[0]?.run)
  if (now === undefined) {
    throw new SuperstepError("REQUEST_UNKNOWN", `There is no call "${answers[0]?.[0]}" to answer.`)
  }
  const { run, requests } = now
  const values = refs.map((ref, i) => {
    const [id, answer] = answers[i] as (typeof answers)[number]
    if (ref?.run !== run.runId) {
      throw new SuperstepError("REQUEST_UNKNOWN", `Run "${run.runId}" has no call "${id}".`)
    }
    const request = requests.find((one) => one.id === ref.part)
    // Without an open one, the runtime knows why: it was answered, has expired, or never existed.
    if (request === undefined) return { request: ref.part, value: typeof answer === "string" ? answer : null }
    return {
      request: ref.part,
      value: typeof answer === "string" ? answerIn(request, answer) : answer(request),
    }
  })
  return await answerChat(c, services, run, values)
}

function chatMessage(message: Completion["messages"][number]): ChatMessage[] {
  if (message.role === "tool") return []
  if (message.role !== "assistant") return [{ role: "user", content: message.content }]
  const written = plainText(message.content ?? "")
  return written === "" ? [] : [{ role: "assistant", content: written }]
}

/** The text of a message; other parts are left out. */
export function plainText(content: string | readonly unknown[]): string {
  if (typeof content === "string") return content
  const texts = content.map((one) => (Object(one) as { text?: unknown }).text)
  return texts.filter((text) => typeof text === "string").join("\n")
}

/** The call by which a client is asked. */
export function askingCall(run: string, request: OpenRequest) {
  const call = approvalOf(request)
  const shown = call === undefined ? questionOf(request) : approvalArgs(request.prompt, call)
  return {
    id: `call_${refOf(run, request.id)}`,
    name: call === undefined ? FUNCTIONS[0] : FUNCTIONS[1],
    arguments: JSON.stringify(shown),
  }
}

function approvalArgs(prompt: string, { name, args }: { readonly name: string; readonly args: string }) {
  return { prompt, tool: name, arguments: JSON.parse(args) as unknown }
}

function toolCalls(run: string, requests: readonly OpenRequest[]) {
  return requests.map((request) => {
    const { id, name, arguments: args } = askingCall(run, request)
    return { id, type: "function" as const, function: { name, arguments: args } }
  })
}

function head({ run, turn }: ChatTurn, object: string) {
  const id = `chatcmpl-${refOf(run.runId, turn)}`
  return { id, object, created: seconds(run.createdAt), model: run.workflow }
}

export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1_000)
}

function finishReason({ status, finish }: ChatEnd): "stop" | "length" | "tool_calls" | "content_filter" {
  if (status === "waiting") return "tool_calls"
  if (status === "limit" || finish === "length") return "length"
  return finish === "content-filter" ? "content_filter" : "stop"
}

function usageData(usage: Usage) {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

/** What the run failed with; undefined if it has an answer. */
export function failureOf({ status, error }: ChatEnd): OpenAiError | undefined {
  const hasFailed = status === "failed" || status === "cancelled"
  return hasFailed && error !== undefined ? runError(error) : undefined
}

async function completed(services: Services, turn: ChatTurn, signal: AbortSignal): Promise<Response> {
  const texts: string[] = []
  const headers = { location: locationOf(turn.run) }
  for await (const event of chatEvents(services, turn, signal)) {
    if (event.type === "done" && event.kind === "text" && !event.isVoid) texts.push(event.text)
    if (event.type !== "end") continue
    const error = failureOf(event)
    // A client that repeats the request would start another run.
    if (error !== undefined) {
      return Response.json({ error }, { status: 500, headers: { ...headers, "x-should-retry": "false" } })
    }
    const written = texts.join("\n\n")
    const calls = toolCalls(turn.run.runId, event.requests)
    const message = {
      role: "assistant",
      content: written === "" && calls.length > 0 ? null : written,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls }),
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(event) }
    const answer = { ...head(turn, "chat.completion"), choices: [choice], usage: usageData(event.usage) }
    return Response.json(answer, { headers })
  }
  throw new SuperstepError("RUNTIME_CLOSED", "The run was not followed to its end.")
}

async function* chunks(
  services: Services,
  turn: ChatTurn,
  signal: AbortSignal,
  withUsage: boolean,
): AsyncGenerator<string, void> {
  const fixed = head(turn, "chat.completion.chunk")
  const chunk = (delta: object, finish: string | null = null) =>
    frame({
      ...fixed,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(withUsage && { usage: null }),
    })
  let item: number | undefined
  yield chunk({ role: "assistant", content: "" })
  for await (const event of chatEvents(services, turn, signal)) {
    if (event.type === "delta" && event.kind === "text") {
      const isNext = event.offset === 0 && item !== undefined
      item = event.item
      yield chunk({ content: isNext ? `\n\n${event.text}` : event.text })
    }
    if (event.type !== "end") continue
    const error = failureOf(event)
    if (error !== undefined) {
      yield frame({ error })
      return
    }
    const calls = toolCalls(turn.run.runId, event.requests).map((call, index) => ({ index, ...call }))
    if (calls.length > 0) yield chunk({ tool_calls: calls })
    yield chunk({}, finishReason(event))
    if (withUsage) yield frame({ ...fixed, choices: [], usage: usageData(event.usage) })
    yield "data: [DONE]\n\n"
  }
}

function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
