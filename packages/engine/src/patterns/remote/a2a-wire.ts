/** The wire format of A2A: version 1.0, and 0.2 and 0.3, which many agents still use. */
import type { Json } from "../../core/index.ts"
import { clipped } from "../../text/index.ts"
import { fault } from "./remote-agent.ts"

export type A2aVersion = "0" | "1"

/** The methods of the JSON-RPC binding. */
export const METHODS: Readonly<Record<A2aVersion, Readonly<Record<A2aMethod, string>>>> = {
  "0": {
    send: "message/send",
    stream: "message/stream",
    get: "tasks/get",
    subscribe: "tasks/resubscribe",
    cancel: "tasks/cancel",
    list: "tasks/list",
  },
  "1": {
    send: "SendMessage",
    stream: "SendStreamingMessage",
    get: "GetTask",
    subscribe: "SubscribeToTask",
    cancel: "CancelTask",
    list: "ListTasks",
  },
}

export type A2aMethod = "send" | "stream" | "get" | "subscribe" | "cancel" | "list"

export type Params = { readonly [key: string]: Json }

export interface Outgoing {
  readonly text: string
  readonly messageId: string
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
}

/** Returns before the task ends, so that the task's id can be recorded first. */
export function sendParams(version: A2aVersion, { text, messageId, taskId, contextId }: Outgoing): Params {
  const ids = {
    messageId,
    ...(taskId === undefined ? {} : { taskId }),
    ...(contextId === undefined ? {} : { contextId }),
  }
  const acceptedOutputModes = ["text/plain", "application/json"]
  if (version === "1") {
    const message = { role: "ROLE_USER", parts: [{ text }], ...ids }
    return { message, configuration: { acceptedOutputModes, returnImmediately: true } }
  }
  const message = { kind: "message", role: "user", parts: [{ kind: "text", text }], ...ids }
  return { message, configuration: { acceptedOutputModes, blocking: false } }
}

const STATES = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "failed",
  "canceled",
  "rejected",
] as const

type TaskState = (typeof STATES)[number]

function isUnderWay(state: TaskState): boolean {
  return state === "submitted" || state === "working"
}

/** A message of an agent, independent of the version. */
type Incoming =
  | { readonly kind: "message"; readonly text: string }
  | IncomingTask
  | ({ readonly kind: "status"; readonly of: TaskIds } & Status)
  | { readonly kind: "artifact"; readonly of: TaskIds; readonly artifact: Artifact; readonly isMore: boolean }

/** A message of an agent about a task. */
export type TaskNews = Exclude<Incoming, { kind: "message" }>

interface IncomingTask extends Status {
  readonly kind: "task"
  readonly id: string
  readonly contextId: string | undefined
  readonly artifacts: readonly Artifact[]
}

interface Status {
  readonly state: TaskState
  /** Its message: the agent's question, or why it failed. */
  readonly note: string
  /** Identifies it among the task's statuses. Absent if the agent provides neither a timestamp nor a message id. */
  readonly status?: string | undefined
}

/** The task of an update. */
interface TaskIds {
  readonly id: string | undefined
  readonly contextId: string | undefined
}

interface Artifact {
  readonly id: string
  readonly text: string
}

/** Reads a result. Version 1.0 wraps it in a named field; earlier versions name it in `kind`. */
export function readResult(result: unknown): Incoming {
  const fields = record(result)
  const named = ["message", "task", "statusUpdate", "artifactUpdate"].find((name) => name in fields)
  const kinds: Readonly<Record<string, string>> = {
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
  }
  const kind = typeof fields.kind === "string" ? (kinds[fields.kind] ?? fields.kind) : (named ?? "task")
  const body = typeof fields.kind === "string" || named === undefined ? fields : record(fields[named])
  switch (kind) {
    case "message":
      return { kind: "message", text: partsText(body.parts) }
    case "task":
      return readTask(body)
    case "statusUpdate":
      return { kind: "status", of: taskOf(body), ...readStatus(body.status) }
    case "artifactUpdate": {
      const isMore = body.append === true
      return { kind: "artifact", of: taskOf(body), artifact: readArtifact(body.artifact), isMore }
    }
    default:
      throw invalid(`a result of kind "${kind}"`)
  }
}

/** A stream should begin with its task; some begin with an update that names the task. */
function taskBegun(incoming: TaskNews): IncomingTask {
  if (incoming.kind === "task") return incoming
  const { id, contextId } = incoming.of
  if (id === undefined) throw invalid("a task update without the task's id")
  return { kind: "task", id, contextId, state: "working", note: "", artifacts: [] }
}

function taskOf({ taskId, contextId }: Fields): TaskIds {
  return { id: idOf(taskId), contextId: idOf(contextId) }
}

function idOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

function readTask(task: Fields): Incoming {
  const id = idOf(task.id)
  if (id === undefined) throw invalid("a task without an id")
  return {
    kind: "task",
    id,
    contextId: idOf(task.contextId),
    ...readStatus(task.status),
    artifacts: (Array.isArray(task.artifacts) ? task.artifacts : []).map(readArtifact),
  }
}

function readStatus(json: unknown): Status {
  const { state, message, timestamp } = record(json)
  // TASK_STATE_INPUT_REQUIRED is input-required.
  const plain = String(state)
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-")
    .replace("cancelled", "canceled")
  const known = STATES.find((one) => one === plain)
  if (known === undefined) throw invalid(`the state ${JSON.stringify(state) ?? "of nothing"}`)
  const { parts, messageId } = message === undefined || message === null ? {} : record(message)
  const status = [timestamp, messageId].filter((one) => typeof one === "string" && one !== "").join(" ")
  return { state: known, note: partsText(parts), ...(status === "" ? {} : { status }) }
}

