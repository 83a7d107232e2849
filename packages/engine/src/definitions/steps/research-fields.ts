/** What a research step is written with. */
import { z } from "zod"
import { RESEARCH_ROLES } from "../../patterns/research/index.ts"
import type { StepData } from "./step-shape.ts"

export const RESEARCH_MODES = ["iterative", "deep", "auto"] as const

export type ResearchStepMode = (typeof RESEARCH_MODES)[number]

const text = z.string().min(1)
const amount = z.number().min(0).optional()

const searchShape = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("web_search"),
    engine: z
      .enum(["searxng", "brave", "tavily", "serper"])
      .describe("Its key, or its address, is in the environment."),
    results: z.int().min(1).optional().describe("Results of one search. Default 5."),
    pages: z.int().min(0).optional().describe("How many of them are read. Default 2."),
  }),
  z.strictObject({ type: z.literal("page") }).describe("Reads one page of the web."),
  z.strictObject({
    type: z.literal("documents"),
    paths: z.array(text).min(1).describe("Files and folders, beside this file."),
    embeddings: text.optional().describe("Found by meaning too: offline, or provider/model."),
    name: text.optional().describe("What it is called, where there are several. Default documents."),
    description: text.optional().describe("What is in them: the model chooses by it."),
  }),
])

export type SearchData = z.infer<typeof searchShape>

/** `mode` is a team's too. */
export const researchFields = {
  model: text
    .optional()
    .describe("research: the model of its agents: a name from `models`, provider/model, or offline."),
  models: z
    .partialRecord(z.enum(RESEARCH_ROLES), text)
    .optional()
    .describe("research: other models, by what they do."),
  tools: z.array(searchShape).optional().describe("research: what it searches."),
  budget: z
    .strictObject({ tokens: amount, seconds: amount, iterations: amount })
    .optional()
    .describe("research: what ends the search. Default 100,000 tokens, 600 seconds, 10 iterations."),
}

export const RESEARCH_FIELDS: readonly (keyof StepData)[] = ["mode", "model", "models", "tools", "budget"]

export function researchMode({ mode = "iterative" }: StepData): ResearchStepMode | undefined {
  return RESEARCH_MODES.find((one) => one === mode)
}

export function missingResearchField({ tools }: StepData): string | undefined {
  return tools?.length ? undefined : "tools"
}
