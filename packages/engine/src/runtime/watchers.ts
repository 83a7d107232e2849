/** Those who watch a run: each gets every event in order, under one numbering for the whole run. */
import type { MachineEvent, RunId } from "../core/index.ts"
import { EventStream, type LiveEvent, type RunEvent, withOuterIds } from "./events.ts"

/** Where an event comes from: a run, or a workflow nested in it. */
interface Source {
  readonly key: string
  readonly path: readonly string[]
}

export class Watchers {
  readonly #runId: RunId
  readonly #onChange: () => void
  #streams: Set<EventStream> | undefined
  /** The number of the last event that was due, watched or not. */
  #given = 0

  constructor(runId: RunId, onChange: () => void) {
    this.#runId = runId
    this.#onChange = onChange
  }

  get any(): boolean {
    return this.#streams !== undefined && this.#streams.size > 0
  }

  add(): EventStream {
    const stream: EventStream = new EventStream(() => {
      this.#streams?.delete(stream)
      this.#onChange()
    })
    this.#streams ??= new Set()
    this.#streams.add(stream)
    this.#onChange()
    return stream
  }

  emit({ key, path }: Source, seq: number, at: number, event: MachineEvent): void {
    this.#given = seq
    this.#push({ runId: this.#runId, seq, at, path, ...withOuterIds(key, event) })
  }

  /** Live events are not numbered: they have the number of the last one that was. */
  emitLive({ path }: Source, at: number, event: LiveEvent): void {
    if (this.any) this.#push({ runId: this.#runId, seq: this.#given, at, path, ...event })
  }

  /** Events up to this number are out, whether or not somebody was there to see them. */
  gaveUpTo(seq: number): void {
    if (seq > this.#given) this.#given = seq
  }

  end(): void {
    for (const stream of this.#streams ?? []) stream.end()
    this.#streams = undefined
  }

  fail(error: unknown): void {
    for (const stream of this.#streams ?? []) stream.fail(error)
    this.#streams = undefined
  }

  #push(event: RunEvent): void {
    for (const stream of this.#streams ?? []) stream.push(event)
  }
}
