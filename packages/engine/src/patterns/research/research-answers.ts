/**
 * What the agents of a research answer, as JSON. A model is asked for the whole form; what it leaves out and is not needed
 * is filled in. An answer that cannot be read is undefined, and never kills a run: whoever asked goes on without it.
 */
import { z } from "zod"
import type { Schema } from "../../runtime/index.ts"

export interface GapAnswer {
  readonly research_complete: boolean
  readonly outstanding_gaps: readonly string[]
}

/** A search, by the tool agent that is to make it. */
export interface ResearchTask {
  readonly gap?: string | undefined
  readonly agent: string
  readonly query: string
  readonly entity_website?: string | undefined
}

export interface SelectorAnswer {
  readonly tasks: readonly ResearchTask[]
}

export interface JudgeAnswer {
  readonly sufficient: boolean
  /** From 0 to 1. */
  readonly confidence: number
  readonly recommendation: "continue" | "synthesize"
  readonly next_search_queries: readonly string[]
  readonly reasoning: string
}

export interface SectionPlan {
  readonly title: string
  readonly key_question: string
}

export interface PlannerAnswer {
  readonly background_context: string
  readonly report_outline: readonly SectionPlan[]
  readonly report_title: string
}

export interface ModeAnswer {
  readonly mode: "iterative" | "deep"
}

const text = z.string()
const texts = z.array(z.string())
/** A field that a model may leave out, or say that it has none. */
const orNone = text.nullish().transform((given) => (given?.trim() ? given : undefined))

export const gapSchema: Schema<GapAnswer> = answerSchema(
  z.object({ research_complete: z.boolean(), outstanding_gaps: texts }),
  z.object({
    research_complete: z.boolean(),
    outstanding_gaps: texts.nullish().transform((given) => given ?? []),
  }),
)

/** A name that is none of the tools' is read too: the task says so, and not the run. */
export function selectorSchema(tools: readonly string[]): Schema<SelectorAnswer> {
  const agent = z.enum(tools as [string, ...string[]])
  const task = z.object({ gap: text.nullable(), agent, query: text, entity_website: text.nullable() })
  return answerSchema(z.object({ tasks: z.array(task) }), tasksRead)
}

const tasksRead = z.object({
  tasks: z.array(
    z
      .object({ gap: orNone, agent: text, query: text, entity_website: orNone })
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
    .transform((given) => ({
      ...given,
      recommendation: given.recommendation ?? (given.sufficient ? "synthesize" : "continue"),
    })),
)

const section = z.object({ title: text.min(1), key_question: text.min(1) })

export const plannerSchema: Schema<PlannerAnswer> = answerSchema(
  z.object({ background_context: text, report_outline: z.array(section), report_title: text }),
  z.object({
    background_context: text.catch(""),
    report_outline: z.array(section).min(1),
    report_title: text.catch(""),
  }),
)

export const modeSchema: Schema<ModeAnswer> = z.object({ mode: z.enum(["iterative", "deep"]) })

/** Providers that hold a model to a schema want every field named; a reader takes less. */
function answerSchema<T>(asked: z.ZodType, read: z.ZodType): Schema<T> {
  return { "~standard": { ...asked["~standard"], validate: read["~standard"].validate } } as Schema<T>
}
