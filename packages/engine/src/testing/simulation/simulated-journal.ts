/**
 * The journal of a simulated run: what is durable, as text, whichever process wrote it. It folds every entry at once, so
 * that the simulator knows at any time what a restart would find.
 */

import { isDeepStrictEqual } from "node:util"
import {
  type Entry,
  type Graph,
  Machine,
  type OpenRequest,
  type RunStarted,
  SuperstepError,
  signatureOf,
  type TaskId,
} from "../../core/index.ts"
import type { JournalRecord, OpenWait, Program } from "../../runtime/index.ts"
import { type RunSnapshot, waitedFor, waitsOf } from "../../runtime/internal.ts"

interface Folded {
  readonly machine: Machine
  /** Tasks whose end is recorded. */
  readonly ended: Set<TaskId>
  /** Steps that are recorded and waits that have begun, by task; with the attempt that did so. */
  readonly keys: Map<TaskId, Map<string, number>>
}

const NOTHING: ReadonlySet<string> = new Set()

export class SimulatedJournal {
  /** The records of one write each. */
  readonly #texts: string[] = []
  readonly #ends: number[] = []
  readonly #bySignature: Map<string, Graph>
  readonly #frames = new Map<string, Folded>()
  readonly #onBroken: (problem: string) => void

  constructor(onBroken: (problem: string) => void, bySignature = new Map<string, Graph>()) {
    this.#onBroken = onBroken
    this.#bySignature = bySignature
  }

  /** Entries name their workflow by its signature: an unknown one cannot be folded. */
  knows(program: Program): void {
    this.#bySignature.set(signatureOf(program.graph).hash, program.graph)
  }

  get length(): number {
    return this.#ends.at(-1) ?? 0
  }

  /** Its length after each write. */
  get ends(): readonly number[] {
    return this.#ends
  }

  get root(): Machine | undefined {
    return this.#frames.get("")?.machine
  }

  /** Copies, as if read from disk. */
  records(afterSeq = 0): JournalRecord[] {
    const first = this.#ends.findIndex((end) => end > afterSeq)
    if (first < 0) return []
    const records = this.#texts.slice(first).flatMap((text) => JSON.parse(text) as JournalRecord[])
    return records.filter(({ seq }) => seq > afterSeq)
  }

  /** `text` is a list of records as JSON. */
  append(expectedSeq: number, text: string): void {
    if (expectedSeq !== this.length) {
      throw new SuperstepError(
        "JOURNAL_CONFLICT",
        `The simulated journal ends at ${this.length}, not at ${expectedSeq}.`,
      )
    }
    const records = JSON.parse(text) as JournalRecord[]
    this.#texts.push(text)
    this.#ends.push(this.length + records.length)
    for (const record of records) {
      if (this.root?.isOver()) this.#onBroken(`something is journaled after the run has ended: ${text}`)
      this.#fold(record)
    }
  }

  /** M6: a snapshot equals the fold of the journal up to it. */
  checkSnapshot(seq: number, { frames }: RunSnapshot): void {
    const upToThere = new SimulatedJournal(this.#onBroken, this.#bySignature)
    upToThere.append(0, JSON.stringify(this.records().slice(0, seq)))
    for (const { key, machine } of frames) {
      const folded = upToThere.#frames.get(key)?.machine.snapshot()
      const differences = folded === undefined ? "the frame does not exist" : difference(machine, folded)
      if (differences === undefined) continue
      this.#onBroken(
        `the snapshot after record ${seq}, frame "${key}", differs from the journal (M6): ${differences}`,
      )
    }
  }

  #fold({ seq, frame, entry }: JournalRecord): void {
    try {
      const folded = this.#frames.get(frame)
      if (folded === undefined) this.#start(frame, entry)
      else {
        noteKey(folded, entry)
        folded.machine.apply(entry)
        const task = "task" in entry ? entry.task : undefined
        if (task !== undefined && folded.machine.task(task) === undefined) folded.ended.add(task)
      }
    } catch (error) {
      this.#onBroken(`the journal cannot be folded (M6): record ${seq}, ${entry.type}: ${String(error)}`)
    }
  }

  #start(frame: string, entry: Entry): void {
    const graph = this.#bySignature.get((entry as RunStarted).signature)
    if (graph === undefined)
      throw new SuperstepError("JOURNAL_INVALID", `frame "${frame}" has no known graph`)
    const { machine } = Machine.start(graph, entry as RunStarted)
    this.#frames.set(frame, { machine, ended: new Set(), keys: new Map() })
  }

  /** Whether the task's end is recorded. */
  hasEnded(frame: string, task: TaskId): boolean {
    return this.#frames.get(frame)?.ended.has(task) === true
  }

  /** The current attempt of the task in the journal; undefined for an unknown or ended task. */
  attemptOf(frame: string, task: TaskId): number | undefined {
    return this.#frames.get(frame)?.machine.task(task)?.attempt
  }

  /** The records of an attempt: steps, and questions, sleeps and calls that it began. */
  keysOf(frame: string, task: TaskId, attempt: number): ReadonlySet<string> {
    const keys = this.#frames.get(frame)?.keys.get(task)
    if (keys === undefined) return NOTHING
    return new Set([...keys].flatMap(([key, by]) => (by === attempt ? [key] : [])))
  }

  hasStep(frame: string, task: TaskId, key: string): boolean {
    return this.#frames.get(frame)?.machine.task(task)?.memo?.has(key) === true
  }

  /** Open waits for signals of the run and of everything below it. */
  waits(): OpenWait[] {
    return this.root === undefined || this.root.isOver() ? [] : waitsOf(waitedFor(this.#frames))
  }

  /** Open questions of the run and of everything below it, by the ids that the run knows them by. */
  requests(): OpenRequest[] {
    if (this.root === undefined || this.root.isOver()) return []
    return [...this.#frames].flatMap(([frame, { machine }]) =>
      machine
        .requests()
        .map((request) => (frame === "" ? request : { ...request, id: `${frame}/${request.id}` })),
    )
  }
}

/** A retry may take another path: only its own records bind an attempt. */
function noteKey({ machine, keys }: Folded, entry: Entry): void {
  switch (entry.type) {
    case "step.recorded":
    case "request.opened":
    case "signal.awaited":
    case "timer.set":
    case "call.started": {
      const ofTask = keys.get(entry.task) ?? new Map<string, number>()
      keys.set(entry.task, ofTask)
      ofTask.set(entry.key, machine.task(entry.task)?.attempt ?? 1)
      break
    }
    default:
      break
  }
}

/** The fields in which two objects differ, or undefined. */
export function difference(a: object, b: object): string | undefined {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)]
  if (one === other) return undefined
  const left = JSON.parse(one) as Record<string, unknown>
  const right = JSON.parse(other) as Record<string, unknown>
  const fields = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  const differing = fields.filter((field) => !isDeepStrictEqual(left[field], right[field]))
  if (differing.length === 0) return undefined
  return differing
    .map((field) => `${field} is ${JSON.stringify(left[field])}, not ${JSON.stringify(right[field])}`)
    .join("; ")
}
