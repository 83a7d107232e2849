/**
 * A run as a task of A2A: folds the events of a run into artifacts, a status and a history. Artifacts are what the run says
 * and its outputs; the same events make the same artifacts, so a client that joins again sees what it would have seen.
 */
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from "@a2a-js/sdk"
import {
  hasEnded,
  isSuperstepError,
  type Json,
  type OpenRequest,
  pastEvents,
  type RunEvent,
  type StoredRun,
} from "@superstep/engine"
import type { StartedWorkflow } from "../catalog.ts"
import type { Services } from "../services.ts"
import { questionOf } from "./chat.ts"
import { type ChatEvent, ChatFold, speakersOf } from "./chat-fold.ts"

export interface TaskOptions {
  readonly run: StoredRun
  readonly contextId: string
  readonly speakers: ReadonlyMap<string, boolean>
  /** The ids of the client's messages: of the first one, and of those that answered questions. */
  readonly firstMessage: string
  readonly answers: ReadonlyMap<string, string>
}

const ENDED: Readonly<Record<string, TaskState>> = {
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  limit: TaskState.TASK_STATE_FAILED,
  cancelled: TaskState.TASK_STATE_CANCELED,
}

/** Without its events: what a run waits for is not known. */
export function stateOf({ status }: StoredRun): TaskState {
  if (status === "queued") return TaskState.TASK_STATE_SUBMITTED
  return ENDED[status] ?? TaskState.TASK_STATE_WORKING
}

export class TaskFold {
  readonly #options: TaskOptions
  readonly #fold: ChatFold
  readonly #artifacts = new Map<number, Artifact>()
  readonly #history: Message[] = []
  #status: TaskStatus
  #seq = 0
  #out: StreamResponse[] = []

  constructor(options: TaskOptions) {
    this.#options = options
    this.#fold = new ChatFold(options.speakers)
    this.#status = {
      state: stateOf(options.run),
      message: undefined,
      timestamp: timeOf(options.run.updatedAt),
    }
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#seq
  }

  /** Whether nothing happens before the client sends a message, or ever again. */
  get rests(): boolean {
    return this.#fold.rests
  }

  get requests(): readonly OpenRequest[] {
    return this.#fold.requests
  }

  get task(): Task {
    const { run, contextId } = this.#options
    const artifacts = [...this.#artifacts.values()]
    return {
      id: run.runId,
      contextId,
      status: this.#status,
      artifacts,
      history: [...this.#history],
      metadata: undefined,
    }
  }

  get statusUpdate(): StreamResponse {
    const { run, contextId } = this.#options
    const value = { taskId: run.runId, contextId, status: this.#status, metadata: undefined }
    return { payload: { $case: "statusUpdate", value } }
  }

  /** What a client that follows the task has to hear. */
  add(event: RunEvent): readonly StreamResponse[] {
    this.#out = []
    this.#seq = Math.max(this.#seq, event.seq)
    if (event.type === "run.started" && event.path.length === 0) {
      this.#say(Role.ROLE_USER, this.#options.firstMessage, [partOf(event.input)])
      if (!hasEnded(this.#options.run)) this.#status = statusAt(TaskState.TASK_STATE_WORKING, event.at)
    }
    for (const heard of this.#fold.add(event)) this.#take(heard, event.at)
    return this.#out
  }

  #take(heard: ChatEvent, at: number): void {
    switch (heard.type) {
      case "delta":
        if (heard.kind === "text") this.#text(heard)
        return
      case "done":
        if (heard.isVoid && heard.kind === "text") this.#replace(heard.item, [])
        return
      case "file":
        return this.#replace(heard.item, [
          {
            ...BARE,
            content: { $case: "raw", value: Buffer.from(heard.data, "base64") },
            mediaType: heard.mediaType,
          },
        ])
      case "request":
        return this.#say(Role.ROLE_AGENT, `${this.#options.run.runId}:${heard.request.id}`, [
          textPart(heard.request.prompt),
          partOf({ request: heard.request.id, ...questionOf(heard.request) }),
        ])
      case "answered": {
        const { answers, run } = this.#options
        const id = answers.get(heard.request.id) ?? `${run.runId}:${heard.request.id}:answer`
        if (heard.value !== undefined) this.#say(Role.ROLE_USER, id, [partOf(heard.value)])
        return this.#become(statusAt(TaskState.TASK_STATE_WORKING, at))
      }
      case "end":
        return this.#become(this.#endOf(heard, at))
    }
  }

  #endOf(end: Extract<ChatEvent, { type: "end" }>, at: number): TaskStatus {
    const { status, error, requests } = end
    const [question] = requests
    if (question !== undefined && status === "waiting") {
      const parts = [
        textPart(question.prompt),
        ...requests.map((request) => partOf({ request: request.id, ...questionOf(request) })),
      ]
      const message = this.#message(Role.ROLE_AGENT, `${this.#options.run.runId}:${question.id}`, parts)
      return { ...statusAt(TaskState.TASK_STATE_INPUT_REQUIRED, at), message }
    }
    const ended = statusAt(ENDED[status] ?? TaskState.TASK_STATE_WORKING, at)
    if (error === undefined) return ended
    const text = `${error.message} (${error.code})`
    return {
      ...ended,
      message: this.#message(Role.ROLE_AGENT, `${this.#options.run.runId}:error`, [textPart(text)]),
    }
  }

  #text({ item, text, offset, data }: Extract<ChatEvent, { type: "delta" }>): void {
    if (data !== undefined) return this.#replace(item, [partOf(data)])
    if (offset === 0) return this.#replace(item, [textPart(text)])
    const known = this.#artifacts.get(item)?.parts[0]?.content
    const before = known?.$case === "text" ? known.value : ""
    this.#artifacts.set(item, artifactOf(item, [textPart(before + text)]))
    this.#emit(item, [textPart(text)], true)
  }

  #replace(item: number, parts: Part[]): void {
    if (parts.length === 0) this.#artifacts.delete(item)
    else this.#artifacts.set(item, artifactOf(item, parts))
    this.#emit(item, parts.length === 0 ? [textPart("")] : parts, false)
  }

  #emit(item: number, parts: Part[], append: boolean): void {
    const { run, contextId } = this.#options
    const artifact = artifactOf(item, parts)
    const value = { taskId: run.runId, contextId, artifact, append, lastChunk: false, metadata: undefined }
    this.#out.push({ payload: { $case: "artifactUpdate", value } })
  }

  #become(status: TaskStatus): void {
    this.#status = status
    this.#out.push(this.statusUpdate)
  }

  #say(role: Role, messageId: string, parts: Part[]): void {
    this.#history.push(this.#message(role, messageId, parts))
  }

  #message(role: Role, messageId: string, parts: Part[]): Message {
    const { run, contextId } = this.#options
    return {
      messageId,
      contextId,
      taskId: run.runId,
      role,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    }
  }
}

