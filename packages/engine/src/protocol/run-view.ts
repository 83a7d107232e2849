/**
 * The view of a run: plain data, folded from its events alone. A published view never changes; the views of one run share
 * unchanged parts.
 */
import type {
  ErrorData,
  Json,
  NodeId,
  OpenRequest,
  Pause,
  RequestId,
  RunId,
  RunStatus,
  SignalWait,
  TaskId,
  Undelivered,
  Usage,
  Wait,
} from "../core/index.ts"
import type { RunEvent } from "./events.ts"

export interface TaskView {
  readonly id: TaskId
  readonly node: NodeId
  readonly path: readonly string[]
  readonly superstep: number
  readonly attempt: number
  /**
   * `rejected`: no handler accepts its message. `backoff` until its next attempt is due; `queued` when it is due and waits
   * for a place.
   */
  readonly status:
    | "queued"
    | "running"
    | "parked"
    | "backoff"
    | "finished"
    | "failed"
    | "rejected"
    | "cancelled"
  /** When its first attempt began. */
  readonly startedAt: number
  readonly finishedAt: number | undefined
  /** Time of the retry. */
  readonly retryAt: number | undefined
  /** Why it failed, or why its last attempt did. Includes a failure that settled into a value. */
  readonly error: ErrorData | undefined
  /** What it waits for, while it is parked. */
  readonly waits: readonly Wait[]
  /** The workflows that it called, in the order they started; for equal paths, events belong to the last one. */
  readonly calls: readonly WorkflowView[]
}

export interface SuperstepView {
  readonly superstep: number
  /** How many tasks it began with, those that wait for a place included; unknown in flow mode. */
  readonly size: number | undefined
  /** Those that have started. */
  readonly tasks: Paged<TaskId>
  readonly startedAt: number
  /** The last commit: tasks that were parked commit again when they are done. */
  readonly committedAt: number | undefined
}

/** A workflow of the run: the run itself, or one that a task called. */
export interface WorkflowView {
  readonly path: readonly string[]
  readonly workflow: string
  readonly input: Json | undefined
  readonly status: RunStatus
  readonly error: ErrorData | undefined
  /** Since when it is paused, by whom and why, while it is. */
  readonly pause: Pause | undefined
  /** The limit that sent it along its limit route, or ended it. */
  readonly limit: ErrorData | undefined
  readonly startedAt: number | undefined
  readonly finishedAt: number | undefined
  readonly superstep: number
  /** By number; read with `superstepsOf`. */
  readonly supersteps: Paged<SuperstepView>
  /** Those that have started, by id; read with `taskOf` and `tasksOf`. */
  readonly tasks: Paged<TaskView>
  readonly state: { readonly [key: string]: Json }
  readonly outputs: readonly Json[]
  readonly undelivered: readonly Undelivered[]
  /** Total usage, including the workflows that it called. */
  readonly usage: Usage
  readonly usageByNode: { readonly [node: NodeId]: Usage }
  readonly usageByAgent: { readonly [agent: string]: Usage }
  readonly usageByModel: { readonly [model: string]: Usage }
  /** How many of its own tasks run, are queued or between two attempts. */
  readonly atWork: number
  /** It reported that it waits for something external. */
  readonly resting: boolean
}

export interface RequestView {
  readonly request: OpenRequest
  readonly path: readonly string[]
  readonly status: "open" | "answered" | "expired" | "withdrawn"
  readonly answer: Json | undefined
  /** Who answered, as the caller stated. */
  readonly by: string | undefined
  /** When it was answered, or closed without an answer. */
  readonly closedAt: number | undefined
}

/** The run, with everything below it. `status` is the whole run's: `waiting` when nothing in it can continue. */
export interface RunView extends WorkflowView {
  /** Empty before the first event. */
  readonly runId: RunId
  /** The number of the last event that counts: rejoin the stream after it. */
  readonly seq: number
  /** Of the run and of everything below it, in the order they were opened. */
  readonly requests: { readonly [id: RequestId]: RequestView }
  /** The last 1,000 custom events and log lines. */
  readonly log: readonly LogEvent[]
  /** In the run and everything below it: executing tasks, resting workflows, open requests. */
  readonly totals: { readonly atWork: number; readonly resting: number; readonly requests: number }
  /** How many live events followed the event `seq`. */
  readonly live: number
  /** The position of the stream: behind `seq` and `live` while a rejoined stream repeats events. */
  readonly place: { readonly seq: number; readonly live: number }
}

