/** A steps file as it is written. What a step needs, and which fields go with which type, is checked in `read-steps.ts`. */
import { z } from "zod"
import { agentShape, modelShape, permissionsShape, providerShape, toolsetShape } from "../agents/index.ts"
import { RESEARCH_MODES, researchFields } from "./research-fields.ts"
import { TEAM_MODES } from "./team-fields.ts"

const text = z.string()

const span = z
  .union([
    z.number().min(0),
    text.regex(/^\s*\d+(\.\d+)?\s*(ms|s|m|h)?\s*$/, "a span of time, such as 90s or 5m"),
  ])
  .describe('Seconds, or a text such as "90s", "5m".')

const retryShape = z.strictObject({
  max_attempts: z.int().min(0).optional().describe("How often it is tried again after a failure. Default 0."),
  backoff: z
    .enum(["fixed", "exponential"])
    .optional()
    .describe("Waits 1, 1, 1 s or 1, 2, 4 s. Default fixed."),
  initial_delay_seconds: z.number().min(0).optional().describe("Seconds before the second try. Default 1."),
  on: z
    .union([text, z.array(text)])
    .optional()
    .describe(
      "Only errors that have one of these texts in their code or message. Default: any that another try may help.",
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

const stepFields = {
  id: text.optional().describe("What templates call it. Default: the agent's name."),
  type: text.optional().meta({ enum: [...STEP_TYPES] }),
  name: text.optional().describe("agent: the agent that runs."),
  description: text.optional(),
  when: z
    .union([text, z.boolean()])
    .optional()
    .describe("It runs when this holds, and is passed over when not."),
  retry: retryShape.optional(),
  timeout: span.optional(),
  on_error: z
    .enum(["fail", "continue"])
    .optional()
    .describe("continue: a failure is passed over. In a parallel block: that of its steps."),
  loop: z.boolean().optional().describe("false: a plain step, though it is the last of a branch."),
  prompt: text.optional().describe("Told instead of the user's prompt; human: the question."),
  condition: z.union([text, z.boolean(), z.number()]).optional().describe("condition: what decides."),
  goto: z
    .union([text, z.int().min(0)])
    .optional()
    .describe("The id of a step, or its place in the list, from 0."),
  choices: z.array(z.json()).min(1).optional().describe("human: the answers there are."),
  schema: z.record(text, z.json()).optional().describe("human: JSON Schema of the answer."),
  to: text.optional().describe("human, team: who is asked."),
  default: z.json().optional().describe("human: the answer when the time is up."),
  tool: text.optional().describe("tool: its name."),
  toolset: toolsetShape.optional().describe("tool: where it is from."),
  agent: text.optional().describe("tool: the agent that has it."),
  args: z.record(text, z.json()).optional().describe("tool: its arguments, with templates."),
  file: text.optional().describe("workflow: the file."),
  over: text.optional().describe("map: the list, as an expression."),
  concurrency: z.int().min(1).optional().describe("map: items at the same time. Default: all."),
  mode: z
    .enum([...TEAM_MODES, ...RESEARCH_MODES])
    .optional()
    .describe("team: how its agents work together; research: how deep it goes."),
  agents: z.array(text).optional().describe("team: its agents."),
  manager: text.optional().describe("team: the agent that leads a group chat or a magentic team."),
  start: text.optional().describe("team: who has the word first. Default: the first of them."),
  aggregate: text.optional().describe("team: the agent that makes one answer of several."),
  terminate: text.optional().describe("team: it ends when this holds; it sees $last, $speaker, $round."),
  autonomous: z
    .int()
    .min(0)
    .optional()
    .describe("team: turns an agent goes on by itself before the user is asked."),
  plan_review: z.boolean().optional().describe("team: a person sees the plan first."),
  max_rounds: z.int().min(1).optional().describe("team: turns at the most."),
  max_stalls: z
    .int()
    .min(0)
    .optional()
    .describe("team: rounds without progress that are let pass. Default 3."),
  max_resets: z.int().min(0).optional().describe("team: how often the manager may start over. Default 5."),
  ...researchFields,
}

/** The fields of a step that are written down once; those with steps inside them are added below. */
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
    true: list.describe("condition: the steps when it holds."),
    false: list.describe("condition: the steps when it does not."),
    steps: list.describe("parallel: the steps that run at the same time; map: those for each item."),
    step: stepShape.optional().describe("map: the step for each item."),
  })
})

const most = z.int().min(1).optional().describe("How often a step may run in a loop. Default 100.")

const workflowShape = z.strictObject({
  steps: z.array(stepShape).nullable().optional(),
  max_loop_iterations: most,
  overrides: z.strictObject({ max_loop_iterations: most }).optional(),
})

export const stepsShape = z.strictObject({
  name: text.optional(),
  description: text.optional(),
  agents: z.record(text, agentShape).optional(),
  models: z.record(text, modelShape).optional(),
  providers: z.record(text, providerShape).optional(),
  permissions: permissionsShape.optional(),
  workflow: z
    .union([z.array(stepShape), workflowShape])
    .nullable()
    .optional()
    .describe("A list of steps."),
  // Known to others, and not to us: a warning each.
  version: z.union([text, z.number()]).optional(),
  metadata: z.json().optional(),
  rag: z.json().optional(),
  mcps: z.json().optional(),
  commands: z.json().optional(),
})

export type StepsData = z.infer<typeof stepsShape>

/** Fields of the file that are read and do nothing here. A version and metadata change nothing anyhow. */
export const UNSUPPORTED_FIELDS = ["rag", "mcps", "commands"] as const
