/**
 * The outputs of earlier steps that a step sees: the latest of each, in the order of definition. In a parallel block it
 * sees the outputs from before the block, and those of its own branch.
 *
 * V1 The view does not depend on the progress of other branches, so it is the same after a crash.
 * V2 Records are read lazily: reading a list makes the next write copy it.
 */
import type { Json } from "../../../core/index.ts"
import { textOf } from "../../../expressions/index.ts"
import { append, type Channel, channel, replace } from "../../../runtime/index.ts"
import type { Layout, StepList } from "./step-list.ts"

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

/** Ids of the steps whose outputs a prompt begins with; none if it is empty, all if it is absent. */
export type PriorOutputs = readonly string[] | undefined

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

  /** The outputs of earlier steps, or of these, then the prompt. */
  promptText(own?: string, prior?: PriorOutputs): string {
    const prompt = own ?? this.prompt
    const outputs = this.#outputsText(prior)
    if (outputs === "") return prompt
    return `--- Prior Step Outputs ---\n\n${outputs}--- End Prior Step Outputs ---\n\n${prompt}`
  }

  #outputsText(prior: PriorOutputs): string {
    const { index, records, lineage } = this.#read()
    // Outside of blocks, a step sees all that is written.
    if (prior === undefined && lineage.length === 0) return index.text(records.length)
    const paths = prior?.flatMap((name) => this.steps.layout.resolve(name, this.path) ?? [])
    // A block stands for the steps in it.
    const isWanted = (id: string) =>
      paths === undefined || paths.some((path) => id === path || id.startsWith(`${path}/`))
    const parts: string[] = []
    for (const record of this.outputs()) if (isWanted(record.id)) parts.push(outputText(record))
    return parts.join("")
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

/** As prompts have it. */
function outputText({ id, agent, output }: StepRecord): string {
  const text = textOf(output)
  return text === "" ? "" : `[${id}${agent === undefined ? "" : ` (agent: ${agent})`}]:\n${text}\n\n`
}

interface Seen {
  readonly index: RecordIndex
  readonly records: readonly StepRecord[]
  /** The branch that the step is in, for every block around it, and the number of records when that block began. */
  readonly lineage: readonly string[]
  readonly began: readonly number[]
}

/**
 * The first record that the step cannot see. Inside a block, it sees records from before the block and of its own branch.
 */
function endOfSeen(own: readonly string[], began: readonly number[], other: readonly string[]): number {
  let end = 0
  for (let depth = 0; depth < own.length; depth++) {
    end = Math.max(end, began[depth] as number)
    if (own[depth] !== other[depth]) return end
  }
  return Number.POSITIVE_INFINITY
}

/**
 * The records of a run by path. The index grows with the list, so the work per step does not depend on the number of
 * earlier steps.
 */

/** The input of a run is one object for as long as the run is loaded. */
const indexes = new WeakMap<StepsInput, RecordIndex>()

class RecordIndex {
  /** The paths that have an output, in the order of definition. */
  readonly paths: string[] = []
  readonly #layout: Layout
  /** Where in the list the outputs of each path are, and the beginnings of each block. */
  readonly #outputs = new Map<string, number[]>()
  readonly #beginnings = new Map<string, number[]>()
  #records: readonly StepRecord[] = []
  /** How many of them are in the index. */
  #count = 0
  /** The latest outputs among the first records, in the order of definition. */
  #text = { value: "", records: 0, lastPath: "" }

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

  /** The latest outputs among the first records, as prompts have them. */
  text(before: number): string {
    if (before < this.#text.records || !this.#extendText(before)) this.#writeText(before)
    return this.#text.value
  }

  /** Most outputs are the first of their step, and come after those of all steps before it. False for others. */
  #extendText(before: number): boolean {
    const { value, records } = this.#text
    let { lastPath } = this.#text
    const parts = [value]
    for (let i = records; i < before; i++) {
      const record = this.#records[i] as StepRecord
      const { id, begun } = record
      if (begun) continue
      const isFirst = this.#outputs.get(id)?.[0] === i
      const isNext = lastPath === "" || this.#layout.compare(lastPath, id) <= 0
      if (!isFirst || !isNext) return false
      parts.push(outputText(record))
      lastPath = id
    }
    this.#keepText(parts, before, lastPath)
    return true
  }

