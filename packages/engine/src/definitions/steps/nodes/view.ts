/**
 * What a step sees of earlier steps: the latest output of each, in the order of definition. In a parallel block it sees the
 * outputs from before the block, and those of its own branch.
 *
 * V1 What a step sees does not depend on the progress of other branches, so it is the same after a crash.
 */
import { textOf } from "../../../expressions/index.ts"
import type { MapItem, StepRecord } from "./records.ts"
import type { StepList } from "./step-list.ts"

export interface ViewOptions {
  readonly steps: StepList
  readonly path: string
  readonly prompt: string
  readonly records: readonly StepRecord[]
  readonly items: readonly MapItem[]
  readonly carried: number
  readonly runId: string
}

export class View {
  readonly steps: StepList
  readonly path: string
  readonly prompt: string
  readonly items: readonly MapItem[]
  readonly runId: string
  /** The number of records when the view was made. */
  readonly count: number
  /** How many of them are from outside of the sub-workflow. */
  readonly carried: number
  readonly #records: readonly StepRecord[]
  #latest: ReadonlyMap<string, StepRecord> | undefined

  constructor(options: ViewOptions) {
    const { steps, path, prompt, records, items, carried, runId } = options
    this.steps = steps
    this.path = path
    this.prompt = prompt
    this.items = items
    this.runId = runId
    this.carried = carried
    // The list grows while the step runs.
    this.count = records.length
    this.#records = records
  }

  get latest(): ReadonlyMap<string, StepRecord> {
    this.#latest ??= this.#visible()
    return this.#latest
  }

  /** The path of the latest output. */
  get lastPath(): string | undefined {
    let path: string | undefined
    for (let i = 0; i < this.count; i++) {
      const record = this.#records[i] as StepRecord
      if (isDone(record)) path = record.id
    }
    return path
  }

  /** The records of the sub-workflow itself. */
  get own(): readonly StepRecord[] {
    return this.#records.slice(this.carried, this.count)
  }

  with(...records: readonly StepRecord[]): View {
    return new View({ ...this, records: [...this.#records.slice(0, this.count), ...records] })
  }

  /** The outputs of earlier steps, then the prompt. */
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

  /** For every block around the step, the number of records when it began. */
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

/** Visible from inside of a block: records from before it, and those of the same branch. */
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
