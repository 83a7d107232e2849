/**
 * The records that steps write to the state of a run. Every output is written once, by its step; `view.ts` derives what
 * later steps see, so nothing is copied from step to step.
 */
import type { Json } from "../../../core/index.ts"
import { append, type Channel, channel, replace } from "../../../runtime/index.ts"

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
