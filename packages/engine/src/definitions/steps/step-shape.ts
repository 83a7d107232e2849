/** The schema of a steps file. `step-kinds.ts` says which fields a step of each type needs and may have. */
import { z } from "zod"
import type { Json } from "../../core/index.ts"
import { type Path, textsIn } from "../../document/index.ts"
import {
  condition,
  type ExpressionError,
  expression,
  type Reference,
  template,
} from "../../expressions/index.ts"
import { RESEARCH_ROLES } from "../../patterns/research/index.ts"
import { agentShape, agentsFileFields, toolsetShape } from "../agents/index.ts"
import { tryRead } from "../dialect-input.ts"
import { durationShape, flowShape, nodeFlowShape, placementShape } from "../flow.ts"
import { jsonShape } from "../json-shape.ts"
import { schedulesShape } from "../schedules.ts"

const text = z.string()
const nonEmpty = text.min(1)
const count = z.int().min(0).optional()
const positive = z.int().min(1).optional()
const amount = z.number().min(0).optional()

const retryShape = z.strictObject({
  max_attempts: count.meta({ description: "Retries after the first attempt.", default: 0 }),
  backoff: z
    .enum(["fixed", "exponential"])
    .optional()
    .meta({ description: "fixed waits 1, 1, 1 s; exponential waits 1, 2, 4 s.", default: "fixed" }),
  initial_delay_seconds: amount.meta({ description: "Seconds before the first retry.", default: 1 }),
  on: z
    .union([text, z.array(text)])
    .optional()
    .describe(
      "Retries only errors whose code or message contains one of these strings. Default: every retryable error.",
    ),
})

export const STEP_TYPES = [
  "agent",
  "condition",
  "parallel",
  "human",
  "wait",
  "tool",
  "function",
  "workflow",
  "map",
  "team",
  "research",
  "goto",
] as const

export type StepType = (typeof STEP_TYPES)[number]

export const TEAM_MODES = ["sequential", "concurrent", "handoff", "group_chat", "magentic"] as const
export const RESEARCH_MODES = ["iterative", "deep", "auto"] as const

const searchShape = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("web_search"),
    engine: z
      .enum(["searxng", "brave", "tavily", "serper"])
      .describe("The environment has its key or its address."),
    results: positive.meta({ description: "Results per search.", default: 5 }),
    pages: count.meta({ description: "Result pages to read.", default: 2 }),
  }),
  z.strictObject({ type: z.literal("page") }).describe("Reads one web page."),
  z.strictObject({
    type: z.literal("documents"),
    paths: z.array(nonEmpty).min(1).describe("Files and folders, relative to this file."),
    embeddings: nonEmpty.optional().describe("Also searches by meaning: offline, or provider/model."),
    name: nonEmpty
      .optional()
      .meta({ description: "The tool's name, if there are several.", default: "documents" }),
    description: nonEmpty.optional().describe("What the documents contain; the model chooses by it."),
  }),
])

export type SearchData = z.infer<typeof searchShape>

const budgetShape = z
  .strictObject({
    tokens: amount.describe("Input and output tokens together."),
    usd: amount.describe("US dollars."),
    model_calls: amount,
    tool_calls: amount,
    iterations: amount,
    seconds: amount.describe("Of a whole workflow or a research; other steps have timeout."),
    allow_unpriced: z.boolean().optional().describe("With usd: counts models without a known price as free."),
  })
  .optional()

export type BudgetData = NonNullable<z.infer<typeof budgetShape>>

const priorOutputs = z
  .union([z.boolean(), z.array(nonEmpty)])
  .optional()
  .meta({
    description:
      "Which outputs of earlier steps a prompt begins with: true for all, false for none, or a list of ids.",
    default: true,
  })

