/** A step as it was read: its id, where it is written, and the expressions in it. */

import type { Json } from "../../core/index.ts"
import { type Path, textsIn } from "../../document/index.ts"
import {
  condition,
  type ExpressionError,
  expression,
  type Reference,
  template,
} from "../../expressions/index.ts"
import { tryRead } from "../dialect-input.ts"
import type { StepData } from "./step-shape.ts"

interface Common {
  readonly id: string
  /** Its id after those of the blocks it is in; `*` stands for the number of a map's item. */
  readonly path: string
  /** One branch of one block: a goto cannot leave it. */
  readonly region: string
  readonly data: StepData
  /** Where it is in the document, and in words: `step[2].true[0]`. */
  readonly at: Path
  readonly where: string
  /** The first step that was moved to just before it: a goto to this step goes there. */
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
  /** One step makes the output of an item. */
  readonly isSingle: boolean
}

export interface GotoStep extends Common {
  readonly type: "goto"
  readonly target: string | number
  /** It was an agent step, whose id is an alias for the target. */
  readonly isAlias?: boolean | undefined
}

interface PlainStep extends Common {
  readonly type: "human" | "tool" | "workflow" | "team" | "research"
}

export type Step = AgentStep | ConditionStep | ParallelStep | MapStep | GotoStep | PlainStep

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

/** All steps in the order of definition, each before those inside it. */
export function* everyStep(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step
    for (const list of listsIn(step)) yield* everyStep(list)
  }
}

export function hasWorkflow({ type }: Step): boolean {
  return type === "workflow" || type === "team" || type === "research"
}

export function hasOutput({ type }: Step): boolean {
  return type !== "condition" && type !== "goto"
}

export interface StepText {
  readonly text: string
  readonly at: Path
  readonly read: { readonly references: readonly Reference[] } | ExpressionError
}

type Reader = (text: string) => { readonly references: readonly Reference[] }

export const asTemplate: Reader = (text) => template(text, "steps")
const asCondition: Reader = (text) => condition(text, "steps")
const asList: Reader = (text) => (text.includes("{{") ? asTemplate(text) : expression(text, "steps"))

/** They decide whether or where to continue, so the steps that they name run first. */
export function decidingTexts(step: Step): StepText[] {
  const { data, at } = step
  const found: StepText[] = []
  if (data.when !== undefined) found.push(textAt([...at, "when"], String(data.when), asCondition))
  if (step.type === "condition" && step.condition !== "")
    found.push(textAt([...at, "condition"], step.condition, asCondition))
  return found
}

export function stepTexts(step: Step): readonly StepText[] {
  const { data, at } = step
  const found = decidingTexts(step)
  if (step.type === "map" && step.over !== "") found.push(textAt([...at, "over"], step.over, asList))
  if (data.prompt !== undefined) found.push(textAt([...at, "prompt"], data.prompt, asTemplate))
  for (const [path, text] of textsIn(data.args as Json | undefined, [...at, "args"])) {
    found.push(textAt(path, text, asTemplate))
  }
  return found
}

function textAt(at: Path, text: string, reader: Reader): StepText {
  return { text, at, read: tryRead(text, reader) }
}

/** Whether some braces contain a reference. Instructions may contain braces for other purposes. */
export function hasTemplate(text: string): boolean {
  const [, ...parts] = text.split("{{")
  return parts.some((part) => /\$[A-Za-z_]/.test(part.split("}}", 1)[0] as string))
}
