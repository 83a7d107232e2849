/**
 * The journal of a simulated run: what is durable, as text, whichever process wrote it. It folds every entry as
 * it comes, so that the simulator can ask at any time what a restart would find.
 */
import {
  type Entry,
  type Graph,
  Machine,
  type OpenRequest,
  type RunStarted,
  SuperstepError,
  signatureOf,
  type TaskId,
} from "../core/index.ts"
import type { JournalRecord, Program } from "../runtime/index.ts"

interface Folded {
  readonly machine: Machine
  /** Tasks whose end is on record. */
  readonly ended: Set<TaskId>
}

export class SimulatedJournal {
  readonly #texts: string[] = []
  readonly #bySignature = new Map<string, Graph>()
  /** The graphs of all workflows of the run, by name. */
  readonly graphs = new Map<string, Graph>()
  readonly #frames = new Map<string, Folded>()
  readonly #onBroken: (problem: string) => void

  constructor(onBroken: (problem: string) => void) {
    this.#onBroken = onBroken
  }

  /** Entries name their workflow by its signature: one that is not known cannot be folded. */
  knows(program: Program): void {
    this.#bySignature.set(signatureOf(program.graph).hash, program.graph)
    this.graphs.set(program.graph.name, program.graph)
  }

  get length(): number {
    return this.#texts.length
  }

  get root(): Machine | undefined {
    return this.#frames.get("")?.machine
  }

  /** Copies, as they come from disk. */
  records(): JournalRecord[] {
    return this.#texts.map((text) => JSON.parse(text) as JournalRecord)
  }

  append(expectedSeq: number, texts: readonly string[]): void {
    if (expectedSeq !== this.length) {
      throw new SuperstepError(
        "JOURNAL_CONFLICT",
        `The simulated journal ends at ${this.length}, not at ${expectedSeq}.`,
      )
    }
    for (const text of texts) {
      if (this.root?.isOver()) this.#onBroken(`something is journaled after the run is over: ${text}`)
      this.#texts.push(text)
      this.#fold(JSON.parse(text) as JournalRecord)
    }
  }

  #fold({ seq, frame, entry }: JournalRecord): void {
    try {
      const folded = this.#frames.get(frame)
      if (folded === undefined) this.#start(frame, entry)
      else {
        folded.machine.apply(entry)
        if ("task" in entry && folded.machine.task(entry.task) === undefined) folded.ended.add(entry.task)
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
    this.#frames.set(frame, { machine, ended: new Set() })
  }

  /** Whether the task's end is on record. */
  hasEnded(frame: string, task: TaskId): boolean {
    return this.#frames.get(frame)?.ended.has(task) === true
  }

  /** The attempt that the journal has the task in; undefined for a task that it does not know, or no longer. */
  attemptOf(frame: string, task: TaskId): number | undefined {
    return this.#frames.get(frame)?.machine.task(task)?.attempt
  }

  hasStep(frame: string, task: TaskId, key: string): boolean {
    return this.#frames.get(frame)?.machine.task(task)?.memo?.has(key) === true
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
