/**
 * A run on the screen: the outline of all its events, the view after the last one, and the latest events. The server has the
 * rest: views at other points and pages of events are read when a screen shows them. There is no second source of truth: what
 * the screen shows is the protocol's outline, its fold, or the events themselves.
 *
 * Invariants:
 * H1 `now` is the fold of all events, without tasks that have ended.
 * H2 memory does not grow with events, only with tasks: some hundred bytes each.
 * H3 events that arrive twice change nothing.
 */
import {
  emptyView,
  isLive,
  type OutlineData,
  type OutlineEdge,
  type RunEvent,
  RunFold,
  RunOutline,
  type RunView,
  withoutEnded,
} from "@superstep/engine/protocol"
import { edgeKey, nodePath, taskKey } from "./keys.ts"
import { addDelta, type DeltaEvent, type LiveText } from "./live-text.ts"

/** Latest events and log lines that are kept. */
const MAX_TAIL = 2_000
const MAX_LOGS = 1_000
/** Events after which tasks that have ended leave the fold. */
const PRUNE = 500

export class RunHistory {
  readonly outline: RunOutline
  /** The latest journaled events. */
  tail: RunEvent[] = []
  /** The latest log lines and custom events, with the number of the event before them. */
  readonly logs: Extract<RunEvent, { type: "log" | "custom" }>[] = []
  /** Changes with every log line. */
  logged = 0
  /** What models are writing now, by call. */
  readonly texts = new Map<string, LiveText>()
  #fold: RunFold
  readonly #nodePaths: string[] = []
  readonly #edges = new Map<string, OutlineEdge[]>()
  #edgesKnown = 0

  constructor(start?: { readonly outline: OutlineData; readonly view: RunView }) {
    this.outline = start === undefined ? new RunOutline() : RunOutline.from(start.outline)
    this.#fold = new RunFold(start?.view ?? emptyView())
  }

  get length(): number {
    return this.outline.seq
  }

  /** After all events so far. */
  get now(): RunView {
    return this.#fold.view
  }

  /** The number of the first event of the tail. */
  get tailStart(): number {
    return this.length - this.tail.length + 1
  }

  add(event: RunEvent): void {
    if (isLive(event)) {
      this.#addLive(event)
      return
    }
    if (event.seq !== this.length + 1) return
    this.outline.add(event)
    this.#fold.add(event)
    this.tail.push(event)
    if (this.tail.length > 2 * MAX_TAIL) this.tail = this.tail.slice(-MAX_TAIL)
    if (event.seq % PRUNE === 0) this.#fold = new RunFold(withoutEnded(this.#fold.view))
    this.#endTexts(event)
  }

  /** When an event happened. */
  timeAt(seq: number): number {
    return this.tail[seq - this.tailStart]?.at ?? this.outline.timeAt(seq)
  }

  /** The nodes that lead to a path of the outline. */
  nodePathOf(path: number): string {
    let known = this.#nodePaths[path]
    if (known === undefined) {
      known = nodePath(this.outline.paths[path] ?? [])
      this.#nodePaths[path] = known
    }
    return known
  }

  /** How many messages went along an edge of the graph up to a point, in all calls of its workflow. */
  countOf(edge: string, at: number): number {
    const { edges } = this.outline
    for (; this.#edgesKnown < edges.length; this.#edgesKnown++) {
      const one = edges[this.#edgesKnown] as OutlineEdge
      const key = edgeKey(this.nodePathOf(one.path), one.from, one.to)
      this.#edges.set(key, [...(this.#edges.get(key) ?? []), one])
    }
    return (this.#edges.get(edge) ?? []).reduce((sum, { seqs }) => sum + countUpTo(seqs, at), 0)
  }

  #addLive(event: RunEvent): void {
    if (event.type === "log" || event.type === "custom") {
      this.logs.push(event)
      this.logged++
      if (this.logs.length > MAX_LOGS) this.logs.splice(0, this.logs.length - MAX_LOGS)
    } else if (event.type === "model.delta") addDelta(this.texts, event as DeltaEvent)
  }

  /** The reply is recorded: what was live is part of it now. */
  #endTexts(event: RunEvent): void {
    if (this.texts.size === 0) return
    const { type, path } = event
    if (type === "run.finished" && path.length === 0) this.texts.clear()
    else if (type === "step.recorded" || type === "task.finished" || type === "task.failed") {
      const key = taskKey(path, event.task)
      for (const call of this.texts.keys()) if (call.startsWith(`${key} `)) this.texts.delete(call)
    }
  }
}

/** How many numbers of a sorted list are at most this. */
function countUpTo(list: readonly number[], at: number, width = 1): number {
  let low = 0
  let high = list.length / width
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle * width] as number) <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** Numbers of `commits` in an outline: event number, superstep, time. */
export const COMMIT = 3

/** The points at which the scrubber stops: the commits of supersteps, and the last event. */
export function stepFrom({ outline: { commits, seq } }: RunHistory, at: number, direction: 1 | -1): number {
  if (direction === 1) return commits[countUpTo(commits, at, COMMIT) * COMMIT] ?? seq
  if (at <= 0) return 0
  return commits[(countUpTo(commits, at - 1, COMMIT) - 1) * COMMIT] ?? 0
}
