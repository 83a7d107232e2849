/** The sections of a deep research: each runs a loop of its own, with its share of the budget, and gives a draft. */
import { z } from "zod"
import type { Node, Workflow } from "../../builder/index.ts"
import { loadModule } from "../../core/module-load.ts"
import { type Callable, type Channel, type Context, channel, merge, replace } from "../../runtime/index.ts"
import { isNoFailure, messageOf } from "../failure.ts"
import { called } from "../stage-node.ts"
import type { Source } from "./report.ts"
import type { ResearchAgents } from "./research-agents.ts"
import type { PlannerAnswer, SectionPlan } from "./research-answers.ts"
import { atOnce, breachText, shareOf, stopwatch, usedUp } from "./research-budget.ts"
import { researchLoop } from "./research-loop.ts"
import type { DeepResearchOptions } from "./research-options.ts"
import { assignmentOf } from "./research-prompts.ts"
import { BREACH, EVIDENCE, type Limits, SPENT, sourceKey } from "./research-state.ts"

/** To a section's loop. */
interface SectionInput extends SectionPlan {
  readonly background: string
  readonly limits: Limits
}

interface SectionDraft {
  readonly text: string
  readonly sources: readonly Source[]
}

/** A draft, or why there is none. */
type SectionResult = { readonly draft: SectionDraft } | { readonly reason: string }

export interface SectionWay extends SectionPlan {
  readonly index: number
  readonly of: number
  /** Its share of them. */
  readonly tokens: number
}

export interface SectionDone {
  readonly index: number
  readonly title: string
  readonly reason?: string | undefined
}

export const PLAN: Channel<PlannerAnswer | undefined, PlannerAnswer> = channel(
  "plan",
  replace<PlannerAnswer>(),
)
/** By their place in the outline. */
export const SECTIONS: Channel<
  Readonly<Record<string, SectionResult>>,
  Record<string, SectionResult>
> = channel("sections", merge<Record<string, SectionResult>>({}))

function sectionLoop(
  options: DeepResearchOptions,
  agents: ResearchAgents,
): Workflow<SectionInput, SectionDraft> {
  return researchLoop<SectionInput, SectionDraft>(
    {
      name: "section-research",
      description: "Researches one section of a report.",
      input: z.looseObject({ title: z.string(), key_question: z.string() }),
      assign: ({ title, key_question, background, limits }) => ({
        query: key_question,
        title,
        background,
        limits,
      }),
      finish: (text, ctx) => ({
        text,
        sources: ctx.state.get(EVIDENCE).map(({ url, title }) => ({ url, title })),
      }),
    },
    options,
    agents,
  )
}

/** Runs a section's loop in a workflow of its own: its state is nobody else's. */
export function sectionNode(
  options: DeepResearchOptions,
  agents: ResearchAgents,
): Node<SectionWay, SectionDone> {
  const loop = sectionLoop(options, agents)
  const run = async (way: SectionWay, ctx: Context): Promise<SectionDone> => {
    const { index, of, title, key_question } = way
    const elapsed = stopwatch(ctx)
    const keep = (result: SectionResult) => {
      ctx.state.write(SECTIONS, { [index]: result })
      ctx.state.write(SPENT, elapsed() / atOnce(options, of))
    }
    const lost = (reason: string): SectionDone => {
      keep({ reason })
      return { index, title, reason }
    }
    // On record: after a restart the section goes on with what it was given.
    const { limits, parts } = await ctx.step("share", () => shareNow(options, way, ctx))
    if (parts.length > 0) return lost(breachText(parts))
    const background = ctx.state.get(PLAN)?.background_context ?? ""
    try {
      const [draft] = await called(loop, { title, key_question, background, limits }, ctx)
      if (draft === undefined || draft.text === "") return lost("it gave no text")
      keep({ draft })
      return { index, title }
    } catch (error) {
      if (isNoFailure(error, ctx)) throw error
      return lost(messageOf(error))
    }
  }
  const definition: Node["definition"] = {
    kind: "workflow",
    handlers: [{ schema: undefined, run: run as never }],
    nested: loop as unknown as Callable<never, unknown>,
  }
  return Object.freeze({ id: "section", definition: Object.freeze(definition) })
}

/** A section that starts late, because others had to end first, may find nothing left. */
function shareNow(options: DeepResearchOptions, way: SectionWay, ctx: Context) {
  const total = assignmentOf(ctx)
  return { limits: shareOf(options, total, way, ctx), parts: usedUp(ctx, total) }
}

/** The sections in the order of the outline, with numbers of sources that are one list for all. */
export async function reportParts(
  ctx: Context,
): Promise<{ readonly texts: string[]; readonly sources: readonly Source[] }> {
  // With a parser of Markdown, which nothing else needs.
  const { failedSection, sectionText } = await loadModule(() => import("./section-text.ts"))
  const results = ctx.state.get(SECTIONS)
  const outline = ctx.state.get(PLAN)?.report_outline ?? []
  const sources: Source[] = []
  const numbers = new Map<string, number>()
  const numberOf = (source: Source): number => {
    const known = numbers.get(sourceKey(source.url))
    if (known !== undefined) return known
    const number = sources.push(source)
    numbers.set(sourceKey(source.url), number)
    return number
  }
  const texts = outline.map(({ title }, index) => {
    const result = results[index]
    if (result === undefined) return failedSection(title, ctx.state.get(BREACH) ?? "it was not reached")
    if ("reason" in result) return failedSection(title, result.reason)
    // Also those that it does not cite: a report that cites nothing lists them all.
    result.draft.sources.forEach(numberOf)
    return sectionText(title, result.draft, numberOf)
  })
  return { texts, sources }
}
