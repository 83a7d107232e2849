/** A step as it was read: with its id, and where it is written. */
import type { Path } from "../document/index.ts"
import type { StepData } from "./step-shape.ts"

interface Common {
  readonly id: string
  /** Its id after those of the blocks it is in; `*` stands for the number of a map's item. */
  readonly path: string
  /** The steps that it can go to, and be gone to from, have the same: those of one branch of one block. */
  readonly region: string
  readonly data: StepData
  /** Where it is in the document, and in words: `step[2].true[0]`. */
  readonly at: Path
  readonly where: string
  /** The path of the first step that was moved to just before it: who goes to it goes there. */
  readonly enteredAt?: string | undefined
}

export interface AgentStep extends Common {
  readonly type: "agent"
  readonly agent: string
}

interface ConditionStep extends Common {
  readonly type: "condition"
  readonly condition: string
  readonly yes: readonly Step[]
  readonly no: readonly Step[]
}

export interface ParallelStep extends Common {
  readonly type: "parallel"
  readonly branches: readonly Step[]
}

export interface MapStep extends Common {
  readonly type: "map"
  readonly over: string
  readonly body: readonly Step[]
  /** One step makes the item's output, under the item's number. */
  readonly isSingle: boolean
}

export interface GotoStep extends Common {
  readonly type: "goto"
  readonly target: string | number
  /** The step after it was an agent's of the same name: it is another name for the target. */
  readonly isAlias?: boolean | undefined
}

interface PlainStep extends Common {
  readonly type: "human" | "tool" | "workflow" | "team" | "research"
}

export type Step = AgentStep | ConditionStep | ParallelStep | MapStep | GotoStep | PlainStep

/** The lists of steps inside it. */
export function listsIn(step: Step): readonly (readonly Step[])[] {
  switch (step.type) {
    case "condition":
      return [step.yes, step.no]
    case "parallel":
      return step.branches.map((branch) => [branch])
    case "map":
      return [step.body]
    default:
      return []
  }
}

/** All of them, in the order of definition, those inside after the one they are in. */
export function* everyStep(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step
    for (const list of listsIn(step)) yield* everyStep(list)
  }
}

/** Whether it runs a workflow of its own. */
export function hasWorkflow({ type }: Step): boolean {
  return type === "workflow" || type === "team" || type === "research"
}

/** Whether there is an output under its id. */
export function hasOutput({ type }: Step): boolean {
  return type !== "condition" && type !== "goto"
}
