/**
 * What a step sees of the steps before it: of every step the latest output, in the order of definition. In a parallel
 * block, what was there when the block began, and what its own branch has left since.
 *
 * V1 what a step sees does not depend on how far other branches are: it is the same after a crash.
 */
import type { Json } from "../../core/index.ts"
import { textOf } from "../expressions/index.ts"
import type { Item, StepRecord } from "./records.ts"
import type { StepList } from "./step-list.ts"

interface ViewOptions {
  readonly steps: StepList
  /** The step that looks. */
  readonly path: string
  readonly prompt: string
  readonly records: readonly StepRecord[]
  readonly items: readonly Item[]
  readonly carried: number
  readonly runId: string
}

export class View {
  readonly steps: StepList
  readonly path: string
  readonly prompt: string
  readonly items: readonly Item[]
  readonly runId: string
  /** How many records there are by now. */
  readonly count: number
  /** How many of them came from outside of the block that runs as a workflow of its own. */
  readonly carried: number
  readonly #records: readonly StepRecord[]
  readonly #options: ViewOptions
  #latest: ReadonlyMap<string, StepRecord> | undefined

  constructor(options: ViewOptions) {
    const { steps, path, prompt, records, items, carried, runId } = options
    this.#options = options
    this.steps = steps
    this.path = path
    this.prompt = prompt
    this.items = items
    this.runId = runId
    this.carried = carried
    // The list grows while the step is at work.
    this.count = records.length
    this.#records = records
  }

  /** By path, in the order of definition. */
  get latest(): ReadonlyMap<string, StepRecord> {
    this.#latest ??= this.#visible()
    return this.#latest
  }

  /** What the step before has left, whichever that was. */
  get lastPath(): string | undefined {
    let path: string | undefined
    for (let i = 0; i < this.count; i++) {
      const record = this.#records[i] as StepRecord
      if (isDone(record)) path = record.id
    }
    return path
  }

  /** The records since it was entered from outside. */
  get own(): readonly StepRecord[] {
    return this.#records.slice(this.carried, this.count)
  }

  /** As it will be with more records. */
  with(...records: readonly StepRecord[]): View {
    return new View({ ...this.#options, records: [...this.#records.slice(0, this.count), ...records] })
  }

  /** The outputs of the steps before, then the prompt. */
  promptText(own?: string): string {
    const prompt = own ?? this.prompt
    const parts: string[] = []
    for (const { id, agent, output } of this.latest.values()) {
      const text = textOf(output)
      if (text === "") continue
      parts.push(`[${id}${agent === undefined ? "" : ` (agent: ${agent})`}]:\n${text}\n\n`)
    }
    if (parts.length === 0) return prompt
    return `--- Prior Step Outputs ---\n\n${parts.join("")}--- End Prior Step Outputs ---\n\n${prompt}`
  }

  #visible(): ReadonlyMap<string, StepRecord> {
    const { layout } = this.steps
    const lineage = layout.lineage(this.path)
    const began = this.#beginnings(lineage)
    const latest = new Map<string, StepRecord>()
    for (let i = 0; i < this.count; i++) {
      const record = this.#records[i] as StepRecord
      if (isDone(record) && isSeen(i, began, lineage, layout.lineage(record.id)))
        latest.set(record.id, record)
    }
    const sorted = [...latest].sort(([a], [b]) => layout.compare(a, b))
    return new Map(sorted)
  }

  /** For every block around the step, how many records there were when it began. */
  #beginnings(lineage: readonly string[]): readonly number[] {
    const began = lineage.map(() => this.carried)
    if (lineage.length === 0) return began
    const blocks = new Map(lineage.map((branch, depth) => [branch.slice(0, branch.lastIndexOf(":")), depth]))
    for (let i = this.carried; i < this.count; i++) {
      const { id, begun } = this.#records[i] as StepRecord
      const depth = begun ? blocks.get(id) : undefined
      if (depth !== undefined) began[depth] = i
    }
    return began
  }
}

function isDone({ begun }: StepRecord): boolean {
  return begun !== true
}

/** Seen from inside its blocks: what was there before each of them, or is of the same branch. */
function isSeen(
  at: number,
  began: readonly number[],
  own: readonly string[],
  other: readonly string[],
): boolean {
  for (let depth = 0; depth < own.length; depth++) {
    if (at < (began[depth] as number)) return true
    if (own[depth] !== other[depth]) return false
  }
  return true
}

/** What a step's output is, as data where it is data. */
export function outputOf(record: StepRecord): Json | undefined {
  return record.value === undefined ? record.output : record.value
}
