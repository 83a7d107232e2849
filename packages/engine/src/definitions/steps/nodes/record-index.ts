/**
 * The records of a run by path. The index grows with the list, so that the work per step does not depend on the number of
 * steps before it.
 */
import type { StepRecord, StepsInput } from "./records.ts"
import type { Layout } from "./step-list.ts"

/** The input of a run is one object for as long as the run is loaded. */
const indexes = new WeakMap<StepsInput, RecordIndex>()

export class RecordIndex {
  /** The paths that have an output, in the order of definition. */
  readonly paths: string[] = []
  readonly #layout: Layout
  /** Where in the list the outputs of each path are, and the beginnings of each block. */
  readonly #outputs = new Map<string, number[]>()
  readonly #beginnings = new Map<string, number[]>()
  #records: readonly StepRecord[] = []
  /** How many of them are in the index. */
  #count = 0

  /** The index that covers the records. Without an input they belong to no run, and the index is not kept. */
  static of(layout: Layout, input: StepsInput | undefined, records: readonly StepRecord[]): RecordIndex {
    const known = input && indexes.get(input)
    const index = known?.isOf(records) ? known : new RecordIndex(layout)
    if (input !== undefined && index !== known) indexes.set(input, index)
    index.#extend(records)
    return index
  }

  constructor(layout: Layout) {
    this.#layout = layout
  }

  /** The last output of the path among the first records. */
  output(path: string, before: number): StepRecord | undefined {
    const at = lastBefore(this.#outputs.get(path), before)
    return at === undefined ? undefined : this.#records[at]
  }

  /** Where the block last began among the first records. */
  beginning(block: string, before: number): number | undefined {
    return lastBefore(this.#beginnings.get(block), before)
  }

  /** A list only grows, so that one record tells: forks of a run share the input, and differ in records. */
  isOf(records: readonly StepRecord[]): boolean {
    const last = Math.min(records.length, this.#count) - 1
    return records[last] === this.#records[last]
  }

  #extend(records: readonly StepRecord[]): void {
    if (records.length <= this.#count) return
    for (let i = this.#count; i < records.length; i++) {
      const { id, begun } = records[i] as StepRecord
      const positions = begun ? this.#beginnings : this.#outputs
      const known = positions.get(id)
      if (known !== undefined) known.push(i)
      else {
        positions.set(id, [i])
        if (!begun) this.#insert(id)
      }
    }
    this.#records = records
    this.#count = records.length
  }

  /** Most outputs come in the order of definition. */
  #insert(path: string): void {
    const { paths } = this
    let at = paths.length
    if (at > 0 && this.#layout.compare(paths[at - 1] as string, path) > 0) {
      at = firstWhere(paths.length, (i) => this.#layout.compare(paths[i] as string, path) > 0)
    }
    paths.splice(at, 0, path)
  }
}

function lastBefore(positions: readonly number[] | undefined, before: number): number | undefined {
  if (positions === undefined) return undefined
  return positions[firstWhere(positions.length, (i) => (positions[i] as number) >= before) - 1]
}

/** The first number below `end` for which it holds, and it holds for all after that; `end` if there is none. */
function firstWhere(end: number, holds: (i: number) => boolean): number {
  let [from, to] = [0, end]
  while (from < to) {
    const middle = (from + to) >> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}
