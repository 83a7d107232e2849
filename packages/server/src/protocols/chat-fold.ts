/**
 * A run as a chat client sees it: folds the events of a run into text, reasoning, tool calls with their results, and
 * questions. Only agents that answer the user speak: no other agent follows them in the graph. What the other agents write
 * is part of the work, and the outputs of the run are the answer.
 *
 * Invariants:
 * F1 items and their order follow from journaled events alone. Live text only comes earlier: a client that joins again at an
 *    item and an offset misses nothing and repeats nothing.
 * F2 text of tasks that run at the same time never mixes: one of them speaks, and what the others say is kept until then.
 * F3 text that a retry replaced is closed as void, and its item begins again in the next `edition`.
 */
import { isDeepStrictEqual } from "node:util"
import type { ErrorData, Json, OpenRequest, RunEvent, Usage } from "@superstep/engine"
import type { ModelReply, ReplyPart } from "@superstep/engine/models"
import { isLive, openRequests, RunFold } from "@superstep/engine/protocol"
import type { StartedWorkflow } from "../catalog.ts"
import { CallText, type TextDelta, type TextKind, type TextSink } from "./call-text.ts"

export interface ChatCall {
  readonly id: string
  readonly name: string
  /** JSON, as the model wrote it. */
  readonly args: string
  /** The provider of the model executes it. */
  readonly isProvider?: boolean
}

export type ChatOutcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: string; readonly denied?: boolean }

/** How a turn ended. `waiting`: `requests` have to be answered first. */
export interface ChatEnd {
  readonly status: "completed" | "failed" | "cancelled" | "limit" | "waiting"
  readonly requests: readonly OpenRequest[]
  /** Of this turn. */
  readonly usage: Usage
  readonly error: ErrorData | undefined
  /** Why the last model call ended, such as `length`. */
  readonly finish: ModelReply["finish"] | undefined
}

type Content =
  /** A piece of text; `offset` is the length of what came before it in the same item. */
  | {
      readonly type: "delta"
      readonly kind: TextKind
      readonly text: string
      readonly offset: number
      /** An output of the run that is not text; `text` is its JSON. */
      readonly data?: Json
    }
  /** The whole text of the item. Void: a retry replaced it. */
  | { readonly type: "done"; readonly kind: TextKind; readonly text: string; readonly isVoid: boolean }
  | { readonly type: "call"; readonly call: ChatCall }
  | { readonly type: "result"; readonly call: ChatCall; readonly outcome: ChatOutcome }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string }
  | {
      readonly type: "source"
      readonly id: string
      readonly url: string
      readonly title?: string | undefined
    }
  /** A person is asked; `call` is the tool call to approve, if it is about one. */
  | { readonly type: "request"; readonly request: OpenRequest; readonly call: ChatCall | undefined }
  | { readonly type: "answered"; readonly request: OpenRequest; readonly value: Json | undefined }
  | ({ readonly type: "end" } & ChatEnd)

export type ChatEvent = Content & {
  /** 1, 2, 3, … over the run, the same on every read. */
  readonly item: number
  readonly edition: number
  /** 0 until the run first waits for a person, then one more for each time it continues. */
  readonly turn: number
}

interface Speaker {
  /** What of its words the client sees. */
  readonly kinds: ReadonlySet<TextKind>
  isAtWork: boolean
  /** Live events are missing since its last model call. */
  hasGap: boolean
  /** What waits until the task speaks. */
  held: (() => void)[]
  /** The model call in progress. */
  call: { readonly key: string; readonly text: CallText } | undefined
  /** Tool calls without a result, by the key of the step that records it. */
  readonly open: Map<string, { readonly call: ChatCall; candidate: Json }>
}

const ALL_KINDS: ReadonlySet<TextKind> = new Set(["text", "reasoning"])
const REASONING: ReadonlySet<TextKind> = new Set(["reasoning"])

/** After these, a run that waited for a person does something again. */
const CONTINUES: ReadonlySet<string> = new Set<RunEvent["type"]>([
  "run.resumed",
  "task.resumed",
  "task.started",
  "request.answered",
  "request.closed",
])

