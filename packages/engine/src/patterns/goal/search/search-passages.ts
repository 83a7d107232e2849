/** A search of an index or a graph, or by an agent that searches: what it found as evidence, the best first. */
import { SuperstepError } from "../../../core/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { clipped } from "../../../text/index.ts"
import { isNoFailure, messageOf, reportIncomplete } from "../../failures.ts"
import type { Found } from "../../ports.ts"
import type { Evidence } from "../answer/evidence.ts"
import { askAgent, textOf } from "../ask-agent.ts"
import { type GoalSearch, isRetriever } from "../goal-config.ts"

const MAX_SKIPPED = 20
/** Characters. */
const MAX_PASSAGE = 4_000
/** What is less relevant is more likely about something else (`Found.relevance`). */
const MIN_RELEVANCE = 0.5
/** The same for a source that was chosen for the question. */
const MIN_RELEVANCE_CHOSEN = 0.25

export interface FoundPassages {
  readonly evidence: readonly Evidence[]
  /** Passages that were found and left out, as they are about something else. */
  readonly unrelated: number
}

interface PassagesQuery {
  readonly goal: string
  readonly limit: number
  /** Whether the source was chosen for the question, and is no fallback. */
  readonly isChosen: boolean
}

export async function searchPassages(
  stage: "graph" | "vector",
  search: GoalSearch,
  { goal, limit, isChosen }: PassagesQuery,
  ctx: Context,
): Promise<FoundPassages> {
  const kind = stage === "graph" ? "graph" : "documents"
  const { name } = search
  if (!isRetriever(search)) {
    const text = textOf(await askAgent("Search", search, goal, ctx)).trim()
    return { evidence: text === "" ? [] : [{ kind, source: name, location: name, text }], unrelated: 0 }
  }
  const { skipped, ...found } = await ctx.step(`${stage} search of ${name}`, async () => {
    try {
      const all = (await search.search(goal, { limit, signal: ctx.signal })).slice(0, limit)
      const least = isChosen ? MIN_RELEVANCE_CHOSEN : MIN_RELEVANCE
      const related = all.filter(({ relevance = 1 }) => relevance >= least)
      return {
        evidence: related.map((one) => passageOf(kind, name, one)),
        unrelated: all.length - related.length,
        skipped: (search.skipped?.() ?? []).slice(0, MAX_SKIPPED),
      }
    } catch (cause) {
      if (isNoFailure(cause, ctx)) throw cause
      const reason = messageOf(cause).replace(/(?<![.\s])[.\s]+$/, "")
      throw new SuperstepError("SEARCH_FAILED", `The ${stage} search of "${name}" failed: ${reason}.`, {
        cause,
      })
    }
  })
  for (const { source, reason } of skipped) reportIncomplete(ctx, source, reason)
  return found
}

function passageOf(kind: "graph" | "documents", source: string, found: Found): Evidence {
  const { text, score, relevance, source: location, title } = found
  return {
    kind,
    source,
    location,
    ...(title !== undefined && title !== "" && { title }),
    score,
    ...(relevance !== undefined && { relevance }),
    text: clipped(text.trim(), MAX_PASSAGE),
  }
}

/** The constant of reciprocal rank fusion, at its usual value. */
const RANK_CONSTANT = 60

/** Several orders as one, by the sum of 1 / (60 + rank): scores of different searches cannot be compared. */
export function mergeByRank(orders: readonly (readonly Evidence[])[]): Evidence[] {
  const sums = new Map<string, { evidence: Evidence; sum: number }>()
  for (const order of orders) {
    for (const [rank, evidence] of order.entries()) {
      const key = JSON.stringify([evidence.location, evidence.text, evidence.query])
      const { sum = 0, evidence: first = evidence } = sums.get(key) ?? {}
      sums.set(key, { evidence: first, sum: sum + 1 / (RANK_CONSTANT + rank + 1) })
    }
  }
  // Equals keep the order of the searches.
  return [...sums.values()].sort((a, b) => b.sum - a.sum).map(({ evidence }) => evidence)
}
