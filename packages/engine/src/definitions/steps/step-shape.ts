/** The schema of a steps file. `read-steps.ts` checks which fields a step of each type needs and may have. */
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
import { durationShape, flowShape, nodeFlowShape } from "../flow.ts"
import { schedulesShape } from "../schedules.ts"

const text = z.string()
const nonEmpty = text.min(1)
const count = z.int().min(0).optional()
const positive = z.int().min(1).optional()
const amount = z.number().min(0).optional()

const retryShape = z.strictObject({
  max_attempts: count.describe("Retries after the first attempt. Default 0."),
  backoff: z
    .enum(["fixed", "exponential"])
    .optional()
    .describe("fixed waits 1, 1, 1 s; exponential waits 1, 2, 4 s. Default fixed."),
  initial_delay_seconds: amount.describe("Seconds before the first retry. Default 1."),
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
    results: positive.describe("Results per search. Default 5."),
    pages: count.describe("Result pages to read. Default 2."),
  }),
  z.strictObject({ type: z.literal("page") }).describe("Reads one web page."),
  z.strictObject({
    type: z.literal("documents"),
    paths: z.array(nonEmpty).min(1).describe("Files and folders, relative to this file."),
    embeddings: nonEmpty.optional().describe("Also searches by meaning: offline, or provider/model."),
    name: nonEmpty.optional().describe("The tool's name, if there are several. Default documents."),
    description: nonEmpty.optional().describe("What the documents contain; the model chooses by it."),
  }),
])

export type SearchData = z.infer<typeof searchShape>

const stepFields = {
  id: text.optional().describe("The name that templates use. Default: the agent's name."),
  type: text.optional().meta({ enum: [...STEP_TYPES] }),
  name: text.optional().describe("agent: the agent to run."),
  description: text.optional(),
  when: z
    .union([text, z.boolean()])
    .optional()
    .describe("The step runs if this holds; otherwise it is skipped."),
  retry: retryShape.optional(),
  timeout: durationShape.optional(),
  flow: nodeFlowShape,
  on_error: z
    .enum(["fail", "continue"])
    .optional()
    .describe(
      "continue: the workflow continues after a failure; in a parallel block, after one of its steps.",
    ),
  loop: z.boolean().optional().describe("false: a plain step, even as the last step of a branch."),
  prompt: text.optional().describe("Replaces the user's prompt; human: the question."),
  condition: z.union([text, z.boolean(), z.number()]).optional().describe("condition: the expression."),
  goto: z
    .union([text, z.int().min(0)])
    .optional()
    .describe("The id of a step, or its index in the list, from 0."),
  choices: z.array(z.json()).min(1).optional().describe("human: the possible answers."),
  schema: z
    .record(text, z.json())
    .optional()
    .describe("human, wait: JSON Schema of the answer, or of the signal's value."),
  to: text.optional().describe("human, team: who is asked."),
  default: z.json().optional().describe("human, wait: the answer or the value after a timeout."),
  signal: nonEmpty.max(200).optional().describe("wait: the name of the signal."),
  tool: text.optional().describe("tool: its name."),
  toolset: toolsetShape.optional().describe("tool: the toolset that has it."),
  agent: text.optional().describe("tool: the agent that has it."),
  args: z.record(text, z.json()).optional().describe("tool: its arguments, with templates."),
  file: text.optional().describe("workflow: the file."),
  over: text.optional().describe("map: the list, as an expression."),
  concurrency: positive.describe("map: items at the same time. Default: all."),
  mode: z
    .enum([...TEAM_MODES, ...RESEARCH_MODES])
    .optional()
    .describe("team: how its agents work together; research: how deep it goes."),
  agents: z.array(text).optional().describe("team: its agents."),
  manager: text.optional().describe("team: the agent that leads a group chat or a magentic team."),
  start: text.optional().describe("team: the first agent to speak. Default: the first of `agents`."),
  aggregate: text.optional().describe("team: the agent that combines the answers."),
  terminate: text.optional().describe("team: ends when this holds; sees $last, $speaker, $round."),
  autonomous: count.describe("team: turns an agent takes alone before the user is asked."),
  plan_review: z.boolean().optional().describe("team: a person reviews the plan first."),
  max_rounds: positive.describe("team: maximum number of turns."),
  max_stalls: count.describe("team: rounds without progress before the manager starts over. Default 3."),
  max_resets: count.describe("team: how often the manager may start over. Default 5."),
  model: nonEmpty
    .optional()
    .describe("research: the model of its agents: a name from `models`, provider/model, or offline."),
  models: z
    .partialRecord(z.enum(RESEARCH_ROLES), nonEmpty)
    .optional()
    .describe("research: other models, by role."),
  tools: z.array(searchShape).optional().describe("research: what it searches."),
  budget: z
    .strictObject({ tokens: amount, seconds: amount, iterations: amount })
    .optional()
    .describe("research: ends the search. Default 100,000 tokens, 600 seconds, 10 iterations."),
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
  return z.strictObject({
    ...stepFields,
    true: list.describe("condition: the steps if it holds."),
    false: list.describe("condition: the steps if it does not hold."),
    steps: list.describe("parallel: the steps that run at the same time; map: the steps for each item."),
    step: stepShape.optional().describe("map: the step for each item."),
  })
})

const maxLoops = positive.describe("How often a step may run in a loop. Default 100.")

const workflowShape = z.strictObject({
  steps: z.array(stepShape).nullable().optional(),
  max_loop_iterations: maxLoops,
  overrides: z.strictObject({ max_loop_iterations: maxLoops }).optional(),
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
  metadata: z.json().optional(),
  // cagent's fields that have no effect here: each is reported with a warning.
  rag: z.json().optional(),
  commands: z.json().optional(),
})

export type StepsData = z.infer<typeof stepsShape>

export const UNSUPPORTED_FIELDS = ["rag", "commands"] as const

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
  readonly type: "human" | "wait" | "tool" | "workflow" | "team" | "research"
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
