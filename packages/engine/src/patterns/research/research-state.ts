/** The state of a research. It belongs to the run, or to one section's sub-workflow: sections do not see each other's. */
import { z } from "zod"
import { add, append, type Channel, channel, reducer, replace, type Schema } from "../../runtime/index.ts"
import type { ResearchReport } from "./report/report.ts"
import { isQuery, sourceKey } from "./search-key.ts"

/**
 * The answers of the agents, as JSON. A model is asked for all fields; missing optional ones are filled in. An unreadable
 * answer is sent back to the model once. After that it is reported and never fails a run: the node continues without it,
 * and no part of it becomes a query.
 */

/** A search, and the tool agent to run it. */
export interface ResearchTask {
  readonly gap?: string | undefined
  readonly agent: string
  readonly query: string
  readonly entity_website?: string | undefined
}

export interface JudgeAnswer {
  readonly sufficient: boolean
  /** From 0 to 1. */
  readonly confidence: number
  readonly recommendation: "continue" | "synthesize"
  readonly next_search_queries: readonly string[]
  readonly reasoning: string
}

const text = z.string()
const texts = z.array(z.string())
/** A field that a model may omit or leave empty. */
const orNone = text.nullish().transform((given) => (given?.trim() ? given : undefined))

export const gapSchema = answerSchema(
  z.object({ research_complete: z.boolean(), outstanding_gaps: texts }),
  z.object({
    research_complete: z.boolean(),
    outstanding_gaps: texts.nullish().transform((given) => given ?? []),
  }),
)

/** Accepts unknown tool names too: the result of the task reports them, and the run continues. */
export function selectorSchema(tools: readonly string[]) {
  const agent = z.enum(tools as [string, ...string[]])
  const task = z.object({ gap: text.nullable(), agent, query: text, entity_website: text.nullable() })
  return answerSchema(z.object({ tasks: z.array(task) }), tasksRead)
}

const query = text.refine(isQuery, "a query is a few words on one line, and nothing else")

const tasksRead = z.object({
  tasks: z.array(
    z
      .object({ gap: orNone, agent: text, query, entity_website: orNone })
      .transform(({ gap, agent, query, entity_website }) => ({
        agent,
        query,
        ...(gap !== undefined && { gap }),
        ...(entity_website !== undefined && { entity_website }),
      })),
  ),
})

const recommendation = z.enum(["continue", "synthesize"])

export const judgeSchema: Schema<JudgeAnswer> = answerSchema(
  z.object({
    sufficient: z.boolean(),
    confidence: z.number(),
    recommendation,
    next_search_queries: texts,
    reasoning: text,
  }),
  z
    .object({
      sufficient: z.boolean(),
      confidence: z.number().catch(0),
      recommendation: recommendation.optional().catch(undefined),
      next_search_queries: texts.catch([]),
      reasoning: text.catch(""),
    })
    .transform((verdict) => ({
      ...verdict,
      recommendation: verdict.recommendation ?? (verdict.sufficient ? "synthesize" : "continue"),
    })),
)

const section = z.object({ title: text.min(1), key_question: text.min(1) })

export const plannerSchema = answerSchema(
  z.object({ background_context: text, report_outline: z.array(section), report_title: text }),
  z.object({
    background_context: text.catch(""),
    report_outline: z.array(section).min(1),
    report_title: text.catch(""),
  }),
)

export const modeSchema = z.object({ mode: z.enum(["iterative", "deep"]) })

type Answer<S> = S extends Schema<infer T> ? T : never
export type GapAnswer = Answer<typeof gapSchema>
export type SelectorAnswer = Answer<ReturnType<typeof selectorSchema>>
export type PlannerAnswer = Answer<typeof plannerSchema>
export type SectionPlan = PlannerAnswer["report_outline"][number]

/** Providers that enforce a schema require every field; the reader tolerates missing ones. */
function answerSchema<Read extends z.ZodType>(asked: z.ZodType, read: Read): Schema<z.infer<Read>> {
  return { "~standard": { ...asked["~standard"], validate: read["~standard"].validate } } as never
}

