/** Writes the first records of a run that nobody holds yet: any process that has the workflow goes on with it. */
import type { Effect, Entry, Machine, RunId, RunStarted } from "../core/index.ts"
import type { JournalRecord, RunCreated, Store } from "../runtime/index.ts"
import { RunRow } from "../runtime/run-row.ts"
import { standingOf } from "./standing.ts"

/**
 * Holds runs while they are written. The store does not know it: should this process die before it lets go of a run,
 * that run is free all the same.
 */
const WRITER = "fork"

export class NewRun {
  readonly #store: Store
  readonly #machines: ReadonlyMap<string, Machine>
  readonly #row: RunRow
  readonly #after: number
  readonly #records: JournalRecord[] = []
  #events: number

  /** `machines` by frame, as they are after the record that the run's own ones follow. */
  constructor(
    store: Store,
    machines: ReadonlyMap<string, Machine>,
    after: Pick<JournalRecord, "seq" | "events">,
  ) {
    this.#store = store
    this.#machines = machines
    this.#row = new RunRow(store)
    this.#after = after.seq
    this.#events = after.events
  }

  add(frame: string, entry: Entry): void {
    const machine = this.#machines.get(frame) as Machine
    const before = machine.eventCount
    this.#keep({ key: frame, machine }, entry, machine.apply(entry), before)
  }

  /** The entry that the machine was started with. */
  addStart(machine: Machine, entry: RunStarted, effects: readonly Effect[]): void {
    this.#keep({ key: "", machine }, entry, effects, 0)
  }

  #keep(
    frame: { readonly key: string; readonly machine: Machine },
    entry: Entry,
    effects: readonly Effect[],
    eventsBefore: number,
  ): void {
    this.#row.follow(frame, entry, effects)
    this.#events += frame.machine.eventCount - eventsBefore
    const seq = this.#after + this.#records.length + 1
    this.#records.push({ seq, frame: frame.key, entry, events: this.#events })
  }

  async write(runId: RunId, created: RunCreated): Promise<void> {
    const status = standingOf([...this.#machines.values()])
    this.#row.create(created, undefined)
    this.#row.stand(status, this.#machines.get("") as Machine)
    const lease = { runId, holder: WRITER, token: 1 }
    await this.#store.append(lease, this.#after, this.#records, this.#row.take())
    await this.#store.release(lease, status === "waiting" ? this.#nextTimer() : undefined)
  }

  #nextTimer(): number | undefined {
    const due = [...this.#machines.values()].flatMap((machine) => machine.nextTimer() ?? [])
    return due.length === 0 ? undefined : Math.min(...due)
  }
}
