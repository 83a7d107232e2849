/**
 * Versions of workflows side by side. Every process that claims runs publishes the graphs it has, as a record of the store. The
 * others leave runs of those graphs to it if they would refuse them.
 *
 * Invariants:
 * V1 A run stays with the processes that have its graph while one of them claims runs, unless `onGraphChange` lets another
 *    version continue it.
 * V2 Only a holder that the store knows counts: when the last process of a version is gone, the others claim its runs. They
 *    execute those that have not begun, which fit every version, and refuse the rest.
 */
import type { Json } from "../core/index.ts"
import type { RunEnvironment, StoredRun } from "../runtime/index.ts"
import type { Programs } from "./programs.ts"

const KIND = "graphs"
/** Records that are read: more processes than these share a store rarely, and have the same versions. */
const MAX_PROCESSES = 1_000

export class Versions {
  readonly #environment: RunEnvironment
  readonly #programs: Programs
  readonly #publishes: boolean
  #elsewhere: ReadonlySet<string> = new Set()
  #known: Promise<void> | undefined
  #refreshing: Promise<void> | undefined
  #isClosed = false

  /** `publishes`: this process claims runs by itself. */
  constructor(environment: RunEnvironment, programs: Programs, publishes: boolean) {
    this.#environment = environment
    this.#programs = programs
    this.#publishes = publishes
  }

  /** Graphs whose runs other processes have and this one leaves to them, as of the last look. */
  get elsewhere(): readonly string[] {
    return [...this.#elsewhere]
  }

  /** Whether other processes continue the run, as of the last look (V1). */
  isElsewhere(run: Pick<StoredRun, "graph">): boolean {
    return this.#elsewhere.has(run.graph)
  }

  /** The same with a new look, for a run of another graph than this process has. */
  async leaves(run: StoredRun): Promise<boolean> {
    await this.refresh()
    return this.isElsewhere(run)
  }

  /** Resolves after the first look. */
  known(): Promise<void> {
    this.#known ??= this.refresh().catch((error) => {
      this.#known = undefined
      throw error
    })
    return this.#known
  }

  /** Publishes the graphs of this process if that changed, and looks at those of the others. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #refresh(): Promise<void> {
    if (this.#isClosed) return
    const { keeper, onGraphChange = "fail" } = this.#environment
    const { records } = keeper.store
    const own = this.#programs.graphs()
    const all = await records.list(KIND, { limit: MAX_PROCESSES })
    const mine = all.find(({ id }) => id === keeper.id)
    if (this.#publishes && own.length > 0 && JSON.stringify(mine?.value) !== JSON.stringify(own)) {
      // A record of an unknown holder counts for nothing (V2).
      await keeper.begin()
      await records.put(KIND, keeper.id, own, mine?.version ?? null)
    }
    const others = all.filter((record) => record !== mine)
    if (others.length === 0 || onGraphChange !== "fail") {
      this.#elsewhere = new Set()
      return
    }
    const holders = new Set((await keeper.store.holders()).map(({ id }) => id))
    const graphs = new Set<string>()
    for (const { id, value, version } of others) {
      if (holders.has(id)) for (const graph of graphsOf(value)) graphs.add(graph)
      else if (this.#publishes) await records.remove(KIND, id, version)
    }
    for (const graph of own) graphs.delete(graph)
    this.#elsewhere = graphs
  }

  /** This process claims nothing more: the others need not wait until the store forgets it. */
  async withdraw(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#refreshing?.catch(() => undefined)
    const { keeper } = this.#environment
    // V2 holds without it: a store that is gone already changes nothing.
    if (this.#publishes) await Promise.resolve(keeper.store.records.remove(KIND, keeper.id)).catch(() => {})
  }
}

/** A queued run that has not begun: it was queued before a deployment. */
export function fitsAnyVersion({ flow, seq }: StoredRun): boolean {
  return flow !== undefined && seq <= 1
}

function graphsOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : []
}
