/** The schema of a steps file. `read-steps.ts` checks which fields a step of each type needs and may have. */
import { z } from "zod"
import { RESEARCH_ROLES } from "../../patterns/research/index.ts"
import { agentShape, agentsFileFields, toolsetShape } from "../agents/index.ts"
import { durationShape } from "../duration.ts"
import { flowShape } from "../flow.ts"

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
  schema: z.record(text, z.json()).optional().describe("human: JSON Schema of the answer."),
  to: text.optional().describe("human, team: who is asked."),
  default: z.json().optional().describe("human: the answer after a timeout."),
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
  version: z.union([text, z.number()]).optional(),
  metadata: z.json().optional(),
  // cagent's fields that have no effect here: each is reported with a warning.
  rag: z.json().optional(),
  commands: z.json().optional(),
})

export type StepsData = z.infer<typeof stepsShape>

export const UNSUPPORTED_FIELDS = ["rag", "commands"] as const
