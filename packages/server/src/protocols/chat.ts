/**
 * What the protocols of chat clients share. A workflow is a model; a run is one answer of it. The run waits for a person in
 * the middle of an answer: then the client's turn ends with questions, and the answers begin the next turn of the same run.
 * The conversation is in a thread, if the workflow keeps one (`conversation()`); else the client sends all of it each time.
 */
import {
  type Json,
  type OpenRequest,
  pastEvents,
  type RequestId,
  type StoredRun,
  SuperstepError,
} from "@superstep/engine"
import type { Context } from "hono"
import {
  CHAT_LABEL,
  type Env,
  isVisible,
  principalOf,
  queryLabels,
  tenantName,
  visibleRun,
} from "../access.ts"
import type { StartedWorkflow } from "../catalog.ts"
import { EVENT_STREAM, streamResponse, withHeartbeats } from "../events.ts"
import { problemIn } from "../problem.ts"
import { startRun } from "../runs.ts"
import type { Services } from "../services.ts"
import { approvalOf, type ChatEvent, ChatFold, speakersOf } from "./chat-fold.ts"

/**
 * A message of the client. The parts of a user's message are those that agents accept: see docs/agents.md. Instructions are
 * the workflow's: what a client sends as a system message is a message of the user.
 */
export interface ChatMessage {
  readonly role: "user" | "assistant"
  readonly content: string | readonly unknown[]
}

/** A turn of a run, as `chatEvents` reads it. */
export interface ChatTurn {
  readonly run: StoredRun
  readonly turn: number
}

