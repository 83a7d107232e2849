/**
 * How a simulated process reaches its store: some of what it asks is done at once, some of it when its turn comes.
 * The journal is kept as text, so that nothing is shared with the process that wrote it; beside it there is a memory
 * store, which has the rows, leases and snapshots.
 */
import { jsonProblem, SuperstepError } from "../core/index.ts"
import type { JournalRecord, RunChange, Snapshot, Store } from "../runtime/index.ts"
import type { RunSnapshot } from "../runtime/loaded-run.ts"
import type { Random } from "./random.ts"
import type { SimulatedJournal } from "./simulated-journal.ts"

export interface StoreSurroundings {
  readonly random: Random
  readonly journal: SimulatedJournal
  /** What the store has beside the journal. */
  readonly rows: Store
  /** Holders whose processes are dead. */
  readonly dead: Set<string>
  readonly onBroken: (problem: string) => void
}

/** The process, as far as its store needs it. */
export interface Life {
  readonly isAlive: boolean
  /** Resolves when the turn is taken. A write that is under way when the process dies happens or not. */
  later<T>(kind: "read" | "write", act: () => T | Promise<T>): Promise<T>
  /** Whether the process is to die in the middle of the write of these records. */
  deathIn(first: number, last: number): "before" | "after" | undefined
  /** It has a name under which it can hold runs. */
  named(holder: string): void
  /** It holds the run. */
  holds(): void
}

export function simulatedStore(world: StoreSurroundings, life: Life): Store {
  const { random, journal, rows, dead, onBroken } = world

  const check = () => {
    if (!life.isAlive) throw fenced()
  }
  const mayTakeTime = <T>(kind: "read" | "write", act: () => T | Promise<T>): T | Promise<T> => {
    check()
    return random.chance(0.6) ? act() : life.later(kind, act)
  }
  const textOf = (value: object): string => {
    const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
    if (problem !== undefined)
      onBroken(`what is stored cannot be stored (M6): ${problem.path} ${problem.reason}`)
    return JSON.stringify(value)
  }
  /** Whoever changes what it has given away would find it in one process and not in the next. */
  const checkUnchanged = (text: string, value: object) => {
    if (text === JSON.stringify(value)) return
    onBroken(
      `data changed after it was sent or returned, so the run and its journal no longer agree (M6): ${text}`,
    )
  }

  const append: Store["append"] = (lease, expectedSeq, records, change) => {
    check()
    const text = textOf(records)
    const kept = copyOf(change)
    const write = () => {
      checkUnchanged(text, records)
      void rows.append(lease, expectedSeq, JSON.parse(text) as JournalRecord[], kept)
      journal.append(expectedSeq, text)
      life.holds()
    }
    const death = life.deathIn(expectedSeq + 1, expectedSeq + records.length)
    if (death === "after") write()
    if (death !== undefined) return new Promise(() => undefined)
    if (!random.chance(0.3)) return life.later("write", write)
    write()
    return undefined
  }

  const saveSnapshot: Store["saveSnapshot"] = (lease, snapshot) => {
    check()
    const text = textOf(snapshot)
    // A closer look costs as much as the run so far.
    if (random.chance(0.2)) journal.checkSnapshot(snapshot.seq, snapshot.data as unknown as RunSnapshot)
    return mayTakeTime("write", () => {
      checkUnchanged(text, snapshot)
      return rows.saveSnapshot(lease, JSON.parse(text) as Snapshot)
    })
  }

  return {
    ...rows,
    append,
    saveSnapshot,
    read: (_, afterSeq) => mayTakeTime("read", () => journal.records(afterSeq)),
    snapshot: (runId) => mayTakeTime("read", () => copyOf(rows.snapshot(runId) as Snapshot | undefined)),
    run: (runId) => mayTakeTime("read", () => rows.run(runId)),
    claim: (runId, token, holder) =>
      mayTakeTime("write", async () => {
        const lease = await rows.claim(runId, token, holder)
        if (lease !== undefined) life.holds()
        return lease
      }),
    release: (lease, wakeAt) => mayTakeTime("write", () => rows.release(lease, wakeAt)),
    // A process says that it lives, and looks for mail, by real time: whatever the seed says, that happens at once.
    beat(holder) {
      check()
      life.named(holder.id)
      return rows.beat(holder)
    },
    mail(holder) {
      check()
      return rows.mail(holder)
    },
    async holders() {
      const holders = await rows.holders()
      return holders.map((holder) => (dead.has(holder.id) ? { ...holder, lapsed: true } : holder))
    },
  }
}

/** As it comes back from disk; graphs are the same for all. */
function copyOf<T extends RunChange | Snapshot>(value: T | undefined): T | undefined {
  if (value === undefined) return undefined
  const { graphs, ...rest } = value as RunChange
  const copy = JSON.parse(JSON.stringify(rest)) as T
  return graphs === undefined ? copy : { ...copy, graphs }
}

function fenced(): SuperstepError {
  return new SuperstepError("FENCED", "This process of the simulation is dead; another one holds the run.")
}