const stepFields = {
  id: text.optional().describe("The name that templates use. Default: the agent's name."),
  type: text.optional(),
  name: text.optional().describe("A name for people."),
  description: text.optional().describe("For people; it has no effect."),
  when: z
    .union([text, z.boolean()])
    .optional()
    .describe("The step runs if this holds; otherwise it is skipped."),
  retry: retryShape.optional().describe("Runs the step again after a failure."),
  timeout: durationShape
    .optional()
    .describe('The time after which the step fails: seconds, or a string such as "90s" or "5m".'),
  flow: nodeFlowShape,
  placement: placementShape,
  on_error: z.enum(["fail", "continue"]).optional().meta({
    description:
      "continue: the workflow continues after a failure; in a parallel block, after one of its steps.",
    default: "fail",
  }),
  loop: z
    .boolean()
    .optional()
    .meta({ description: "false: a plain step, even as the last step of a branch.", default: true }),
  prompt: text.optional().describe("Replaces the user's prompt. A template."),
  condition: z.union([text, z.boolean(), z.number()]).optional().describe("An expression."),
  goto: z
    .union([text, z.int().min(0)])
    .optional()
    .describe("The id of a step, or its index in the list, from 0."),
  choices: z.array(jsonShape).min(1).optional().describe("The possible answers."),
  schema: z
    .record(text, jsonShape)
    .optional()
    .describe("JSON Schema of the answer, or of the signal's value."),
  to: text.optional().describe("Who is asked."),
  default: jsonShape.optional().describe("The value after a timeout."),
  signal: nonEmpty.max(200).optional().describe("The name of the signal."),
  tool: text.optional().describe("The name of the tool."),
  toolset: toolsetShape.optional().describe("The toolset that has the tool."),
  agent: text.optional().describe("The agent that has the tool."),
  args: z.record(text, jsonShape).optional().describe("The arguments. Strings are templates."),
  module: nonEmpty.optional().describe("The module and the name of the export, such as ./score.ts#score."),
  prior_outputs: priorOutputs,
  file: text.optional().describe("The file, relative to this one."),
  over: text.optional().describe("The list, as an expression."),
  concurrency: positive.describe("How many items at the same time. Default: all."),
  mode: text.optional().describe("How it works."),
  agents: z.array(text).optional().describe("The agents of the team, from `agents`."),
  manager: text.optional().describe("The agent that leads the team."),
  start: text.optional().describe("The first agent to speak. Default: the first of `agents`."),
  aggregate: text.optional().describe("The agent that combines the answers."),
  terminate: text.optional().describe("The team ends when this holds; sees $last, $speaker, $round."),
  autonomous: count.describe("Turns an agent takes alone before the user is asked."),
  plan_review: z.boolean().optional().describe("Whether a person reviews the plan first."),
  max_rounds: positive.describe("Maximum number of turns."),
  max_stalls: count.meta({
    description: "Rounds without progress before the manager starts over.",
    default: 3,
  }),
  max_resets: count.meta({ description: "How often the manager may start over.", default: 5 }),
  model: nonEmpty
    .optional()
    .describe("The model of its agents: a name from `models`, provider/model, or offline."),
  models: z.partialRecord(z.enum(RESEARCH_ROLES), nonEmpty).optional().describe("Other models, by role."),
  tools: z.array(searchShape).optional().describe("What it searches."),
  budget: budgetShape.describe("The most that the step may use in a run; at the limit the run ends."),
}

/** The fields without those that hold steps, which are recursive. */
type Fields = z.infer<z.ZodObject<typeof stepFields, z.core.$strict>>

export interface StepData extends Fields {
  readonly true?: readonly StepData[] | null | undefined
  readonly false?: readonly StepData[] | null | undefined
  readonly steps?: readonly StepData[] | null | undefined
  readonly step?: StepData | undefined
}

const stepShape: z.ZodType<StepData> = z.lazy(() => {
  const list = z.array(stepShape).nullable().optional()
  return z
    .strictObject({
      ...stepFields,
      true: list.describe("The steps if it holds."),
      false: list.describe("The steps if it does not hold."),
      steps: list.describe("The steps."),
      step: stepShape.optional().describe("The step for each item."),
    })
    .meta({ id: "step" })
})

const maxLoops = positive.meta({ description: "How often a step may run in a loop.", default: 100 })

const workflowShape = z.strictObject({
  steps: z.array(stepShape).nullable().optional(),
  max_loop_iterations: maxLoops,
  overrides: z.strictObject({ max_loop_iterations: maxLoops }).optional(),
  prior_outputs: priorOutputs,
  budget: budgetShape.describe("The most that a run may use. `--budget` replaces it."),
})

export const stepsShape = z.strictObject({
  name: text.optional(),
  description: text.optional(),
  agents: z.record(text, agentShape).optional(),
  ...agentsFileFields,
  workflow: z
    .union([z.array(stepShape), workflowShape])
    .nullable()
    .optional()
    .describe("A list of steps."),
  flow: flowShape.optional(),
  schedules: schedulesShape.optional(),
  version: z.union([text, z.number()]).optional(),
  metadata: jsonShape.optional(),
  // A field that has no effect here: it is reported with a warning.
  commands: jsonShape.optional(),
})

/** The fields at the top of a steps file. */
export const stepsFields = Object.keys(stepsShape.shape)

export type StepsData = z.infer<typeof stepsShape>

export const UNSUPPORTED_FIELDS = ["commands"] as const

/** A parsed step: its id, its place in the document, and its expressions. */

interface Common {
  readonly id: string
  /** Its id after those of the blocks it is in; `*` stands for the number of a map's item. */
  readonly path: string
  /** One branch of one block. A goto cannot leave it. */
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
  /** One step produces the output of an item. */
  readonly isSingle: boolean
}

export interface GotoStep extends Common {
  readonly type: "goto"
  readonly target: string | number
  /** It was an agent step, whose id is an alias for the target. */
  readonly isAlias?: boolean | undefined
}

interface PlainStep extends Common {
  readonly type: "human" | "wait" | "tool" | "function" | "workflow" | "team" | "research"
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

/** Steps that receive the prompt of the run, unless they have a prompt or arguments of their own. */
const WITH_PROMPT: readonly unknown[] = ["agent", "workflow", "team", "research"]

/** Whether a step or some text of a file depends on the prompt. */
export function stepsUseInput(data: Json): boolean {
  const names = (value: unknown): boolean => {
    if (typeof value === "string") return /\$\s*input\b/.test(value)
    return typeof value === "object" && value !== null && Object.values(value).some(names)
  }
  if (names(data)) return true
  const uses = (value: Json | undefined): boolean => {
    if (Array.isArray(value)) return value.some(uses)
    if (typeof value !== "object" || value === null) return false
    const { type, prompt, args, ...more } = value as { readonly [name: string]: Json }
    if (WITH_PROMPT.includes(type) && prompt === undefined) return true
    if (type === "function" && args === undefined) return true
    return Object.values(more).some(uses)
  }
  return uses((data as { readonly workflow?: Json }).workflow)
}
