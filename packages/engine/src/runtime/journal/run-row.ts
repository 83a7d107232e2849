/** The row of a run in its store. Changes since the last write are written with the next one. */

import {
  type Effect,
  type Entry,
  type Graph,
  graphData,
  type Machine,
  type OpenRequest,
  type RequestId,
  type RunStatus,
} from "../../core/index.ts"
import { isIntent } from "../../core/internal.ts"
import { outerId } from "../ports/events.ts"
import {
  type ClosedRequest,
  type Idle,
  type RunChange,
  type RunCreated,
  type RunFailure,
  runFailure,
  type ThreadWrite,
} from "../ports/stored.ts"
import { type ThreadAtStart, threadWrites } from "./thread.ts"

interface FrameOfRow {
  readonly key: string
  readonly machine: Machine
}

export class RunRow {
  /** Graphs that this run has stored. The store keeps a graph as long as a run that stored it exists. */
  readonly #kept = new Set<string>()
  #created: RunCreated | undefined
  #status: RunStatus = "running"
  #newStatus: RunStatus | undefined
  #newError: RunFailure | undefined
  #newGraph: string | undefined
  #graphs: Map<string, Graph> | undefined
  #opened: OpenRequest[] | undefined
  #closed: ClosedRequest[] | undefined
  #thread: ThreadAtStart | undefined
  #threadWrites: readonly ThreadWrite[] | undefined
  /** Undefined while the run executes something. */
  #idle: Idle | undefined
  #newIdle: Idle | false | undefined
  #mail: string[] | undefined
  /** The run made progress since the last write, not only intents. */
  #isProgress = false
  #changed = false

  create(created: RunCreated, thread: ThreadAtStart | undefined): void {
    this.#created = created
    this.#thread = thread
    this.#changed = true
  }

  /** The store already knows the run. */
  resumeFrom(status: RunStatus, thread: ThreadAtStart | undefined): void {
    this.#status = status
    this.#thread = thread
  }

  /** Takes from an entry what the row needs: its graph, and the outcomes of requests. */
  follow({ key, machine }: FrameOfRow, entry: Entry, effects: readonly Effect[]): void {
    const { type, at } = entry
    if (!isIntent(entry)) this.#isProgress = true
    else if (!this.#isProgress) this.#changed = true
    if ("mail" in entry && entry.mail !== undefined) {
      this.#mail ??= []
      this.#mail.push(entry.mail)
      this.#changed = true
    }
    if (type === "run.started") this.#hasGraph(machine.graph)
    else if (type === "graph.changed") {
      this.#hasGraph(machine.graph)
      if (key === "") this.#newGraph = graphData(machine.graph).hash
      this.#changed = true
    }
    for (let i = 0; i < effects.length; i++) {
      const effect = effects[i] as Effect
      if (effect.type === "request") this.#open(key, effect.request)
      else if (effect.type === "request-closed") {
        this.#close(outerId(key, effect.request), effect.outcome, at, effect.by)
      }
    }
  }

  #hasGraph(graph: Graph): void {
    const { hash } = graphData(graph)
    if (this.#kept.has(hash)) return
    this.#graphs ??= new Map()
    this.#graphs.set(hash, graph)
    this.#changed = true
  }

  #open(frame: string, request: OpenRequest): void {
    this.#opened ??= []
    this.#opened.push(frame === "" ? request : { ...request, id: outerId(frame, request.id) })
    this.#changed = true
  }

  #close(id: RequestId, outcome: ClosedRequest["outcome"], at: number, by?: string): void {
    this.#closed ??= []
    this.#closed.push({ id, outcome, at, by })
    this.#changed = true
  }

  /** Withdraws the questions of a sub-workflow that no caller waits for any more. */
  withdraw({ key, machine }: FrameOfRow, at: number): void {
    for (const { id } of machine.requests()) this.#close(outerId(key, id), "withdrawn", at)
  }

  /** A run that completes or reaches a limit adds its writes to its thread. */
  setStatus(status: RunStatus, root: Machine): void {
    if (status === this.#status) return
    this.#status = status
    this.#newStatus = status
    this.#newError = root.isOver() && root.error !== undefined ? runFailure(root.error) : undefined
    if ((status === "completed" || status === "limit") && this.#thread !== undefined) {
      this.#threadWrites = threadWrites(root, this.#thread)
    }
    this.#changed = true
  }

  get isIdle(): boolean {
    return this.#idle !== undefined
  }

  /** Sets whether the run is idle; if so, `run.wakeAt` says when it continues by itself. */
  setIdle(isIdle: boolean, run: { wakeAt(): number | undefined }): void {
    if (!isIdle) {
      if (this.#idle === undefined) return
      this.#idle = undefined
      this.#newIdle = false
    } else {
      const wakeAt = run.wakeAt()
      if (this.#idle !== undefined && this.#idle.wakeAt === wakeAt) return
      this.#idle = { wakeAt }
      this.#newIdle = this.#idle
    }
    this.#changed = true
  }

  /** The store was updated without a record. */
  noteIdle(idle: Idle | false, status = this.#status): void {
    this.#idle = idle === false ? undefined : idle
    this.#status = status
  }

  /** Takes the changes since the last call. */
  take(): RunChange | undefined {
    if (!this.#changed) {
      this.#isProgress = false
      return undefined
    }
    const change: RunChange = {
      created: this.#created,
      status: this.#newStatus,
      error: this.#newError,
      graph: this.#newGraph,
      graphs:
        this.#graphs && [...this.#graphs].map(([hash, graph]) => ({ hash, graph: graphData(graph).data })),
      opened: this.#opened,
      closed: this.#closed,
      idle: this.#newIdle,
      mail: this.#mail,
      intent: this.#isProgress ? undefined : true,
      thread: this.#threadWrites,
    }
    this.#changed = false
    this.#created = undefined
    this.#newStatus = undefined
    this.#newError = undefined
    this.#newGraph = undefined
    this.#graphs = undefined
    this.#opened = undefined
    this.#closed = undefined
    this.#newIdle = undefined
    this.#mail = undefined
    this.#isProgress = false
    this.#threadWrites = undefined
    return change
  }

  /** The store has written this change. */
  wrote({ graphs }: RunChange): void {
    for (const { hash } of graphs ?? []) this.#kept.add(hash)
  }
}
