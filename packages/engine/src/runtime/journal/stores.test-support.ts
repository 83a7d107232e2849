/** Stores for tests: appends that complete by hand, that fail on demand, that keep only what JSON keeps. */
import { type JournalRecord, memoryStore, type Store } from "../../index.ts"
import { settled } from "../../testing/index.ts"

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
  journal(runId: string): readonly JournalRecord[]
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
    ...inner,
    append: (...args) =>
      new Promise((resolve, reject) => {
        const succeed = () => {
          try {
            void inner.append(...args)
            resolve()
          } catch (error) {
            reject(error)
          }
        }
        waiting.push({ succeed, fail: reject })
      }),
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
    journal: (runId) => inner.read(runId, 0) as readonly JournalRecord[],
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
    ...inner,
    append(...args) {
      if (args[2].every(takes)) return inner.append(...args)
      if (how === "rejects") return Promise.reject(error)
      throw error
    },
  }
}

export interface TextStore extends Store {
  lines(runId: string): readonly string[]
  /** How many records there were after each append: where a process can have died. */
  ends(runId: string): readonly number[]
}

/** Keeps text, as a disk does: what JSON does not hold is gone, and nothing is shared with the run. */
export function textStore(): TextStore {
  const inner = memoryStore()
  const ends = new Map<string, number[]>()
  const throughText = <T>(value: T): T =>
    value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
  return {
    ...inner,
    append(lease, expectedSeq, records, change) {
      void inner.append(lease, expectedSeq, throughText(records), throughText(change))
      ends.set(lease.runId, [...(ends.get(lease.runId) ?? []), expectedSeq + records.length])
      return undefined
    },
    lines: (runId) =>
      (inner.read(runId, 0) as readonly JournalRecord[]).map((record) => JSON.stringify(record)),
    ends: (runId) => ends.get(runId) ?? [],
  }
}

/** A journal as a process left it that died after so many records. Its graphs are those of the store it comes from. */
export function storeWithPrefix(
  runId: string,
  lines: readonly string[],
  count: number,
  graphs?: Store,
): Store {
  const store = textStore()
  const records = lines.slice(0, count).map((line) => JSON.parse(line) as JournalRecord)
  const [first] = records
  if (first?.entry.type === "run.started") {
    const { workflow, graph } = first.entry
    void store.append({ runId, holder: "dead", token: 1 }, 0, records, { created: { workflow, graph } })
  }
  return graphs === undefined ? store : { ...store, graph: graphs.graph }
}