/** The agents that answer the user, by node; the value says whether their text is the answer. */
export function speakersOf({ program }: StartedWorkflow): ReadonlyMap<string, boolean> {
  const { nodes } = program.graph
  const works = new Set(nodes.filter(({ spec }) => spec.kind === "agent" || spec.kind === "workflow"))
  const others = (node: (typeof nodes)[number]) => {
    const seen = new Set<unknown>()
    const next = [...node.targets]
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      if (seen.has(at)) continue
      seen.add(at)
      next.push(...at.targets)
    }
    seen.delete(node)
    return [...seen].some((one) => works.has(one as typeof node))
  }
  const last = nodes.filter((node) => node.spec.kind === "agent" && !others(node))
  // Data is checked and completed before it becomes the answer, so its text is not the answer yet.
  return new Map(last.map(({ id, spec }) => [id, spec.output === undefined]))
}

export class ChatFold {
  readonly #speakers: ReadonlyMap<string, boolean>
  readonly #fold = new RunFold()
  readonly #tasks = new Map<number, Speaker>()
  readonly #calls = new Map<string, ChatCall>()
  /** All text so far: an output that is the same is not repeated. */
  readonly #texts: string[] = []
  #out: ChatEvent[] = []
  #item = 0
  #edition: number
  #turn = 0
  /** Whether a turn has ended and none has begun. */
  #rests = false
  #finish: ModelReply["finish"] | undefined
  #usageBefore: Usage = {}

  /** `edition` is the one that a client has already, if it joins again. */
  constructor(speakers: ReadonlyMap<string, boolean>, edition = 0) {
    this.#speakers = speakers
    this.#edition = edition
  }

  /** The number of the current turn, or of the one that has ended last. */
  get turn(): number {
    return this.#rests ? this.#turn - 1 : this.#turn
  }

  /** Whether the turn has ended: nothing happens before a person answers, or ever again. */
  get rests(): boolean {
    return this.#rests
  }

