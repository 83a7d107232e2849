/** Iterative research: a question, searched until the evidence suffices or the budget is spent, and a report with its sources. */
import { z } from "zod"
import type { Workflow } from "../../builder/index.ts"
import { loadModule } from "../../core/module-load.ts"
import { researchAgents } from "./research-agents.ts"
import { limitsOf } from "./research-budget.ts"
import { researchLoop } from "./research-loop.ts"
import { checkResearchOptions, type ResearchOptions } from "./research-options.ts"
import { EVIDENCE } from "./research-state.ts"

/** Gives a report in Markdown. */
export function iterativeResearch(options: ResearchOptions): Workflow<string, string> {
  checkResearchOptions(options)
  const { name = "iterative-research", budget } = options
  return researchLoop<string, string>(
    {
      name,
      description: "Answers a question with a report: gaps are found and closed until the evidence suffices.",
      input: z.string().min(1),
      assign: (query) => ({ query, limits: limitsOf(budget) }),
      finish: async (text, ctx) => {
        // With a parser of Markdown, which nothing else needs.
        const { finishReport } = await loadModule(() => import("./report.ts"))
        return finishReport(text, ctx.state.get(EVIDENCE))
      },
    },
    options,
    researchAgents(options, "report"),
  )
}
