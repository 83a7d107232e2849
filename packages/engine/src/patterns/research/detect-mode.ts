/** Whether a question wants one search to the end, or a report in sections. */
import { agent } from "../../agents/index.ts"
import type { RunOptions } from "../../runtime/index.ts"
import { type ModeAnswer, modeSchema } from "./research-answers.ts"
import type { Models } from "./research-options.ts"

export type ResearchMode = ModeAnswer["mode"]

export const MODE_INSTRUCTIONS = `You sort questions for a research. "deep": it wants a report on a broad subject, with several aspects that are best researched by themselves. "iterative": it is one question, however hard, with one answer.`

/** Asked of the model; where that fails, or its answer cannot be read, the words of the question decide. */
export async function detectResearchMode(
  query: string,
  model: Models,
  options: RunOptions = {},
): Promise<ResearchMode> {
  const parser = agent({
    name: "mode",
    model,
    instructions: MODE_INSTRUCTIONS,
    output: modeSchema,
    repairs: 0,
  })
  try {
    const { outputs } = await parser.run(`Question: ${query}`, options)
    return outputs[0]?.mode ?? modeByWords(query)
  } catch (error) {
    if (options.signal?.aborted) throw error
    return modeByWords(query)
  }
}

const DEEP =
  /\b(?:reports?|sections?|chapters?|comprehensive|in[- ]depth|deep dive|detailed (?:analysis|study|review)|(?:literature|systematic) review|overview of|survey of|state of the art|landscape|market (?:analysis|research|study)|compare and contrast|pros and cons|history and)\b/i

export function modeByWords(query: string): ResearchMode {
  return DEEP.test(query) ? "deep" : "iterative"
}
