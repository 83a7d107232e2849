/** A2A messages as they go over the wire: those of version 1.0, and those of 0.2 and 0.3, which many agents still speak. */
import type { Json } from "../../core/index.ts"
import { fault } from "./remote-request.ts"

export type A2aVersion = "0" | "1"

/** The methods of the JSON-RPC binding. */
export const METHODS: Readonly<Record<A2aVersion, Readonly<Record<A2aMethod, string>>>> = {
  "0": {
    send: "message/send",
    stream: "message/stream",
    get: "tasks/get",
    subscribe: "tasks/resubscribe",
    cancel: "tasks/cancel",
  },
  "1": {
    send: "SendMessage",
    stream: "SendStreamingMessage",
    get: "GetTask",
    subscribe: "SubscribeToTask",
    cancel: "CancelTask",
  },
}

export type A2aMethod = "send" | "stream" | "get" | "subscribe" | "cancel"

export type Params = { readonly [key: string]: Json }

export interface Outgoing {
  readonly text: string
  readonly messageId: string
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
}

/** It does not wait for the task's end: the task's id is to be on record first. */
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

export type TaskState =
  | "submitted"
  | "working"
  | "input-required"
  | "auth-required"
  | "completed"
  | "failed"
  | "canceled"
  | "rejected"

export function isUnderWay(state: TaskState): boolean {
  return state === "submitted" || state === "working"
}

/** What an agent sends, whatever the version. */
export type Incoming =
  | { readonly kind: "message"; readonly text: string }
  | IncomingTask
  | { readonly kind: "status"; readonly of: TaskIds; readonly state: TaskState; readonly note: string }
  | { readonly kind: "artifact"; readonly of: TaskIds; readonly artifact: Artifact; readonly isMore: boolean }

export interface IncomingTask {
  readonly kind: "task"
  readonly id: string
  readonly contextId: string | undefined
  readonly state: TaskState
  /** What it says about its state. */
  readonly note: string
  readonly artifacts: readonly Artifact[]
}

/** Which task an update is about. */
interface TaskIds {
  readonly id: string | undefined
  readonly contextId: string | undefined
}

interface Artifact {
  readonly id: string
  readonly text: string
}

/** Reads a result. In version 1.0 it says under which name it comes; before, in its `kind`. */
export function readResult(result: unknown): Incoming {
  const given = record(result)
  const named = ["message", "task", "statusUpdate", "artifactUpdate"].find((name) => name in given)
  const kinds: Readonly<Record<string, string>> = {
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
  }
  const kind = typeof given.kind === "string" ? (kinds[given.kind] ?? given.kind) : (named ?? "task")
  const body = typeof given.kind === "string" || named === undefined ? given : record(given[named])
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

/** A stream should begin with its task; some begin with news of it, which name it. */
export function taskBegun(incoming: Exclude<Incoming, { kind: "message" }>): IncomingTask {
  if (incoming.kind === "task") return incoming
  const { id, contextId } = incoming.of
  if (id === undefined) throw invalid("news of a task without its id")
  return { kind: "task", id, contextId, state: "working", note: "", artifacts: [] }
}

function taskOf({ taskId, contextId }: Fields): TaskIds {
  return { id: idOf(taskId), contextId: idOf(contextId) }
}

function idOf(given: unknown): string | undefined {
  return typeof given === "string" && given !== "" ? given : undefined
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

const STATES: readonly TaskState[] = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "failed",
  "canceled",
  "rejected",
]

function readStatus(status: unknown): { readonly state: TaskState; readonly note: string } {
  const { state, message } = record(status)
  // TASK_STATE_INPUT_REQUIRED is input-required.
  const plain = String(state)
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-")
    .replace("cancelled", "canceled")
  const known = STATES.find((one) => one === plain)
  if (known === undefined) throw invalid(`the state ${JSON.stringify(state) ?? "of nothing"}`)
  return {
    state: known,
    note: message === undefined || message === null ? "" : partsText(record(message).parts),
  }
}

function readArtifact(artifact: unknown): Artifact {
  const { artifactId, parts } = record(artifact)
  return { id: String(artifactId ?? ""), text: partsText(parts) }
}

/** Text as it is, data as JSON; files are named. */
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
  throw invalid(value === undefined ? "nothing" : JSON.stringify(value).slice(0, 100))
}

function invalid(what: string) {
  return fault("REMOTE_INVALID", `The agent answered something else than A2A: ${what}.`, false)
}
