/**
 * What a run did and when, without its values: enough for a graph, a timeline and a scrubber at any event. It takes some forty
 * bytes per task, so a page can hold the whole run, and reads events, values and views around a point only.
 *
 * Invariants:
 * O1 the outline of a run's events is the same whether it is built at once, or continued from its data.
 * O2 an event costs the same however long the run is.
 * O3 a repeated event changes nothing.
 */
import type { NodeId, TaskId } from "../core/index.ts"
import type { RunEvent } from "./events.ts"
import { callerIn, type DurableEvent, isLive } from "./run-view.ts"

/** What a mark of a task says. Numbers, because they are on the wire by the thousand. */
export const MARK = {
  started: 0,
  finished: 1,
  /** It failed, and its failure became a value. */
  settled: 2,
  failed: 3,
  /** An attempt failed, and another one follows. */
  retrying: 4,
  parked: 5,
  resumed: 6,
  cancelled: 7,
  rejected: 8,
} as const

/** After one of these a task does nothing more. */
const ENDS: ReadonlySet<number> = new Set([
  MARK.finished,
  MARK.settled,
  MARK.failed,
  MARK.cancelled,
  MARK.rejected,
])

export interface OutlineTask {
  /** Index of its workflow in `paths`. */
  readonly path: number
  readonly id: TaskId
  readonly node: NodeId
  readonly superstep: number
  /** Triples: a number of `MARK`, the number of the event, milliseconds since the start of the run. */
  readonly marks: readonly number[]
}

/** An outline as JSON. */
export interface OutlineData {
  readonly runId: string
  /** The number of the last event that counts. */
  readonly seq: number
  /** Of the first event. */
  readonly startedAt: number
  /** The sub-workflows, one for each call; the first is the run itself. */
  readonly paths: readonly (readonly string[])[]
  readonly nodes: readonly NodeId[]
  /** Path, id, node, superstep, and the marks. */
  readonly tasks: readonly (readonly number[])[]
  /** Why tasks failed, by their index; cut to a line. */
  readonly errors: readonly (readonly [task: number, text: string])[]
  /**
   * Path, from, to, whether it leads to a join, and the numbers of the events with which messages went along it. −1: the
   * start, or the output.
   */
  readonly edges: readonly (readonly number[])[]
  /** Triples: event number, superstep, milliseconds since the start. Of the run itself. */
  readonly commits: readonly number[]
  /** Quintuples: event number, path, node, tokens, dollars. */
  readonly usage: readonly number[]
  /** Milliseconds since the start, of every sixteenth event from the first one on. */
  readonly times: readonly number[]
  /** The same, of the last event. */
  readonly last: number
}

/** Events between two entries of `times`. */
const EVERY = 16
const MAX_ERROR = 160

export interface OutlineEdge {
  readonly path: number
  /** Undefined: the start. */
  readonly from: NodeId | undefined
  /** Undefined: the output. */
  readonly to: NodeId | undefined
  /** Every source of a join sends along an edge of its own; the task that follows names one of them only. */
  readonly isJoin: boolean
  readonly seqs: readonly number[]
}

type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly number[] ? number[] : T[K] }

export class RunOutline {
  runId = ""
  seq = 0
  startedAt = 0
  /** Milliseconds from the first event to the last one. */
  last = 0
  readonly paths: (readonly string[])[] = []
  readonly nodes: NodeId[] = []
  readonly tasks: Writable<OutlineTask>[] = []
  readonly errors = new Map<number, string>()
  readonly edges: Writable<OutlineEdge>[] = []
  readonly commits: number[] = []
  readonly usage: number[] = []
  readonly #times: number[] = []
  readonly #paths = new Map<string, number>()
  readonly #nodes = new Map<NodeId, number>()
  readonly #tasks = new Map<string, number>()
  readonly #edges = new Map<string, Writable<OutlineEdge>>()
  /** The tasks of each path that have not ended, and the paths that each task called. */
  readonly #active = new Map<number, Set<number>>()
  readonly #calls = new Map<string, number[]>()

