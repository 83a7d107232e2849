/** The goal pipeline: triage, schema detection, search choice, then a lane per target, and one text at the end. */
import { z } from "zod"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { channel, type RunOptions, replace } from "../../runtime/index.ts"
import { agentStage, workflowStage } from "../stage-node.ts"
import { answerLane, type LaneAnswer, type LaneInput } from "./answer-lane.ts"
import { chooseSearch, chooseTargets, type SearchChoice } from "./choose-search.ts"
import { detectSchema } from "./detect-schema.ts"
import { checkGoalConfig, type GoalConfig } from "./goal-config.ts"
import { incomplete, incompleteText } from "./incomplete.ts"
import { answerOf } from "./run-answer.ts"
import { type Triage, triage, wantsDetection } from "./triage.ts"

interface Chosen {
  readonly triage: Triage
  readonly search: SearchChoice
}

const goal = channel("goal", replace(""))

export function sequentialGoal(config: GoalConfig): Workflow<string, string> {
  checkGoalConfig(config)
  const { name = "sequential-goal" } = config
  const databases = config.databases ?? config.sql?.databases
  const triaging = agentStage(
    "triage",
    async (text: string, ctx): Promise<Triage> => {
      ctx.state.write(goal, text)
      const found = await triage(config.triage, text, ctx)
      ctx.emit("goal.triaged", found)
      return found
    },
    { input: z.string() },
  )
  const choose = node("choose", (triaged: Triage, ctx): Chosen => {
    const search = chooseSearch(triaged, config)
    ctx.emit("goal.chosen", search)
    return { triage: triaged, search }
  })
  const targets = node("targets", ({ triage: triaged, search }: Chosen, ctx): readonly LaneInput[] =>
    chooseTargets(triaged, config).map((target) => ({ goal: ctx.state.get(goal), target, search })),
  )
  const target = workflowStage<LaneInput, LaneInput, LaneAnswer, LaneAnswer>("target", answerLane(config), {
    input: (input) => input,
    output: ([answer]) => answer as LaneAnswer,
  })
  const stitch = node("stitch", (answers: readonly LaneAnswer[], ctx): string => {
    const problems = answers.flatMap((answer) => answer.incomplete)
    ctx.state.write(incomplete, problems)
    return incompleteText(problems) + stitched(answers)
  })

  const pipeline = workflow(name, {
    description: "Answers a goal: triage, search, assistants, review.",
    state: [goal, incomplete],
  }).start(triaging)
  if (databases === undefined) pipeline.edge(triaging, choose)
  else {
    const detect = node("detect", (triaged: Triage, ctx) =>
      detectSchema(databases, ctx.state.get(goal), triaged, ctx),
    )
    pipeline
      .switch(triaging, [{ when: wantsDetection, to: detect, label: "ai_search or unknown" }], choose)
      .edge(detect, choose)
  }
  return pipeline.edge(choose, targets).map(targets, target, stitch).output(stitch).build() as Workflow<
    string,
    string
  >
}

function stitched(answers: readonly LaneAnswer[]): string {
  const [first, ...others] = answers
  if (first !== undefined && others.length === 0) return first.text
  return answers.map(({ target, text }) => `### AssistantAgent=${target}\n${text}`).join("\n\n---\n\n")
}

export async function runSequentialGoal(
  config: GoalConfig,
  goalText: string,
  options?: RunOptions,
): Promise<string> {
  return await answerOf(sequentialGoal(config).run(goalText, options))
}
