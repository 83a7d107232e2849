/** The goal pipeline: triage, schema detection, search choice, then a lane per target, and one text at the end. */
import { z } from "zod"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import { loadModule } from "../../core/internal.ts"
import { type Context, channel, type Run, type RunOptions, replace } from "../../runtime/index.ts"
import { type Answered, distinct, incomplete, incompleteText } from "../failures.ts"
import { agentStage, workflowStage } from "../stage-node.ts"
import { answerLane } from "./answer/answer-lane.ts"
import { type Detected, detectSources, knownSources } from "./choose-source.ts"
import { checkGoalConfig, type GoalConfig } from "./goal-config.ts"
import { askedAtOf } from "./search/ask-database.ts"
import {
  type GoalBasis,
  goalRoutes,
  type LaneAnswer,
  type LaneInput,
  sources,
  uncited,
} from "./search/search-stages.ts"
import {
  type Candidate,
  chooseSearch,
  chooseTargets,
  DATABASES,
  type LastSource,
  type SearchChoice,
  type Triage,
  triage,
  wantsDetection,
} from "./triage.ts"

interface Chosen extends Detected {
  readonly search: SearchChoice
}

const goal = channel("goal", replace(""))

export function sequentialGoal(config: GoalConfig): Workflow<string, string> {
  return goalPipeline(config, ({ text }) => text) as Workflow<string, string>
}

const followUp = z.object({
  text: z.string(),
  lastSource: z.object({ kind: z.enum(["database", "documents"]), source: z.string() }).optional(),
})

/** A question of a conversation that continues the one before it. */
export type FollowUp = Readonly<z.infer<typeof followUp>>

/** A follow-up queries the source of the last answer first, unless the sources were ranked without it. */
function preferring(
  search: SearchChoice,
  { triage: found, candidates }: Detected,
  { sql }: GoalConfig,
): SearchChoice {
  const { lastSource } = found
  if (lastSource === undefined) return search
  if (lastSource.kind === "documents") return search.by === "sql" ? { by: "vector" } : search
  const isRanked =
    candidates === undefined || candidates.some((one) => one.kind === "database" && isNamed(one, lastSource))
  return sql !== undefined && isRanked ? { by: "sql", database: lastSource.source } : search
}

function isNamed({ database }: Extract<Candidate, { kind: "database" }>, { source }: LastSource): boolean {
  return database.id === source || database.name === source
}

/** An answer with its problems and its basis. */
export interface GoalAnswered extends Answered, GoalBasis {}

/** `finish` creates the output from the answer. */
export function goalPipeline<Out>(
  config: GoalConfig,
  finish: (answer: GoalAnswered) => Out,
): Workflow<string | FollowUp, Out> {
  checkGoalConfig(config)
  const { name = "sequential-goal" } = config
  const canDetect = (config.ranker ?? config.databases ?? config.sql) !== undefined
  const asksWhen = config.sql !== undefined || config.cypher !== undefined
  const triaging = agentStage(
    "triage",
    async (asked: string | FollowUp, ctx): Promise<Triage> => {
      const { text, lastSource } = typeof asked === "string" ? { text: asked } : asked
      ctx.state.write(goal, text)
      const known = await knownSources(config, ctx)
      const found = await triage(config.triage, text, known, ctx)
      ctx.emit("goal.triaged", found)
      return lastSource === undefined ? found : { ...found, lastSource }
    },
    { input: z.union([z.string(), followUp]) },
  )
  const choose = node("choose", (found: Triage | Detected, ctx): Chosen => {
    const detected = "triage" in found ? found : { triage: found }
    const search = preferring(chooseSearch(detected.triage, config), detected, config)
    ctx.emit("goal.chosen", search)
    return { ...detected, search }
  })
  const targets = node("targets", async (chosen: Chosen, ctx): Promise<readonly LaneInput[]> => {
    const { triage: triaged, search, candidates } = chosen
    const askedAt = asksWhen ? await ctx.step("asked at", () => askedAtOf(ctx.clock.now())) : undefined
    const more = {
      ...(candidates !== undefined && { candidates }),
      ...(askedAt !== undefined && { askedAt }),
    }
    const asked = ctx.state.get(goal)
    return chooseTargets(triaged, config).map((one) => ({ goal: asked, target: one, search, ...more }))
  })
  const target = workflowStage<LaneInput, LaneInput, LaneAnswer, LaneAnswer>("target", answerLane(config), {
    input: (input) => input,
    output: ([answer]) => answer as LaneAnswer,
  })
  const stitch = node("stitch", async (answers: readonly LaneAnswer[], ctx): Promise<string> => {
    const known = ctx.state.get(incomplete)
    // A search without a database adds nothing if the ranking reported the same reason.
    const found = answers
      .flatMap((answer) => answer.incomplete)
      .filter(({ source, reason }) => source !== DATABASES || !known.some((one) => one.reason === reason))
    const added = distinct([...known, ...found]).slice(known.length)
    const problems = [...known, ...added]
    const { withBasis } = await loadModule(() => import("./answer/citations.ts"))
    const { texts, ...basis } = withBasis(answers)
    ctx.state.write(incomplete, added)
    writeBasis(basis, ctx)
    const text = incompleteText(problems) + stitched(answers, texts)
    // The builder cannot infer that `Out` is JSON.
    return finish({ text, incomplete: problems, ...basis }) as string
  })

  const pipeline = workflow(name, {
    description: "Answers a goal: triage, search, assistants, review.",
    state: [goal, incomplete, sources, goalRoutes, uncited],
  }).start(triaging)
  if (!canDetect) pipeline.edge(triaging, choose)
  else {
    const detect = node("detect", (triaged: Triage, ctx) =>
      detectSources(config, ctx.state.get(goal), triaged, ctx),
    )
    pipeline
      .switch(triaging, [{ when: wantsDetection, to: detect, label: "ai_search or unknown" }], choose)
      .edge(detect, choose)
  }
  return pipeline
    .edge(choose, targets)
    .map(targets, target, stitch)
    .output(stitch)
    .build() as unknown as Workflow<string | FollowUp, Out>
}

/** Writes the basis of an answer to the run's state, and emits it for observers. */
export function writeBasis(basis: GoalBasis, ctx: Context): void {
  ctx.state.write(sources, basis.sources)
  ctx.state.write(goalRoutes, basis.routes)
  ctx.state.write(uncited, basis.uncited)
}

function stitched(answers: readonly LaneAnswer[], texts: readonly string[]): string {
  if (texts.length === 1) return texts[0] as string
  return answers.map(({ target }, i) => `### AssistantAgent=${target}\n${texts[i]}`).join("\n\n---\n\n")
}

export async function runSequentialGoal(
  config: GoalConfig,
  goalText: string,
  options?: RunOptions,
): Promise<string> {
  return await answerOf(sequentialGoal(config).run(goalText, options))
}

/** The text of a run. Throws the run's own error unchanged. */
export async function answerOf(run: Run<string>): Promise<string> {
  const { status, outputs, error, requests, runId } = await run.result
  if (status === "completed") return outputs.at(-1) ?? ""
  if (error !== undefined) throw error
  const [question] = requests
  throw new SuperstepError(
    "RUN_WAITING",
    `Run ${runId} is waiting for an answer${question === undefined ? "" : ` to "${question.prompt}"`}. Run the workflow itself, with a store, to answer and continue.`,
    { run: runId, retryable: false },
  )
}
