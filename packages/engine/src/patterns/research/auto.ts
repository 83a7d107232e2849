/** Research whose question says how deep it goes: one search to the end, or a report in sections. */
import { z } from "zod"
import { type Workflow, workflow } from "../../builder/index.ts"
import type { Context } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"
import { agentStage, workflowStage } from "../stage-node.ts"
import { deepResearch } from "./deep.ts"
import { modeByWords, type ResearchMode } from "./detect-mode.ts"
import { iterativeResearch } from "./iterative.ts"
import { type ResearchAgents, researchAgents, tryAsk } from "./research-agents.ts"
import type { ModeAnswer } from "./research-answers.ts"
import type { DeepResearchOptions } from "./research-options.ts"

interface Chosen {
  readonly mode: ResearchMode
  readonly query: string
}

/** Gives a report in Markdown. The budget is that of the research: what the choice costs is not of it. */
export function autoResearch(options: DeepResearchOptions): Workflow<string, string> {
  const { name = "research", ...rest } = options
  const agents = researchAgents(options, "report")
  const question = z.string().min(1)
  const mode = agentStage<string, Chosen>(
    "mode",
    async (query, ctx) => ({ mode: await modeOf(query, agents, ctx), query }),
    { input: question },
  )
  const part = (id: ResearchMode, inner: Workflow<string, string>) =>
    workflowStage<Chosen, string, string, string>(id, inner, {
      input: ({ query }) => query,
      output: ([report = ""]) => report,
    })
  const deep = part("deep", deepResearch(rest))
  return workflow(name, { description: "Answers a question with a report, as deep as it asks for." })
    .start(mode)
    .switch(
      mode,
      [{ when: (chosen) => chosen.mode === "deep", to: deep, label: "deep" }],
      part("iterative", iterativeResearch(rest)),
    )
    .build()
}

/** As `detectResearchMode` does, on the run's record. */
async function modeOf(query: string, agents: ResearchAgents, ctx: Context): Promise<ResearchMode> {
  try {
    const answer = await tryAsk<ModeAnswer>(agents("mode"), `Question: ${query}`, ctx)
    return answer?.mode ?? modeByWords(query)
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    ctx.log("warn", "The mode of the research was not answered; the question's words decide.", {
      reason: messageOf(error),
    })
    return modeByWords(query)
  }
}
