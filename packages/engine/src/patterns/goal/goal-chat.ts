/**
 * A conversation over the goal pipeline. Each message is rewritten as a self-contained question, with the filters of
 * earlier questions, and the pipeline answers it. The conversation is state of the thread, across runs.
 */
import { z } from "zod"
import { type Workflow, workflow } from "../../builder/index.ts"
import { type Context, channel, replace } from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { incomplete, isNoFailure, messageOf, passOn } from "../failures.ts"
import { agentStage, workflowStage } from "../stage-node.ts"
import { askAgent, textOf } from "./ask-agent.ts"
import type { GoalAgent, GoalConfig } from "./goal-config.ts"
import { isOffline } from "./search/matching-rows.ts"
import { type GoalSource, goalRoutes, sources, uncited } from "./search/search-stages.ts"
import { type FollowUp, type GoalAnswered, goalPipeline, writeBasis } from "./sequential-goal.ts"
import type { LastSource } from "./triage.ts"

/** One question and its answer. Persisted. */
interface Turn {
  /** The message as the user wrote it. */
  readonly question: string
  /** The question that was answered. */
  readonly standalone: string
  readonly answer: string
  /** The cited databases, documents and graphs, by name. */
  readonly sources: readonly string[]
  /** The first cited source. A follow-up queries it first. */
  readonly lastSource?: LastSource | undefined
}

const MAX_TURNS = 10
/** Maximum characters of an answer that are part of the context of the next question. */
const MAX_ANSWER = 1_000
const MAX_QUESTION = 4_000

const conversation = channel("conversation", replace<readonly Turn[]>([]), { persist: true })
const askedAs = channel("asked", replace({ question: "", standalone: "" }))

export function goalChat(config: GoalConfig): Workflow<string, string> {
  const { name = "sequential-goal" } = config
  const rewrite = agentStage(
    "rewrite",
    async (question: string, ctx): Promise<FollowUp> => {
      const turns = ctx.state.get(conversation)
      const standalone = turns.length === 0 ? question : await rewritten(config.triage, question, turns, ctx)
      ctx.state.write(askedAs, { question, standalone })
      if (standalone !== question) ctx.log("info", `Asked as: ${standalone}`)
      ctx.emit("goal.rewritten", { question, standalone })
      const lastSource = standalone === question ? undefined : turns.at(-1)?.lastSource
      return { text: standalone, ...(lastSource !== undefined && { lastSource }) }
    },
    { input: z.string() },
  )
  const answer = workflowStage<FollowUp, FollowUp, GoalAnswered, string>(
    "answer",
    goalPipeline(config, (one) => one),
    {
      input: (asked) => asked,
      output(answers, ctx) {
        for (const one of answers) writeBasis(one, ctx)
        const text = passOn(answers, ctx)
        const cited = answers.flatMap((one) => one.sources.filter(({ citedBy }) => citedBy.length > 0))
        const turn = {
          ...ctx.state.get(askedAs),
          answer: clipped(text, MAX_ANSWER),
          sources: [...new Set(cited.map(({ source }) => source))],
          ...lastSourceOf(cited[0]),
        }
        ctx.state.write(conversation, [...ctx.state.get(conversation), turn].slice(-MAX_TURNS))
        return text
      },
    },
  )
  return workflow(`${name}-chat`, {
    description: "Answers questions of a conversation over your own data.",
    state: [conversation, askedAs, incomplete, sources, goalRoutes, uncited],
  })
    .start(rewrite)
    .edge(rewrite, answer)
    .output(answer)
    .build() as unknown as Workflow<string, string>
}

function lastSourceOf(cited: GoalSource | undefined): Pick<Turn, "lastSource"> {
  if (cited === undefined) return {}
  const { kind, source } = cited
  return { lastSource: { kind: kind === "database" ? kind : "documents", source } }
}

/** If rewriting fails, the message stays unchanged, and the answer shows what was asked. */
async function rewritten(
  agent: GoalAgent,
  question: string,
  turns: readonly Turn[],
  ctx: Context,
): Promise<string> {
  const last = turns.at(-1) as Turn
  if (await isOffline(agent)) return carriedOver(last.standalone, question)
  try {
    const text = textOf(
      await askAgent("Triage", agent, rewritePrompt(question, turns), ctx, { isPlain: true }),
    ).trim()
    return text === "" || text.length > MAX_QUESTION ? question : text
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    ctx.log("warn", `The question could not be rewritten: ${messageOf(error)}`)
    return question
  }
}

function rewritePrompt(question: string, turns: readonly Turn[]): string {
  const before = turns.map(({ standalone, answer, sources: from }) =>
    [
      `Question: ${standalone}`,
      `Answer: ${answer}`,
      ...(from.length === 0 ? [] : [`Found in: ${from.join(", ")}`]),
    ].join("\n"),
  )
  return [
    "Rewrite the last message of this conversation as one question that can be understood without it.",
    "Keep what the questions before it restrict: years, places, names, units. Change only what the message changes.",
    "If the message is about the same thing, say that it is to be looked up where the last answer was found.",
    "If the message stands alone already, repeat it. Answer with the question alone.",
    "",
    ...before,
    "",
    `Message: ${question}`,
  ].join("\n")
}

const FOLLOW_UP = /^(?:and|but|or|also|only|what about|how about|then)\b[\s,]*/i
const YEAR = /\b(?:19|20)\d\d\b/g
/** Excludes the first word of the question. */
const NAME = /(?<=\s)\p{Lu}[\p{L}'-]+/gu
const LONE_NAME = /^\p{Lu}[\p{L}'-]+$/u
const MAX_FOLLOW_UP_WORDS = 3

/**
 * Rewrites without a model. A message that begins like a follow-up ("and …", "what about …"), or has at most three words,
 * is appended to the previous question. A year in it replaces that question's years, and a name replaces that question's
 * only name.
 */
export function carriedOver(before: string, message: string): string {
  const text = message.trim()
  const rest = text.replace(FOLLOW_UP, "").replace(/\?+$/, "").trim()
  const isFollowUp = FOLLOW_UP.test(text) || rest.split(/\s+/).length <= MAX_FOLLOW_UP_WORDS
  if (!isFollowUp || rest === "") return message
  const [year] = rest.match(YEAR) ?? []
  if (year !== undefined && before.search(YEAR) >= 0) return before.replace(YEAR, year)
  const [name, ...others] = before.match(NAME) ?? []
  // "and Bob?" after a question about Ann is a question about Bob.
  if (name !== undefined && others.length === 0 && LONE_NAME.test(rest)) return before.replace(NAME, rest)
  return `${before.trim().replace(/\?+$/, "")} ${rest}?`
}