  constructor() {
    this.#pathOf([])
  }

  static from(data: OutlineData): RunOutline {
    const outline = new RunOutline()
    outline.runId = data.runId
    outline.seq = data.seq
    outline.startedAt = data.startedAt
    outline.last = data.last
    for (const path of data.paths.slice(1)) outline.#addPath(path)
    for (const node of data.nodes) outline.#nodeOf(node)
    for (const [path = 0, id = 0, node = 0, superstep = 0, ...marks] of data.tasks)
      outline.#addTask({ path, id, node: data.nodes[node] as NodeId, superstep, marks })
    for (const [task, text] of data.errors) outline.errors.set(task, text)
    for (const [path = 0, from = -1, to = -1, isJoin = 0, ...seqs] of data.edges)
      outline.#edgeOf(path, data.nodes[from], data.nodes[to], isJoin === 1).seqs = seqs
    for (const value of data.commits) outline.commits.push(value)
    for (const value of data.usage) outline.usage.push(value)
    for (const value of data.times) outline.#times.push(value)
    return outline
  }

  toJSON(): OutlineData {
    const { runId, seq, startedAt, last, paths, nodes, commits, usage } = this
    const index = (node: NodeId | undefined) => (node === undefined ? -1 : this.#nodeOf(node))
    const edges = this.edges.map(({ path, from, to, isJoin, seqs }) => [
      path,
      index(from),
      index(to),
      Number(isJoin),
      ...seqs,
    ])
    const tasks = this.tasks.map(({ path, id, node, superstep, marks }) => [
      path,
      id,
      this.#nodeOf(node),
      superstep,
      ...marks,
    ])
    const errors = [...this.errors]
    return {
      runId,
      seq,
      startedAt,
      last,
      paths,
      nodes,
      tasks,
      errors,
      edges,
      commits,
      usage,
      times: this.#times,
    }
  }

  /** When the event happened, within sixteen events. */
  timeAt(seq: number): number {
    if (seq >= this.seq) return this.startedAt + this.last
    return this.startedAt + (this.#times[Math.floor((Math.max(1, seq) - 1) / EVERY)] ?? 0)
  }

  /** The index of a task in `tasks`. */
  indexOf(path: readonly string[], id: TaskId): number | undefined {
    return this.#tasks.get(taskName(this.#paths.get(pathName(path)) ?? -1, id))
  }

  add(event: RunEvent): void {
    if (isLive(event) || event.seq !== this.seq + 1) return
    if (this.seq === 0) {
      this.runId = event.runId
      this.startedAt = event.at
    }
    this.seq = event.seq
    this.last = event.at - this.startedAt
    if ((event.seq - 1) % EVERY === 0) this.#times.push(this.last)
    this.#index(event)
  }

  #index(event: DurableEvent): void {
    const { seq } = event
    const isCall = event.type === "run.started" && event.path.length > 0
    const path = isCall ? this.#addPath(event.path) : this.#pathOf(event.path)
    switch (event.type) {
      case "task.started":
        this.#mark(event, MARK.started)
        if (event.attempt === 1) {
          const edge = this.#edgeOf(path, event.from, event.node, false)
          if (!edge.isJoin) edge.seqs.push(seq)
        }
        return
      case "task.finished":
        this.#mark(event, event.settled === undefined ? MARK.finished : MARK.settled, event.settled?.message)
        for (const { route } of event.sends)
          for (const join of route.joins ?? [])
            this.#edgeOf(path, event.node, joinTarget(join), true).seqs.push(seq)
        return
      case "task.failed":
        this.#mark(event, event.retryAt === undefined ? MARK.failed : MARK.retrying, event.error.message)
        return
      case "task.parked":
        this.#mark(event, MARK.parked)
        return
      case "task.resumed":
        this.#mark(event, MARK.resumed)
        return
      case "task.cancelled":
        this.#mark(event, MARK.cancelled)
        return
      case "task.rejected":
        this.#mark(event, MARK.rejected, event.reason)
        return
      case "output":
        this.#edgeOf(path, event.node, undefined, false).seqs.push(seq)
        return
      case "superstep.committed":
        if (path === 0) this.commits.push(seq, event.superstep, this.last)
        return
      case "run.finished":
        this.#endPath(path)
        return
      case "usage.recorded": {
        const { inputTokens = 0, outputTokens = 0, usd = 0 } = event.usage
        this.usage.push(seq, path, this.#nodeOf(event.node), inputTokens + outputTokens, usd)
      }
    }
  }

  #mark(event: Extract<DurableEvent, { type: `task.${string}` }>, mark: number, error?: string): void {
    const path = this.#pathOf(event.path)
    let index = this.#tasks.get(taskName(path, event.task))
    if (index === undefined) {
      const { task: id, node } = event
      this.#nodeOf(node)
      const superstep = event.type === "task.started" ? event.superstep : 0
      index = this.#addTask({ path, id, node, superstep, marks: [] })
    }
    this.tasks[index]?.marks.push(mark, event.seq, this.last)
    if (error !== undefined) this.errors.set(index, error.slice(0, MAX_ERROR))
    if (mark === MARK.retrying || ENDS.has(mark)) this.#endCalls(path, event.task)
    if (ENDS.has(mark)) this.#active.get(path)?.delete(index)
  }

  /** A workflow that ends, or whose caller does, ends what still executes in it; no event reports that. */
  #endPath(path: number): void {
    const active = this.#active.get(path)
    if (active === undefined) return
    for (const index of active) {
      const task = this.tasks[index]
      task?.marks.push(MARK.cancelled, this.seq, this.last)
      if (task !== undefined) this.#endCalls(path, task.id)
    }
    active.clear()
  }