/** Whether the agent has stored the message with the task. */
export function hasMessage(task: unknown, messageId: string): boolean {
  const { history } = record(task)
  return Array.isArray(history) && history.some((one) => record(one).messageId === messageId)
}

/** The id of the task that the message began, if it is among the listed ones. */
export function taskWithMessage(listed: unknown, messageId: string): string | undefined {
  const { tasks } = record(listed)
  const found = Array.isArray(tasks) ? tasks.find((task) => hasMessage(task, messageId)) : undefined
  return found === undefined ? undefined : idOf(record(found).id)
}

function readArtifact(artifact: unknown): Artifact {
  const { artifactId, parts } = record(artifact)
  return { id: String(artifactId ?? ""), text: partsText(parts) }
}

/** Text unchanged, data as JSON, and files by name. */
function partsText(parts: unknown): string {
  if (!Array.isArray(parts)) return ""
  return parts
    .map((part) => {
      const { text, data, file, url, filename } = record(part)
      if (typeof text === "string") return text
      if (data !== undefined) return JSON.stringify(data)
      const name = filename ?? record(file ?? {}).name ?? record(file ?? {}).uri ?? url
      return `[file${typeof name === "string" ? ` ${name}` : ""}]`
    })
    .join("")
}

type Fields = Readonly<Record<string, unknown>>

function record(value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields
  throw invalid(value === undefined ? "nothing" : clipped(JSON.stringify(value), 100))
}

function invalid(what: string) {
  return fault("REMOTE_INVALID", `The agent's answer is not valid A2A: ${what}.`, false)
}

/** The current state of a task. */
export interface TaskView extends Status {
  readonly id: string
  readonly contextId?: string | undefined
  readonly answer: string
}

/** Whether two statuses are the same one, as far as the agent identifies them. */
export function isSame(one: Status, other: Status): boolean {
  return one.state === other.state && one.status === other.status
}

/**
 * Whether the task still has the status that was answered: the agent has not reacted yet. An agent that does not identify
 * its statuses may ask the same question again; one that waits for a sign-in only keeps waiting.
 */
function isUnchanged(view: Status, answered: Status | undefined): boolean {
  if (answered === undefined || !isSame(view, answered)) return false
  return answered.status !== undefined || answered.state === "auth-required"
}

/** Whether the task has ended, or needs a person. `answered` is the status that was answered last. */
export function isEnded(view: Status, answered: Status | undefined): boolean {
  return !isUnderWay(view.state) && !isUnchanged(view, answered)
}

/**
 * Assembles a task from the agent's messages: its state, and its artifacts piece by piece. After an answer, agents first
 * send the task as it was when they asked; only later messages have its current state.
 */
export class TaskReader {
  #view: Omit<TaskView, "answer">
  #isBefore: boolean
  readonly #answered: TaskView | undefined
  readonly #artifacts = new Map<string, string>()
  readonly #tell: (text: string, offset: number) => void
  #offset = 0

  private constructor(task: IncomingTask, tell: (text: string, offset: number) => void, answered?: TaskView) {
    this.#tell = tell
    this.#answered = answered
    this.#view = viewOf(task)
    this.#isBefore = answered?.id === task.id && isSame(task, answered)
    this.#begin(task)
  }

  /** From the first message about a task: the task, or an update that names it. */
  static from(
    incoming: TaskNews,
    tell: (text: string, offset: number) => void,
    answered?: TaskView,
  ): TaskReader {
    const reader = new TaskReader(taskBegun(incoming), tell, answered)
    if (incoming.kind !== "task") reader.take(incoming)
    return reader
  }

  take(incoming: Incoming): void {
    switch (incoming.kind) {
      case "task":
        this.#view = viewOf(incoming)
        this.#isBefore = isUnchanged(incoming, this.#answered)
        this.#begin(incoming)
        break
      case "status": {
        // Some agents report a failure under another id. A stream is about one task.
        const { of: _of, kind: _kind, ...status } = incoming
        const { id, contextId } = this.#view
        this.#view = { id, ...(contextId === undefined ? {} : { contextId }), ...status }
        this.#isBefore = false
        break
      }
      case "artifact": {
        const { id, text } = incoming.artifact
        const before = incoming.isMore ? (this.#artifacts.get(id) ?? "") : ""
        this.#artifacts.set(id, before + text)
        this.#add(text)
        break
      }
      case "message":
        this.#view = { ...this.#view, state: "completed", note: incoming.text }
        this.#isBefore = false
        break
    }
  }

  #begin({ artifacts }: IncomingTask): void {
    for (const { id, text } of artifacts) {
      const before = this.#artifacts.get(id) ?? ""
      this.#artifacts.set(id, text)
      if (text.startsWith(before)) this.#add(text.slice(before.length))
    }
  }

  #add(text: string): void {
    this.#tell(text, this.#offset)
    this.#offset += text.length
  }

  /** The answer is in the task's artifacts, or in its status message if it has none. */
  get view(): TaskView {
    const text = [...this.#artifacts.values()].filter((one) => one !== "").join("\n\n")
    return { ...this.#view, answer: text === "" ? this.#view.note : text }
  }

  /** Undefined while the task is running. */
  end(): TaskView | undefined {
    return this.#isBefore || isUnderWay(this.#view.state) ? undefined : this.view
  }
}

function viewOf({ id, contextId, state, note, status }: IncomingTask): Omit<TaskView, "answer"> {
  return {
    id,
    ...(contextId === undefined ? {} : { contextId }),
    state,
    note,
    ...(status === undefined ? {} : { status }),
  }
}