/** A finding, and its location for a citation. */
export interface Evidence {
  /** A web address, or a file with a position. */
  readonly url: string
  readonly title: string
  readonly text: string
  /** The tool that found it. */
  readonly tool: string
  /** The author of the source, if it states one. */
  readonly author?: string | undefined
  readonly date?: string | undefined
}

/** One pass of the loop. */
export interface Iteration {
  readonly iteration: number
  readonly thoughts?: string | undefined
  readonly gap?: string | undefined
  readonly tool_calls?: readonly ToolCallMade[] | undefined
  /** Outputs of the tools, in the order of the calls. */
  readonly findings?: readonly string[] | undefined
}

export interface ToolCallMade {
  readonly agent: string
  readonly query: string
  readonly entity_website?: string | undefined
  readonly failed?: true | undefined
}

/** The question and the limits. */
export interface Assignment {
  readonly query: string
  /** The title of the section. */
  readonly title?: string | undefined
  readonly background?: string | undefined
  readonly limits: Limits
  /** The key of the section in `SharedSearches`. */
  readonly section?: string | undefined
}

/** Absent parts are unlimited. */
export interface Limits {
  readonly tokens?: number | undefined
  readonly seconds?: number | undefined
  readonly iterations?: number | undefined
}

export const ASSIGNMENT: Channel<Assignment | undefined, Assignment> = channel(
  "assignment",
  replace<Assignment>(),
)
/** Without duplicates, in the order of discovery. Its position is its number. */
export const EVIDENCE: Channel<readonly Evidence[], readonly Evidence[]> = channel(
  "evidence",
  reducer("research.evidence", withEvidence, [] as readonly Evidence[]),
)
export const CONVERSATION: Channel<readonly Iteration[], Iteration> = channel(
  "conversation",
  reducer("research.conversation", withIteration, [] as readonly Iteration[]),
)
/** The judge's verdict on each completed pass. */
export const VERDICTS: Channel<readonly JudgeAnswer[], readonly JudgeAnswer[]> = channel(
  "verdicts",
  append<JudgeAnswer>(),
)
/** Seconds that finished nodes took. */
export const SPENT: Channel<number, number> = channel("spent", add())
/** Why the search ended early. */
export const BREACH: Channel<string | undefined, string> = channel("breach", replace<string>())

/** The report as data; the output is the same report in Markdown. */
export const REPORT: Channel<ResearchReport | undefined, ResearchReport> = channel(
  "report",
  replace<ResearchReport>(),
)

/** The minimum length at which equal texts are the same source, whatever their addresses. */
const MIN_SAME_TEXT = 200

/**
 * Known sources keep their number. Of two texts of the same page, the longer one stays. A page with the text of another
 * one is a copy, not a source of its own.
 */
export function withEvidence(
  current: readonly Evidence[] | undefined,
  more: readonly Evidence[],
): readonly Evidence[] {
  const all = [...(current ?? [])]
  const places = new Map(all.flatMap((one, i) => keysOf(one).map((key) => [key, i] as const)))
  for (const one of more) {
    const keys = keysOf(one)
    const place = keys.map((key) => places.get(key)).find((found) => found !== undefined)
    const known = place === undefined ? undefined : all[place]
    if (place === undefined || known === undefined) {
      const added = all.push(one) - 1
      for (const key of keys) places.set(key, added)
    } else if (one.text.length > known.text.length) all[place] = { ...one, ...known, text: one.text }
  }
  return all
}

function keysOf({ url, text }: Evidence): string[] {
  const words = text.replace(/\s+/g, " ").trim()
  return [sourceKey(url), ...(words.length < MIN_SAME_TEXT ? [] : [`text ${words}`])]
}

function withIteration(
  current: readonly Iteration[] | undefined,
  { iteration, ...fields }: Iteration,
): readonly Iteration[] {
  const all = current ?? []
  if (!all.some((one) => one.iteration === iteration)) return [...all, { iteration, ...fields }]
  return all.map((one) => (one.iteration === iteration ? { ...one, ...fields } : one))
}