  #writeText(before: number): void {
    const found = this.paths.flatMap((path) => this.output(path, before) ?? [])
    this.#keepText(found.map(outputText), before, found.at(-1)?.id ?? "")
  }

  /** Joins the parts, because a sum of strings would be copied part by part for every prompt that has it. */
  #keepText(parts: readonly string[], records: number, lastPath: string): void {
    this.#text = { value: parts.join(""), records, lastPath }
  }

  /** A list only grows, so comparing one record is enough. Forks of a run share the input, and differ in records. */
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

  /** Most outputs arrive in the order of definition. */
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

/**
 * The first number below `end` for which the predicate holds, if it also holds for all later ones; `end` if there is
 * none.
 */
function firstWhere(end: number, holds: (i: number) => boolean): number {
  let [from, to] = [0, end]
  while (from < to) {
    const middle = (from + to) >> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}

// The records that steps write to the state of a run. Every output is written once, by its step; the view derives what
// later steps see, so nothing is copied from step to step.

export interface StepRecord {
  /** The path of the step: `par/gen_1`, `each/0`. */
  readonly id: string
  readonly agent?: string | undefined
  readonly output?: Json | undefined
  /** The output as data, if the agent has structured output. */
  readonly value?: Json | undefined
  /** A block begins: its steps see the records before this one. */
  readonly begun?: true | undefined
  /** A block has ended: its steps with an output, in the order of definition. */
  readonly order?: readonly string[] | undefined
  /** An item of a map has ended: the path of the record with its output. */
  readonly last?: string | undefined
}

export interface MapItem {
  readonly index: number
  readonly value: Json
}

export interface StepsInput {
  readonly prompt: string
  /** The items of the maps around it, from the outside in. */
  readonly items?: readonly MapItem[] | undefined
  readonly carried?: number | undefined
}

export const RECORDS: Channel<readonly StepRecord[], readonly StepRecord[]> = channel(
  "steps",
  append<StepRecord>(),
)

export const INPUT: Channel<StepsInput | undefined, StepsInput> = channel("input", replace<StepsInput>())

export function stepsState(): readonly Channel<unknown, never>[] {
  return [INPUT, RECORDS]
}

export interface StepContext {
  readonly [id: string]: StepOutput
}

/** The output of a step, or of the steps in a block. */
export type StepOutput =
  | { readonly output: Json; readonly agent?: string | undefined }
  | { readonly steps: StepContext; readonly order: readonly string[] }

interface Block {
  readonly inside: Map<string, Block>
  record?: StepRecord | undefined
}

/** The outputs of a run, from its state: the latest of every step, in the order of their first run. Works for failed runs too. */
export function stepContext(state: Readonly<Record<string, unknown>>): StepContext {
  const root: Block = { inside: new Map() }
  for (const record of (state.steps ?? []) as readonly StepRecord[]) {
    let block = root
    for (const name of record.id.split("/")) {
      const next = block.inside.get(name) ?? { inside: new Map() }
      block.inside.set(name, next)
      block = next
    }
    if (record.begun !== true) block.record = record
  }
  return contextOf(root)
}

/** Parallel steps end in any order, so a finished block records the order of definition. */
function contextOf({ inside, record }: Block): StepContext {
  const names = new Set([...(record?.order ?? []), ...inside.keys()])
  const entries = [...names].flatMap((name): [string, StepOutput][] => {
    const block = inside.get(name)
    const found = block === undefined ? undefined : outputIn(block)
    return found === undefined ? [] : [[name, found]]
  })
  return Object.fromEntries(entries)
}

function outputIn(block: Block): StepOutput | undefined {
  const { record, inside } = block
  if (inside.size > 0 || record?.order !== undefined) {
    const steps = contextOf(block)
    return { steps, order: record?.order ?? Object.keys(steps) }
  }
  const output = record === undefined ? undefined : outputOf(record)
  if (output === undefined) return undefined
  return record?.agent === undefined ? { output } : { output, agent: record.agent }
}

/** The output of a step: its data if it has structured output. */
export function outputOf(record: StepRecord): Json | undefined {
  return record.value === undefined ? record.output : record.value
}