interface TaskParts {
  readonly contextId: string
  readonly key: string | undefined
  readonly messages: readonly { readonly id: string; readonly request: string }[]
  readonly workflow: StartedWorkflow | undefined
}

/** The task as the journal of its run has it now. */
export async function taskOf({ runtime }: Services, run: StoredRun, parts: TaskParts): Promise<TaskFold> {
  const { contextId, key, messages, workflow } = parts
  const [protocol, , , sent] = key?.split(":") ?? []
  const fold = new TaskFold({
    run,
    contextId,
    speakers: workflow === undefined ? new Map() : speakersOf(workflow),
    firstMessage: protocol === "a2a" && sent !== undefined ? decodeURIComponent(sent) : `${run.runId}:input`,
    answers: new Map(messages.map(({ id, request }) => [request, id])),
  })
  // A run that waits in its queue may have no record yet.
  const events = await pastEvents(runtime.store, run.runId).catch((error: unknown) => {
    if (isSuperstepError(error, "RUN_UNKNOWN")) return []
    throw error
  })
  for (const event of events) fold.add(event)
  return fold
}

export function contextOf(chat: string | undefined, run: StoredRun): string {
  return chat ?? run.runId
}

const BARE = { metadata: undefined, filename: "", mediaType: "" } as const

function textPart(value: string): Part {
  return { ...BARE, content: { $case: "text", value }, mediaType: "text/plain" }
}

function partOf(value: Json): Part {
  if (typeof value === "string") return textPart(value)
  return { ...BARE, content: { $case: "data", value }, mediaType: "application/json" }
}

function artifactOf(item: number, parts: Part[]): Artifact {
  return { artifactId: `${item}`, name: "", description: "", parts, metadata: undefined, extensions: [] }
}

function statusAt(state: TaskState, at: number): TaskStatus {
  return { state, message: undefined, timestamp: timeOf(at) }
}

function timeOf(at: number): string {
  return new Date(at).toISOString()
}
