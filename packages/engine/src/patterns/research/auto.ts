/** Research that chooses its depth by the question: one search loop, or a report in sections. */
import { z } from "zod"
import { agent } from "../../agents/index.ts"
import { type Workflow, workflow } from "../../builder/index.ts"
import type { Context, RunOptions } from "../../runtime/index.ts"
import { incomplete, isNoFailure, messageOf } from "../failures.ts"
import { agentStage, workflowStage } from "../stage-node.ts"
import { deepReport } from "./deep.ts"
import { INSTRUCTIONS, type ResearchAgents, researchAgents, tryAsk } from "./research-agents.ts"
import { type FinishedReport, iterativeReport } from "./research-loop.ts"
import type { DeepResearchOptions, Models } from "./research-options.ts"
import { modeSchema, REPORT } from "./research-state.ts"

interface Chosen {
  readonly mode: ResearchMode
  readonly query: string
}

/** Returns a report in Markdown. The budget applies to the research; choosing the mode is not part of it. */
export function autoResearch(options: DeepResearchOptions): Workflow<string, string> {
  const { name = "research", ...rest } = options
  const agents = researchAgents(options, "report")
  const question = z.string().min(1)
  const mode = agentStage<string, Chosen>(
    "mode",
    async (query, ctx) => ({ mode: await modeOf(query, agents, ctx), query }),
    { input: question },
  )
  const part = (id: ResearchMode, inner: Workflow<string, FinishedReport>) =>
    workflowStage<Chosen, string, FinishedReport, string>(id, inner, {
      input: ({ query }) => query,
      output: passOn,
    })
  const whole = (report: FinishedReport) => report
  const deep = part("deep", deepReport(rest, whole))
  const description = "Answers a question with a report, as deep as the question requires."
  return workflow(name, { description, state: [REPORT, incomplete] })
    .start(mode)
    .switch(
      mode,
      [{ when: (chosen) => chosen.mode === "deep", to: deep, label: "deep" }],
      part("iterative", iterativeReport(rest, whole)),
    )
    .build()
}

/** Returns the text, and writes the report as data to the run's state. */
function passOn([finished]: readonly FinishedReport[], ctx: Context): string {
  if (finished === undefined) return ""
  const { text, report } = finished
  ctx.state.write(REPORT, report)
  if (report.incomplete.length > 0) ctx.state.write(incomplete, report.incomplete)
  return text
}

/** Like `detectResearchMode`, as a recorded step. */
async function modeOf(query: string, agents: ResearchAgents, ctx: Context): Promise<ResearchMode> {
  try {
    const answer = await tryAsk<{ mode: ResearchMode }>(agents("mode"), `Question: ${query}`, ctx)
    return answer?.mode ?? modeByWords(query)
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    ctx.log("warn", "The mode of the research was not answered; the question's words decide.", {
      reason: messageOf(error),
    })
    return modeByWords(query)
  }
}

export type ResearchMode = "iterative" | "deep"

/** Asks the model. If that fails, or its answer is unreadable, the words of the question decide. */
export async function detectResearchMode(
  query: string,
  model: Models,
  options: RunOptions = {},
): Promise<ResearchMode> {
  const parser = agent({
    name: "mode",
    model,
    instructions: INSTRUCTIONS.mode,
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

function modeByWords(query: string): ResearchMode {
  return DEEP.test(query) ? "deep" : "iterative"
}
