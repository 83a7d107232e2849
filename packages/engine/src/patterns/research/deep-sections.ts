/** The sections of a deep research: each runs its own loop, with its share of the budget, and returns a draft. */
import { z } from "zod"
import type { Node, Workflow } from "../../builder/index.ts"
import { type Callable, type Channel, type Context, channel, merge, replace } from "../../runtime/index.ts"
import { type Incomplete, incomplete, isNoFailure, messageOf } from "../failures.ts"
import { called } from "../stage-node.ts"
import type { DraftedSection, SectionDraft } from "./report/finish-report.ts"
import type { ResearchAgents } from "./research-agents.ts"
import type { PlannerAnswer, SectionPlan } from "./research-answers.ts"
import { atOnce, breachText, shareOf, stopwatch, usedUp } from "./research-budget.ts"
import { researchLoop } from "./research-loop.ts"
import type { DeepResearchOptions } from "./research-options.ts"
import { assignmentOf } from "./research-prompts.ts"
import { BREACH, EVIDENCE, type Limits, SPENT } from "./research-state.ts"
import { SEARCHES, SharedSearches } from "./shared-searches.ts"

/** To a section's loop. */
interface SectionInput extends SectionPlan {
  readonly background: string
  readonly limits: Limits
  /** See `Assignment`. */
  readonly section: string
}

interface FinishedDraft extends SectionDraft {
  readonly incomplete: readonly Incomplete[]
}

/** A draft, or why there is none. */
type SectionResult = { readonly draft: FinishedDraft } | { readonly reason: string }

export interface SectionWay extends SectionPlan {
  readonly index: number
  readonly of: number
  /** Its share of them. */
  readonly tokens: number
  /** The same for all sections: they share their searches. */
  readonly room?: string | undefined
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
  shared: SharedSearches,
): Workflow<SectionInput, FinishedDraft> {
  return researchLoop<SectionInput, FinishedDraft>(
    {
      name: "section-research",
      description: "Researches one section of a report.",
      input: z.looseObject({ title: z.string(), key_question: z.string() }),
      assign: ({ title, key_question, background, limits, section }) => ({
        query: key_question,
        title,
        background,
        limits,
        section,
      }),
      search: ({ section }) => shared.searchOf(section),
      finish: (text, shown, ctx) => {
        const sources = ctx.state.get(EVIDENCE).map(({ text: _, tool: __, ...source }) => source)
        const others = sources.filter((_, i) => !shown.has(i))
        return {
          text,
          sources: sources.map((source, i) => (shown.has(i) ? source : null)),
          ...(others.length > 0 && { others }),
          incomplete: ctx.state.get(incomplete),
        }
      },
    },
    options,
    agents,
  )
}

/** Runs a section's loop in its own workflow, so that its state is isolated. */
export function sectionNode(
  options: DeepResearchOptions,
  agents: ResearchAgents,
): Node<SectionWay, SectionDone> {
  // What is missing from the start is the whole report's.
  const shared = new SharedSearches()
  const loop = sectionLoop({ ...options, incomplete: undefined }, agents, shared)
  const run = async (way: SectionWay, ctx: Context): Promise<SectionDone> => {
    const { index, of, title, key_question } = way
    const searches = shared.join(way.room ?? ctx.runId, ctx)
    const elapsed = stopwatch(ctx)
    const keep = async (result: SectionResult) => {
      ctx.state.write(SEARCHES, await searches.leave())
      ctx.state.write(SECTIONS, { [index]: result })
      ctx.state.write(SPENT, elapsed() / atOnce(options, of))
    }
    const lost = async (reason: string): Promise<SectionDone> => {
      await keep({ reason })
      return { index, title, reason }
    }
    try {
      // Recorded: after a restart the section continues with the same share.
      const { limits, parts } = await ctx.step("share", () => shareNow(options, way, ctx))
      if (parts.length > 0) return await lost(breachText(parts))
      const background = ctx.state.get(PLAN)?.background_context ?? ""
      const [draft] = await called(
        loop,
        { title, key_question, background, limits, section: searches.id },
        ctx,
      )
      if (draft === undefined || draft.text === "") return await lost("it returned no text")
      await keep({ draft })
      return { index, title }
    } catch (error) {
      if (isNoFailure(error, ctx)) throw error
      return await lost(messageOf(error))
    } finally {
      await searches.leave()
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

/** What each section of the outline came to, and what it lacks. */
export function draftedSections(ctx: Context): {
  readonly sections: readonly DraftedSection[]
  readonly problems: readonly Incomplete[]
} {
  const results = ctx.state.get(SECTIONS)
  const outline = ctx.state.get(PLAN)?.report_outline ?? []
  const problems: Incomplete[] = []
  const sections = outline.map(({ title }, index): DraftedSection => {
    const result = results[index] ?? { reason: ctx.state.get(BREACH) ?? "it was not reached" }
    if ("reason" in result) {
      problems.push({ source: `section "${title}"`, reason: result.reason })
      return { title, reason: result.reason }
    }
    for (const { source, reason } of result.draft.incomplete) {
      problems.push({ source: source === "research" ? `section "${title}"` : source, reason })
    }
    return { title, draft: result.draft }
  })
  return { sections, problems }
}