  get requests(): readonly OpenRequest[] {
    return openRequests(this.#fold.view)
  }

  add(event: RunEvent): readonly ChatEvent[] {
    this.#out = []
    if (!isLive(event)) this.#fold.add(event)
    if (CONTINUES.has(event.type)) this.#rests = false
    this.#take(event)
    this.#drain()
    if (event.type === "run.waiting" && !this.#rests) this.#wait()
    if (event.type === "run.finished" && event.path.length === 0) this.#end(event)
    return this.#out
  }

  #take(event: RunEvent): void {
    if (event.type.startsWith("request.")) return this.#request(event)
    if (event.type === "live.gap") return this.#gap()
    if (event.path.length > 0 || !("task" in event)) return
    if (event.type === "task.started" && this.#speakers.has(event.node)) this.#speaker(event.task, event.node)
    const speaker = this.#tasks.get(event.task)
    if (speaker === undefined) return event.type === "output" ? this.#output(event.value) : undefined
    switch (event.type) {
      case "model.delta": {
        const { call, kind, text, offset } = event
        if (kind === "tool" || !isOwnCall(call) || !speaker.kinds.has(kind)) return
        speaker.held.push(() => this.#callOf(speaker, call).take({ kind, text, offset }))
        return
      }
      case "output":
        speaker.held.push(() => this.#output(event.value))
        return
      case "step.recorded":
        speaker.held.push(() => this.#recorded(speaker, event.key, event.value))
        return
      case "task.started":
      case "task.resumed":
        speaker.isAtWork = true
        return
      case "task.parked":
        speaker.isAtWork = false
        return
      case "task.finished":
      case "task.failed":
      case "task.cancelled":
        speaker.isAtWork = false
        speaker.held.push(() => {
          this.#dropCall(speaker)
          this.#closeCalls(speaker)
        })
    }
  }

  #speaker(id: number, node: string): void {
    if (this.#tasks.has(id)) return
    const kinds = this.#speakers.get(node) === true ? ALL_KINDS : REASONING
    const fresh = { isAtWork: true, hasGap: false, held: [], call: undefined, open: new Map() }
    this.#tasks.set(id, { kinds, ...fresh })
  }

  #gap(): void {
    for (const speaker of this.#tasks.values()) {
      speaker.held.push(() => {
        speaker.hasGap = true
        if (speaker.call !== undefined) speaker.call.text.isLost = true
      })
    }
  }

  /** F2: the oldest task at work speaks; those before it have nothing to say for now. */
  #drain(isLast = false): void {
    for (const speaker of this.#tasks.values()) {
      for (const say of speaker.held.splice(0)) say()
      if (speaker.isAtWork && !isLast) return
    }
  }

  #emit(content: Content, item = ++this.#item, edition = this.#edition): void {
    this.#out.push({ ...content, item, edition, turn: this.#turn })
  }

  // Text

  readonly #sink: TextSink = {
    next: () => ({ item: ++this.#item, edition: this.#edition }),
    delta: ({ item, edition }, delta: TextDelta) => this.#emit({ type: "delta", ...delta }, item, edition),
    done: ({ item, edition }, kind, text, isVoid) =>
      this.#emit({ type: "done", kind, text, isVoid }, item, edition),
    again: (item) => {
      this.#item = item - 1
      this.#edition++
    },
  }

  #callOf(speaker: Speaker, key: string): CallText {
    if (speaker.call?.key === key) return speaker.call.text
    this.#dropCall(speaker)
    this.#closeCalls(speaker)
    speaker.call = { key, text: new CallText(this.#sink, speaker.hasGap) }
    return speaker.call.text
  }

  #dropCall(speaker: Speaker): void {
    speaker.call?.text.drop()
    speaker.call = undefined
  }

  // Records

  #recorded(speaker: Speaker, key: string, value: Json): void {
    if (isOwnCall(key)) return this.#reply(speaker, key, value)
    const plain = key.replace(/^step(#\d+)?:(outcome:)?/, "")
    const open = speaker.open.get(plain)
    if (open !== undefined && isOutcome(value)) {
      speaker.open.delete(plain)
      const outcome: ChatOutcome = value.ok
        ? { ok: true, value: value.value }
        : { ok: false, error: value.error.message }
      return this.#emit({ type: "result", call: open.call, outcome })
    }
    // An agent that runs as a tool: the last text that it says is the result.
    const slash = plain.lastIndexOf("/")
    const caller = slash < 0 ? undefined : speaker.open.get(plain.slice(0, slash))
    if (caller !== undefined && isReply(value)) caller.candidate = textOf(value)
  }

  #reply(speaker: Speaker, key: string, value: Json): void {
    const call = this.#callOf(speaker, key)
    speaker.call = undefined
    speaker.hasGap = false
    if (!isReply(value)) return
    const { content, finish } = value
    call.complete(content, speaker.kinds)
    const text = textOf(value)
    if (speaker.kinds.has("text") && text !== "") this.#texts.push(text)
    this.#finish = finish
    for (const part of content) this.#part(speaker, part)
  }

  #part(speaker: Speaker, part: ReplyPart): void {
    switch (part.type) {
      case "tool-call": {
        const call = { id: part.id, name: part.name, args: part.args }
        this.#calls.set(part.id, call)
        speaker.open.set(`tool:${part.name}:${part.id}`, { call, candidate: null })
        return this.#emit({ type: "call", call })
      }
      case "provider-call": {
        const call = { id: part.id, name: part.name, args: part.args, isProvider: true }
        this.#calls.set(part.id, call)
        return this.#emit({ type: "call", call })
      }
      case "provider-result": {
        const call = this.#calls.get(part.id)
        if (call === undefined) return
        const { isError = false, result } = part
        const outcome: ChatOutcome = isError
          ? { ok: false, error: JSON.stringify(result) }
          : { ok: true, value: result }
        return this.#emit({ type: "result", call, outcome })
      }
      case "file":
        return this.#emit({ type: "file", mediaType: part.mediaType, data: part.data })
      case "source":
        if (part.url !== undefined) {
          this.#emit({ type: "source", id: part.id, url: part.url, title: part.title })
        }
    }
  }

  /** Calls whose result no record has, such as a hand-off: the next model call knows it. */
  #closeCalls(speaker: Speaker, error?: string): void {
    for (const [key, { call, candidate }] of speaker.open) {
      speaker.open.delete(key)
      const outcome: ChatOutcome = error === undefined ? { ok: true, value: candidate } : { ok: false, error }
      this.#emit({ type: "result", call, outcome })
    }
  }

  #output(value: Json): void {
    if (value === null || this.#texts.some((text) => isSame(text, value))) return
    const text = typeof value === "string" ? value : JSON.stringify(value)
    this.#texts.push(text)
    const item = ++this.#item
    const data = typeof value === "string" ? {} : { data: value }
    if (text !== "") this.#emit({ type: "delta", kind: "text", text, offset: 0, ...data }, item)
    this.#emit({ type: "done", kind: "text", text, isVoid: false }, item)
  }

  // People

  #request(event: RunEvent): void {
    if (event.type === "request.opened") {
      // What was written before the question comes before it.
      this.#drain()
      const { request } = event
      return this.#emit({ type: "request", request, call: this.#approvedCall(request) })
    }
    if (event.type !== "request.answered" && event.type !== "request.closed") return
    const { request } = this.#fold.view.requests[event.request] ?? {}
    if (request === undefined) return
    const value = event.type === "request.answered" ? event.value : undefined
    this.#emit({ type: "answered", request, value })
    const call = approvalOf(request)
    const { approve, reason } = Object(value) as { approve?: unknown; reason?: unknown }
    if (call === undefined || approve === true) return
    for (const { open } of this.#tasks.values()) open.delete(`tool:${call.name}:${call.id}`)
    const error = typeof reason === "string" && reason !== "" ? reason : "It was not allowed."
    this.#emit({ type: "result", call, outcome: { ok: false, error, denied: true } })
  }

  /** The call that the request is about. One of an agent that does not speak becomes visible by its request. */
  #approvedCall(request: OpenRequest): ChatCall | undefined {
    const asked = approvalOf(request)
    if (asked === undefined) return undefined
    const known = this.#calls.get(asked.id)
    if (known !== undefined) return known
    this.#calls.set(asked.id, asked)
    this.#emit({ type: "call", call: asked })
    return asked
  }

