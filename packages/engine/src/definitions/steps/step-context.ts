/** The outputs of a run's steps as one object, from its state alone: for those who look at a run when it is over. */
import type { Json } from "../../core/index.ts"
import type { StepRecord } from "./records.ts"
import { outputOf } from "./view.ts"

export interface StepContext {
  readonly [id: string]: StepOutput
}

/** A step's output, or those of the steps in a block. */
export type StepOutput =
  | { readonly output: Json; readonly agent?: string | undefined }
  | { readonly steps: StepContext; readonly order: readonly string[] }

interface Block {
  readonly inside: Map<string, Block>
  record?: StepRecord | undefined
}

/** The latest of every step, in the order in which they first ran. Also of a run that failed in the middle. */
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

/** Steps that run at the same time end in any order: a block that has ended says which is theirs. */
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
