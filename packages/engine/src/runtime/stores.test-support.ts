/** Stores for tests: appends that complete by hand, that fail on demand, that keep only what JSON keeps. */
import { type JournalRecord, memoryStore, type Store } from "../index.ts"
import { settled } from "../testing/index.ts"

export interface HandDrivenStore extends Store {
  /** Lets the append that has waited longest complete, and what follows happen. */
  complete(): Promise<void>
  /** Lets the append that has waited longest fail. */
  fail(error: unknown): Promise<void>
  /** Lets every append complete, those that come of it too, until none waits. */
  completeAll(): Promise<void>
  /** Appends that wait. */
  readonly waiting: number
  /** What is durable. */
  records(runId: string): readonly JournalRecord[]
}

export function handDrivenStore(): HandDrivenStore {
  const inner = memoryStore()
  const waiting: { succeed: () => void; fail: (error: unknown) => void }[] = []
  const next = () => {
    const append = waiting.shift()
    if (append === undefined) throw new Error("no append waits")
    return append
  }
  return {
    append: (runId, expectedSeq, records) =>
      new Promise((resolve, reject) => {
        const succeed = () => {
          try {
            void inner.append(runId, expectedSeq, records)
            resolve()
          } catch (error) {
            reject(error)
          }
        }
        waiting.push({ succeed, fail: reject })
      }),
    read: (runId, afterSeq) => Promise.resolve(inner.read(runId, afterSeq)),
    async complete() {
      next().succeed()
      await settled()
    },
    async fail(error) {
      next().fail(error)
      await settled()
    },
    async completeAll() {
      for (await settled(); waiting.length > 0; await settled()) next().succeed()
    },
    get waiting() {
      return waiting.length
    },
    records: (runId) => inner.read(runId, 0) as readonly JournalRecord[],
  }
}

/** Takes appends as long as `takes` says so; after that it throws, or rejects, with the error. */
export function failingStore(
  takes: (record: JournalRecord) => boolean,
  error: Error,
  how: "throws" | "rejects",
): Store {
  const inner = memoryStore()
  return {
    append(runId, expectedSeq, records) {
      if (records.every(takes)) return inner.append(runId, expectedSeq, records)
      if (how === "rejects") return Promise.reject(error)
      throw error
    },
    read: inner.read,
  }
}

export interface TextStore extends Store {
  lines(runId: string): readonly string[]
  /** How many records there were after each append: where a process can have died. */
  ends(runId: string): readonly number[]
}

/** Keeps text, as a disk does: what JSON does not hold is gone, and nothing is shared with the run. */
export function textStore(): TextStore {
  const journals = new Map<string, { lines: string[]; ends: number[] }>()
  const lines = (runId: string) => journals.get(runId)?.lines ?? []
  return {
    append(runId, _, records) {
      const journal = journals.get(runId) ?? { lines: [], ends: [] }
      journals.set(runId, journal)
      journal.lines.push(...records.map((record) => JSON.stringify(record)))
      journal.ends.push(journal.lines.length)
      return undefined
    },
    read: (runId, afterSeq) =>
      lines(runId)
        .slice(afterSeq)
        .map((line) => JSON.parse(line)),
    lines,
    ends: (runId) => journals.get(runId)?.ends ?? [],
  }
}

/** A journal as a process left it that died after so many records. */
export function storeWithPrefix(runId: string, lines: readonly string[], count: number): Store {
  const store = textStore()
  const records = lines.slice(0, count).map((line) => JSON.parse(line) as JournalRecord)
  void store.append(runId, 0, records)
  return store
}