  // Turns

  #wait(): void {
    const { view } = this.#fold
    if (view.status !== "waiting" || view.totals.requests === 0) return
    this.#drain(true)
    this.#emitEnd({ status: "waiting", error: undefined })
  }

  #end({ status, error }: Extract<RunEvent, { type: "run.finished" }>): void {
    this.#drain(true)
    for (const speaker of this.#tasks.values()) {
      this.#dropCall(speaker)
      this.#closeCalls(speaker, "The run ended before the tool returned.")
    }
    this.#emitEnd({ status, error })
  }

  #emitEnd({ status, error }: Pick<ChatEnd, "status" | "error">): void {
    const { usage } = this.#fold.view
    const used = difference(usage, this.#usageBefore)
    this.#usageBefore = usage
    this.#emit({ type: "end", status, error, usage: used, requests: this.requests, finish: this.#finish })
    this.#turn++
    this.#rests = true
  }
}

/** The tool call that the request asks to approve. */
export function approvalOf({ data }: Pick<OpenRequest, "data">): ChatCall | undefined {
  const { kind, tool, call, args } = Object(data) as Readonly<Record<string, unknown>>
  if (kind !== "tool-approval" || typeof tool !== "string" || typeof call !== "string") return undefined
  return { id: call, name: tool, args: JSON.stringify(args ?? {}) }
}

/** A model call of the task itself, not of an agent that runs as a tool. */
function isOwnCall(key: string): boolean {
  return /^step(#\d+)?:model$/.test(key)
}

function isReply(value: Json): value is Json & ModelReply {
  return Array.isArray((Object(value) as { content?: unknown }).content)
}

function textOf({ content }: ModelReply): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("")
}

type Outcome = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: ErrorData }

function isOutcome(value: Json): value is Json & Outcome {
  return typeof (Object(value) as { ok?: unknown }).ok === "boolean"
}

function isSame(text: string, value: Json): boolean {
  if (typeof value === "string") return text.trim() === value.trim()
  try {
    return isDeepStrictEqual(JSON.parse(text), value)
  } catch {
    return false
  }
}

function difference(usage: Usage, before: Usage): Usage {
  const entries = Object.entries(usage) as [keyof Usage, number][]
  return Object.fromEntries(entries.map(([name, amount]) => [name, amount - (before[name] ?? 0)]))
}
