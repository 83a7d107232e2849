/** The options of a research. */
import type { AgentOptions } from "../../agents/index.ts"
import { SuperstepError } from "../../core/index.ts"
import type { ModelRef } from "../../models/index.ts"
import { nearest } from "../../text/index.ts"
import type { Incomplete } from "../failures.ts"
import type { ResearchTool } from "./research-tools.ts"

export const RESEARCH_ROLES = [
  "mode",
  "planner",
  "thinker",
  "gap",
  "selector",
  "judge",
  "writer",
  "synthesizer",
] as const

/** The agents of a research, by their names in usage and in scripts. */
export type ResearchRole = (typeof RESEARCH_ROLES)[number]

export interface ResearchOptions {
  /** The workflow's name. Default: `research`, `iterative-research` or `deep-research`. */
  readonly name?: string | undefined
  /** The model of every agent that `models` does not name. */
  readonly model: Models
  readonly models?: { readonly [R in ResearchRole]?: Models | undefined } | undefined
  /** Options of model calls: retries, timeouts, prices. */
  readonly calling?: AgentOptions["calling"]
  /** The tools that search, `web_search` first if there is one. The selector chooses by their descriptions. */
  readonly tools: readonly ResearchTool[]
  readonly budget?: ResearchBudget | undefined
  /** Problems of the sources that are known before the research begins, such as unreadable documents. */
  readonly incomplete?: readonly Incomplete[] | undefined
  /** Selects evidence by meaning if there is more than a model receives. Without embeddings, it is selected by words. */
  readonly embeddings?: TextEmbeddings | undefined
}

export interface DeepResearchOptions extends ResearchOptions {
  /** The maximum for one section. Default: an equal share of the total, and 10 iterations. */
  readonly sectionBudget?: ResearchBudget | undefined
  /** Concurrent sections. Default: all. */
  readonly concurrency?: number | undefined
}

export type Models = ModelRef | readonly ModelRef[]

/** Limits of the search. The writer runs in any case. */
export interface ResearchBudget {
  /** Input and output together. Default 100,000. */
  readonly tokens?: number | undefined
  /** Default 600. */
  readonly seconds?: number | undefined
  /** Passes of the loop. Default 10. */
  readonly iterations?: number | undefined
}

/** Embeddings: vectors of texts, in which similar meaning is a small distance. */
export interface TextEmbeddings {
  /** Returns one vector per text, in the same order. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly ArrayLike<number>[]>
}

export const TOKENS = 100_000
export const SECONDS = 600
export const ITERATIONS = 10

/** Rejects invalid options before anything runs. */
export function checkResearchOptions(options: DeepResearchOptions): void {
  const { model, tools, concurrency } = options
  if (model === undefined) throw invalid('set a model, such as "openai/gpt-5" or "offline".')
  if (!Array.isArray(tools) || tools.length === 0) {
    throw invalid("add search tools: webSearchTool(…), pageTool(…), documentsTool(…).")
  }
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalid(`two of its tools are named "${twice}".`)
  for (const name of ["budget", "sectionBudget"] as const) {
    for (const [part, value] of Object.entries(options[name] ?? {})) checkPart(`${name}.${part}`, value)
  }
  if (concurrency !== undefined && !(Number.isSafeInteger(concurrency) && concurrency >= 1)) {
    throw invalid(`concurrency must be a whole number of at least 1, not ${String(concurrency)}.`)
  }
}

const PARTS: readonly string[] = ["tokens", "seconds", "iterations"]

function checkPart(name: string, value: unknown): void {
  const [option = "", part = ""] = name.split(".")
  if (!PARTS.includes(part)) {
    const meant = nearest(part, PARTS)
    const hint = meant === undefined ? "" : `; did you mean "${option}.${meant}"?`
    throw invalid(`there is no ${name}; a budget has tokens, seconds and iterations${hint || "."}`)
  }
  if (value === undefined || (Number.isFinite(value) && (value as number) >= 0)) return
  throw invalid(`${name} must be a number of at least 0, not ${String(value)}.`)
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("RESEARCH_INVALID", `Research: ${reason}`)
}