  #endCalls(path: number, task: TaskId): void {
    const name = taskName(path, task)
    for (const called of this.#calls.get(name) ?? []) this.#endPath(called)
  }

  #addTask(task: Writable<OutlineTask>): number {
    const index = this.tasks.push(task) - 1
    this.#tasks.set(taskName(task.path, task.id), index)
    const last = task.marks.at(-3)
    if (last === undefined || !ENDS.has(last)) {
      const active = this.#active.get(task.path)
      if (active === undefined) this.#active.set(task.path, new Set([index]))
      else active.add(index)
    }
    return index
  }

  #pathOf(path: readonly string[]): number {
    return this.#paths.get(pathName(path)) ?? this.#addPath(path)
  }

  /** A task that calls a workflow again does so under the same path: from then on, events belong to the new call. */
  #addPath(path: readonly string[]): number {
    const part = path.at(-1)
    const index = this.paths.push(path) - 1
    this.#paths.set(pathName(path), index)
    if (part === undefined) return index
    const caller = taskName(this.#pathOf(path.slice(0, -1)), callerIn(part).task)
    this.#calls.set(caller, [...(this.#calls.get(caller) ?? []), index])
    return index
  }

  #nodeOf(node: NodeId): number {
    let index = this.#nodes.get(node)
    if (index === undefined) {
      index = this.nodes.push(node) - 1
      this.#nodes.set(node, index)
    }
    return index
  }

  #edgeOf(
    path: number,
    from: NodeId | undefined,
    to: NodeId | undefined,
    isJoin: boolean,
  ): Writable<OutlineEdge> {
    const name = JSON.stringify([path, from ?? null, to ?? null])
    let edge = this.#edges.get(name)
    if (edge === undefined) {
      edge = { path, from, to, isJoin, seqs: [] }
      if (from !== undefined) this.#nodeOf(from)
      if (to !== undefined) this.#nodeOf(to)
      this.edges.push(edge)
      this.#edges.set(name, edge)
    }
    return edge
  }
}

function pathName(path: readonly string[]): string {
  return path.length === 0 ? "" : JSON.stringify(path)
}

function taskName(path: number, id: TaskId): string {
  return `${path} ${id}`
}

/** The id of a join names its target last, and escapes its characters as `%2b`. */
function joinTarget(join: string): NodeId {
  return join
    .slice(join.lastIndexOf("=>") + 2)
    .replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