export interface StartChat {
  readonly workflow: StartedWorkflow
  readonly messages: readonly ChatMessage[]
  /** The id of the conversation, as the client knows it. */
  readonly chat?: string | undefined
  /** A second start with the same one joins the first. */
  readonly key?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** Starts a run that answers the messages. Resolves when it is stored. */
export async function startChat(c: Context<Env>, services: Services, start: StartChat): Promise<ChatTurn> {
  const { workflow, chat, key, labels } = start
  const thread = remembers(workflow) ? chat : undefined
  const input = await chatInput(workflow, start.messages, thread !== undefined)
  const run = startRun(principalOf(c), services, workflow, { input, thread, key, labels, chat })
  // Clients read failures in the events.
  run.result.catch(() => undefined)
  return { run: await visibleRun(c, services, await run.stored()), turn: 0 }
}

/** Whether the workflow keeps a conversation from run to run. */
function remembers({ program }: StartedWorkflow): boolean {
  return [...program.graph.channels.values()].some(({ lasting }) => lasting === true)
}

/**
 * The input of the run: the conversation, for a workflow that begins with an agent; else the last text of the user, or the
 * JSON in it if the workflow accepts only that.
 */
async function chatInput(
  { program }: StartedWorkflow,
  messages: readonly ChatMessage[],
  hasThread: boolean,
): Promise<unknown> {
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant")
  const news = hasThread ? messages.slice(lastAnswer + 1) : messages
  const text = textOf(news.findLast(({ role }) => role === "user")?.content ?? "")
  const handlers = program.nodes[program.graph.start]?.handlers ?? []
  const accepts = async (value: unknown) => {
    for (const { schema } of handlers) {
      if (schema === undefined) return true
      const { issues } = await schema["~standard"].validate(value)
      if (issues === undefined) return true
    }
    return false
  }
  // Only agents check what they are started with before the run: files that their models do not support.
  const isAgent = handlers.some(({ check }) => check !== undefined)
  const isPlain = news.length === 1 && news.every(({ content }) => textOf(content) !== undefined)
  if (isAgent && !(isPlain && text !== undefined)) {
    const conversation = { messages: news }
    if (await accepts(conversation)) return conversation
  }
  if (text === undefined) {
    throw new SuperstepError("INPUT_INVALID", `The workflow "${program.graph.name}" accepts text only.`)
  }
  if (await accepts(text)) return text
  const data = parsed(text)
  return data !== undefined && (await accepts(data)) ? data : text
}

/** The text of a message without files. */
function textOf(content: ChatMessage["content"]): string | undefined {
  if (typeof content === "string") return content
  const texts = content.map((part) => {
    const { type, text } = Object(part) as { type?: unknown; text?: unknown }
    return (type === "text" || type === "input_text") && typeof text === "string" ? text : undefined
  })
  return texts.includes(undefined) ? undefined : texts.join("\n")
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

// Following a turn

export interface FollowOptions {
  /** Earlier turns from this one on, too. Default: the turn alone. */
  readonly from?: number | undefined
  /** See `ChatFold`. */
  readonly edition?: number | undefined
}

/** What happens in the turn, up to its `end`, or until the client leaves. Throws if the server stops before. */
export async function* chatEvents(
  services: Services,
  { run, turn }: ChatTurn,
  client: AbortSignal,
  { from = turn, edition }: FollowOptions = {},
): AsyncGenerator<ChatEvent, void> {
  const signal = AbortSignal.any([client, services.drain])
  const fold = new ChatFold(await speakersIn(services, run), edition)
  for await (const event of services.feeds.watch(run.runId, 0, signal)) {
    for (const written of fold.add(event)) {
      const isEarlier = written.turn < from || (written.type === "end" && written.turn < turn)
      if (!isEarlier) yield written
      if (written.type === "end" && written.turn >= turn) return
    }
  }
  if (client.aborted) return
  const text = `The server stops. Run "${run.runId}" continues: connect again.`
  throw new SuperstepError("RUNTIME_CLOSED", text, { run: run.runId })
}

/** What has happened in the turn so far. */
export async function pastChat(services: Services, { run, turn }: ChatTurn): Promise<readonly ChatEvent[]> {
  const fold = new ChatFold(await speakersIn(services, run))
  const events = await pastEvents(services.runtime.store, run.runId)
  return events.flatMap((event) => fold.add(event)).filter((written) => written.turn === turn)
}

export interface TurnNow extends ChatTurn {
  /** The turn has ended: the run waits for answers, or is over. */
  readonly rests: boolean
  /** The questions that are open. */
  readonly requests: readonly OpenRequest[]
}

/** The turn that the run is in now. */
export async function turnNow(services: Services, run: StoredRun): Promise<TurnNow> {
  const fold = new ChatFold(await speakersIn(services, run))
  for (const event of await pastEvents(services.runtime.store, run.runId)) fold.add(event)
  return { run, turn: fold.turn, rests: fold.rests, requests: fold.requests }
}

/** The same, if the run exists and the principal may see it. */
export async function visibleTurn(
  c: Context<Env>,
  services: Services,
  runId: string | undefined,
): Promise<TurnNow | undefined> {
  const run = runId === undefined ? undefined : await services.runtime.store.run(runId)
  return run !== undefined && isVisible(principalOf(c), run) ? await turnNow(services, run) : undefined
}

/** The newest run of the chat that the principal may see. */
export async function latestRun(
  c: Context<Env>,
  { runtime }: Services,
  workflow: string | undefined,
  chat: string,
): Promise<StoredRun | undefined> {
  const principal = principalOf(c)
  const labels = { ...queryLabels(principal, undefined), [CHAT_LABEL]: tenantName(principal, chat) }
  const [run] = await runtime.runs({ workflow, labels, limit: 1 })
  return run !== undefined && isVisible(principal, run) ? run : undefined
}

async function speakersIn({ catalog }: Services, run: StoredRun): Promise<ReadonlyMap<string, boolean>> {
  const found = await catalog.of(run)
  return found === undefined ? new Map() : speakersOf(found)
}

// Questions

/** One string for a run and what belongs to it: a question, a turn, an item. It needs no escaping in an address. */
export function refOf(run: string, part: string | number): string {
  return [run, part].map((one) => encodeURIComponent(one).replaceAll("~", "%7E")).join("~")
}

export function readRef(ref: string): { readonly run: string; readonly part: string } | undefined {
  const [, run = "", part = ""] = /^([^~]+)~([^~]+)$/.exec(ref) ?? []
  try {
    return run === "" ? undefined : { run: decodeURIComponent(run), part: decodeURIComponent(part) }
  } catch {
    return undefined
  }
}

/** Answers questions of one run; the next turn begins. */
export async function answerChat(
  c: Context<Env>,
  services: Services,
  run: StoredRun,
  answers: readonly { readonly request: string; readonly value: unknown }[],
): Promise<ChatTurn> {
  const { turn, rests } = await turnNow(services, run)
  for (const { request, value } of answers) {
    await services.runtime.respond(run.runId, request as RequestId, value, { by: principalOf(c).id })
  }
  return { run, turn: rests ? turn + 1 : turn }
}

/** What a person sees of a question. */
export function questionOf({
  prompt,
  to,
  data,
  schema,
  deadline,
}: OpenRequest): Readonly<Record<string, Json>> {
  const shown = { prompt, to, data, schema, deadline }
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) as Record<
    string,
    Json
  >
}

/** The answer that the text of a person means, by the schema of the question. */
export function answerIn(request: OpenRequest, text: string): Json {
  const data = parsed(text)
  if (approvalOf(request) !== undefined && typeof data === "boolean") return { approve: data }
  const { type, enum: choices } = Object(request.schema) as { type?: unknown; enum?: unknown }
  const isText = type === "string" || (Array.isArray(choices) && choices.includes(text))
  return isText || data === undefined ? text : data
}

// Responses

export interface ChatFrames {
  frames(signal: AbortSignal): AsyncGenerator<string, void>
  /** The last frame, if the server stops or fails before the turn has ended: the client connects again. */
  broken(problem: { readonly code: string; readonly message: string }): string
}

/** Server-sent events for a chat client, with comments as heartbeats. */
export function chatResponse(
  c: Context<Env>,
  { heartbeat, report }: Services,
  { run }: ChatTurn,
  { frames, broken }: ChatFrames,
  headers: Readonly<Record<string, string>> = {},
): Response {
  async function* beating(signal: AbortSignal) {
    try {
      for await (const frame of withHeartbeats(frames(signal), heartbeat)) yield frame ?? ": \n\n"
    } catch (error) {
      const { code, detail } = problemIn(error, report)
      yield broken({ code, message: detail })
    }
  }
  return streamResponse(c.req.raw.signal, beating, EVENT_STREAM, { ...headers, location: locationOf(run) })
}

/** The run itself, for everything that the protocol cannot say. */
export function locationOf({ runId }: StoredRun): string {
  return `/v1/runs/${encodeURIComponent(runId)}`
}
