/**
 * What steps leave behind in the state of a run. Every output is written once, by its step; what a later step sees of it
 * (`view.ts`) follows from the list, so nothing is copied from step to step.
 */
import type { Json } from "../../core/index.ts"
import { append, type Channel, channel, replace } from "../../runtime/index.ts"

export interface StepRecord {
  /** Its id, after those of the blocks it is in: `par/gen_1`, `each/0`. */
  readonly id: string
  readonly agent?: string | undefined
  readonly output?: Json | undefined
  /** The output as data, where the agent has structured output. */
  readonly value?: Json | undefined
  /** A block begins: what comes before is what its steps see of the others. */
  readonly begun?: true | undefined
  /** A block has ended: its steps that have an output, in the order of definition. */
  readonly order?: readonly string[] | undefined
  /** An item of a map has ended: the record that has its output. */
  readonly last?: string | undefined
}

/** The item that a map is at. */
export interface Item {
  readonly index: number
  readonly value: Json
}

export interface StepsInput {
  readonly prompt: string
  /** Of the maps around it, from the outside in. */
  readonly items?: readonly Item[] | undefined
  /** How many of the records came with the input. */
  readonly carried?: number | undefined
}

export const RECORDS: Channel<readonly StepRecord[], readonly StepRecord[]> = channel(
  "steps",
  append<StepRecord>(),
)

export const INPUT: Channel<StepsInput | undefined, StepsInput> = channel("input", replace<StepsInput>())

/** The state that the steps of a workflow share. */
export function stepsState(): readonly Channel<unknown, never>[] {
  return [INPUT, RECORDS]
}