export function emptyWorkflow(path: readonly string[]): WorkflowView {
  return {
    path,
    workflow: "",
    input: undefined,
    status: "running",
    error: undefined,
    pause: undefined,
    limit: undefined,
    startedAt: undefined,
    finishedAt: undefined,
    superstep: 0,
    supersteps: {},
    tasks: {},
    state: emptyRecord(),
    outputs: [],
    undelivered: [],
    usage: {},
    usageByNode: emptyRecord(),
    usageByAgent: emptyRecord(),
    usageByModel: emptyRecord(),
    atWork: 0,
    resting: false,
  }
}

/** Before the first event. */
export function emptyView(): RunView {
  return {
    ...emptyWorkflow([]),
    runId: "",
    seq: 0,
    requests: emptyRecord(),
    log: [],
    totals: { atWork: 0, resting: 0, requests: 0 },
    live: 0,
    place: { seq: 0, live: 0 },
  }
}

export function taskOf(view: WorkflowView, id: TaskId): TaskView | undefined {
  return getPaged(view.tasks, id)
}

/** In order of creation; only those of `superstep`, if passed. */
export function tasksOf(view: WorkflowView, superstep?: number): TaskView[] {
  if (superstep === undefined) return pagedValues(view.tasks)
  const ids = pagedValues(getPaged(view.supersteps, superstep)?.tasks ?? {})
  return ids.map((id) => taskOf(view, id) as TaskView)
}

export function superstepsOf(view: WorkflowView): SuperstepView[] {
  return pagedValues(view.supersteps)
}

/** The workflow that an event's path names, the last that its task called; undefined if there is none. */
export function workflowAt(view: RunView, path: readonly string[]): WorkflowView | undefined {
  let found: WorkflowView | undefined = view
  for (const part of path) found = found && lastCall(taskOf(found, callerIn(part).task)?.calls ?? [], part)
  return found
}

/**
 * The view without what has ended: tasks that have ended, and supersteps. Folding may continue from it, and what it costs
 * depends on what is at work and not on how long the run is.
 */
export function withoutEnded<T extends WorkflowView>(view: T): T {
  const tasks: { [page: number]: (TaskView | null)[] } = {}
  for (const task of tasksOf(view)) {
    if (task.finishedAt !== undefined) continue
    const page = pageOf(task.id)
    const list = tasks[page] ?? []
    while (list.length < task.id % PAGE_SIZE) list.push(null)
    list[task.id % PAGE_SIZE] = { ...task, calls: task.calls.map(withoutEnded) }
    tasks[page] = list
  }
  return { ...view, tasks, supersteps: {} }
}

/** Everything that waits for a person, in the run and below it. */
export function openRequests(view: RunView): OpenRequest[] {
  return Object.values(view.requests).flatMap(({ status, request }) => (status === "open" ? [request] : []))
}

/** What waits for a signal, in the run and below it: the oldest first. */
export function openWaits(view: WorkflowView): SignalWait[] {
  const found: SignalWait[] = []
  const add = (workflow: WorkflowView) => {
    for (const { waits, calls } of tasksOf(workflow)) {
      for (const wait of waits) if (wait.kind === "signal") found.push(wait)
      calls.forEach(add)
    }
  }
  add(view)
  return found.sort((a, b) => a.order - b.order)
}

/** The last of a task's calls under this part of a path. */
export function lastCall(calls: readonly WorkflowView[], part: string): WorkflowView | undefined {
  return calls.findLast((call) => call.path.at(-1) === part)
}

/** A part of a path: `node#task`, or `node#task.2` for a task's second call. */
export function callerIn(part: string): { node: NodeId; task: TaskId } {
  const at = part.lastIndexOf("#")
  const task = Number(part.slice(at + 1).split(".")[0])
  return { node: part.slice(0, Math.max(0, at)), task: Number.isSafeInteger(task) && task > 0 ? task : 0 }
}

