/** The first records of runs that are created without being executed. */
import type { Effect, Entry, Json, Machine, RunId, RunStarted, RunStatus } from "../../core/index.ts"
import { canonicalJson } from "../../core/internal.ts"
import type { CreatedRun } from "../ports/schedules.ts"
import type { Store } from "../ports/store.ts"
import type { JournalRecord, RunChange, RunCreated } from "../ports/stored.ts"
import { RunRow } from "./run-row.ts"

/**
 * Holds runs while they are written. The store does not know it: should this process die before it releases a run,
 * that run is free anyway.
 */
const WRITER = "new"

/** Writes the first records of a run that nobody holds yet: a fork, or a queued run. */
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
    this.#row = new RunRow()
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

  get machines(): readonly Machine[] {
    return [...this.#machines.values()]
  }

  /** Whether another run began with the same records, apart from its id and the time. */
  isLike(records: readonly JournalRecord[]): boolean {
    return this.#records.every((own, i) => {
      const other = records[i]
      return other !== undefined && own.frame === other.frame && timeless(own.entry) === timeless(other.entry)
    })
  }

  /** One that executes at once is queued if it has limits: its start counts against them as that of any other run. */
  async write(runId: RunId, created: RunCreated, status: RunStatus): Promise<void> {
    if (status === "running" && created.flow?.lanes !== undefined) {
      const { lease, records, change } = this.queued(runId, created, undefined)
      return await this.#store.append(lease, this.#after, records, change)
    }
    this.#row.create(created, undefined)
    this.#row.setStatus(status, this.#machines.get("") as Machine)
    const lease = { runId, holder: WRITER, token: 1 }
    await this.#store.append(lease, this.#after, this.#records, this.#row.take())
    await this.#store.release(lease, status === "waiting" ? this.#nextTimer() : undefined)
  }

  /** What creates a run that is to be claimed from the queue, from `startAt` on. */
  queued(runId: RunId, created: RunCreated, startAt: number | undefined): CreatedRun {
    this.#row.create({ ...created, queued: true }, undefined)
    this.#row.setIdle(true, { wakeAt: () => startAt })
    return {
      lease: { runId, holder: WRITER, token: 1 },
      records: this.#records,
      change: this.#row.take() as RunChange,
    }
  }

  #nextTimer(): number | undefined {
    const due = [...this.#machines.values()].flatMap((machine) => machine.nextTimer() ?? [])
    return due.length === 0 ? undefined : Math.min(...due)
  }
}

function timeless(entry: Entry): string {
  const own = { ...entry, at: undefined, runId: undefined, later: undefined, deadline: undefined }
  return canonicalJson(JSON.parse(JSON.stringify(own)) as Json)
}
