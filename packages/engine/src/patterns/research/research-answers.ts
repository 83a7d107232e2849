/**
 * What the agents of a research answer, as JSON. A model is asked for the whole form; what it leaves out and is not needed
 * is filled in. An answer that cannot be read goes back to the model once. After that it is reported, and never fails a run:
 * the asking node continues without it, and nothing of it becomes a query.
 */
import { z } from "zod"
import type { Schema } from "../../runtime/index.ts"
import { isQuery } from "./search-key.ts"

/** A search, by the tool agent that is to make it. */
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
/** A field that a model may leave out, or say that it has none. */
const orNone = text.nullish().transform((given) => (given?.trim() ? given : undefined))

export const gapSchema = answerSchema(
  z.object({ research_complete: z.boolean(), outstanding_gaps: texts }),
  z.object({
    research_complete: z.boolean(),
    outstanding_gaps: texts.nullish().transform((given) => given ?? []),
  }),
)

/** A name that is none of the tools' is read too: the task says so, and not the run. */
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