// Copy before the first write. A draft writes in place to parts that it created or copied; parts of an older view or an
// event are copied first. So a long fold costs its events and not its views, and an older view never changes.

/** A part that may be written to. */
export type Owned<T> = T extends readonly (infer Item)[] ? Item[] : { -readonly [K in keyof T]: T[K] }

export class Draft {
  readonly #onCopy: ((part: object) => void) | undefined
  #owned = new WeakSet<object>()

  constructor(onCopy?: (part: object) => void) {
    this.#onCopy = onCopy
  }

  /** The part itself if the draft owns it, else a copy that replaces it. */
  own<T extends object>(part: T, copy: (part: T) => T = shallowCopy): Owned<T> {
    if (this.#owned.has(part)) return part as Owned<T>
    this.#onCopy?.(part)
    return this.made(copy(part)) as Owned<T>
  }

  /** Declares that nothing else holds the part. */
  made<T extends object>(part: T): T {
    this.#owned.add(part)
    return part
  }

  /** Gives up ownership of all parts. */
  release(): void {
    this.#owned = new WeakSet()
  }
}

function shallowCopy<T extends object>(part: T): T {
  if (Array.isArray(part)) return part.slice() as unknown as T
  return Object.getPrototypeOf(part) === null ? Object.assign(emptyRecord(), part) : { ...part }
}

/** For untrusted keys: no name is special, not even `__proto__`. */
export function emptyRecord<T>(): { [key: string]: T } {
  return Object.create(null)
}

/**
 * Values by number, as plain data in pages: a change copies one page and the record of pages. Pages are lists with holes;
 * numbers may be far apart.
 */
export interface Paged<T> {
  readonly [page: number]: readonly (T | null | undefined)[]
}

const PAGE_SIZE = 256

export function getPaged<T>(paged: Paged<T>, id: number): T | undefined {
  return paged[pageOf(id)]?.[id % PAGE_SIZE] ?? undefined
}

/** Replaces `paged`. */
export function putPaged<T>(draft: Draft, paged: Paged<T>, id: number, value: T): Paged<T> {
  const pages = draft.own(paged, copyPages)
  const page = draft.own(pages[pageOf(id)] ?? [])
  page[id % PAGE_SIZE] = value
  pages[pageOf(id)] = page
  return pages
}

/** In the order of their numbers. */
export function pagedValues<T>(paged: Paged<T>): T[] {
  return Object.values(paged).flatMap((page: Paged<T>[number]) =>
    // A hole that went through JSON is null.
    page.filter((value) => value !== undefined && value !== null),
  )
}

function pageOf(id: number): number {
  return Math.floor(id / PAGE_SIZE)
}

/** A separate function: engines copy objects of one shape many times faster than of mixed shapes. */
function copyPages<T>(pages: Paged<T>): Paged<T> {
  return { ...pages }
}

// Which events are live. Apart from the schemas, so that a fold in a browser does not load those.

/** An event that is not journaled: it has the number of the event before it. */
export type LiveEvent = Extract<RunEvent, { readonly type: "custom" | "log" | Passing }>

/** Events that show work in progress: a view keeps neither them nor gaps. */
type Passing = "model.delta" | "output.partial" | "tool.progress" | "slot.waiting" | "live.gap"

const PASSING: ReadonlySet<string> = new Set<Passing>([
  "model.delta",
  "output.partial",
  "tool.progress",
  "slot.waiting",
  "live.gap",
])

/** The live events that a view keeps. */
export type LogEvent = Exclude<LiveEvent, { readonly type: Passing }>

export function isPassing(event: RunEvent): event is Extract<RunEvent, { readonly type: Passing }> {
  return PASSING.has(event.type)
}

/** An event that follows from the journal: numbered, and identical in every replay. */
export type DurableEvent = Exclude<RunEvent, LiveEvent>

export function isLive(event: RunEvent): event is LiveEvent {
  return event.type === "custom" || event.type === "log" || isPassing(event)
}
