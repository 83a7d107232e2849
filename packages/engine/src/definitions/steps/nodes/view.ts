/**
 * What a step sees of earlier steps: the latest output of each, in the order of definition. In a parallel block it sees the
 * outputs from before the block, and those of its own branch.
 *
 * V1 What a step sees does not depend on the progress of other branches, so it is the same after a crash.
 * V2 Records are read when something needs them: a list that was read is copied by the next write to it.
 */
import { textOf } from "../../../expressions/index.ts"
import { RecordIndex } from "./record-index.ts"
import type { MapItem, StepRecord, StepsInput } from "./records.ts"
import type { StepList } from "./step-list.ts"

export interface ViewOptions {
  readonly steps: StepList
  readonly path: string
  readonly prompt: string
  /** The input in the state that the records belong to. */
  readonly input?: StepsInput | undefined
  readonly records: () => readonly StepRecord[]
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
  /** How many records are from outside of the sub-workflow. */
  readonly carried: number
  readonly #options: ViewOptions
  #seen: Seen | undefined

  constructor(options: ViewOptions) {
    const { steps, path, prompt, items, carried, runId } = options
    this.steps = steps
    this.path = path
    this.prompt = prompt
    this.items = items
    this.runId = runId
    this.carried = carried
    this.#options = options
  }

  /** The latest output of a step. */
  output(path: string): StepRecord | undefined {
    const { index, records, lineage, began } = this.#read()
    const end = endOfSeen(lineage, began, this.steps.layout.lineage(path))
    return index.output(path, Math.min(end, records.length))
  }

  /** The latest output of every step. */
  *outputs(): Generator<StepRecord> {
    for (const path of this.#read().index.paths) {
      const record = this.output(path)
      if (record !== undefined) yield record
    }
  }

  /** The path of the latest output. */
  get lastPath(): string | undefined {
    return this.#read().records.findLast(({ begun }) => begun !== true)?.id
  }

  /** The records of the sub-workflow itself. */
  get own(): readonly StepRecord[] {
    return this.#read().records.slice(this.carried)
  }

  with(...more: readonly StepRecord[]): View {
    const records = [...this.#read().records, ...more]
    return new View({ ...this.#options, input: undefined, records: () => records })
  }

  /** The outputs of earlier steps, then the prompt. */
  promptText(own?: string): string {
    const prompt = own ?? this.prompt
    const parts: string[] = []
    for (const { id, agent, output } of this.outputs()) {
      const text = textOf(output)
      if (text === "") continue
      parts.push(`[${id}${agent === undefined ? "" : ` (agent: ${agent})`}]:\n${text}\n\n`)
    }
    if (parts.length === 0) return prompt
    return `--- Prior Step Outputs ---\n\n${parts.join("")}--- End Prior Step Outputs ---\n\n${prompt}`
  }

  #read(): Seen {
    this.#seen ??= this.#readAll()
    return this.#seen
  }

  #readAll(): Seen {
    const { layout } = this.steps
    const records = this.#options.records()
    const index = RecordIndex.of(layout, this.#options.input, records)
    const lineage = layout.lineage(this.path)
    const began = lineage.map((branch) => {
      const block = branch.slice(0, branch.lastIndexOf(":"))
      return Math.max(index.beginning(block, records.length) ?? 0, this.carried)
    })
    return { index, records, lineage, began }
  }
}

interface Seen {
  readonly index: RecordIndex
  readonly records: readonly StepRecord[]
  /** The branch that the step is in, for every block around it, and the number of records when that block began. */
  readonly lineage: readonly string[]
  readonly began: readonly number[]
}

/** The first record that cannot be seen: from inside of a block, records from before it and of the same branch can. */
function endOfSeen(own: readonly string[], began: readonly number[], other: readonly string[]): number {
  let end = 0
  for (let depth = 0; depth < own.length; depth++) {
    end = Math.max(end, began[depth] as number)
    if (own[depth] !== other[depth]) return end
  }
  return Number.POSITIVE_INFINITY
}
