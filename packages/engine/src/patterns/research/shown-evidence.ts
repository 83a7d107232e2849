/** Evidence as an agent is shown it: numbered by its place, and no more of it than fits. */
import type { Context } from "../../runtime/index.ts"
import { searchEvidence } from "./evidence-search.ts"
import type { TextEmbeddings } from "./research-options.ts"
import { tagged } from "./research-prompts.ts"
import { EVIDENCE, type Evidence } from "./research-state.ts"

/** About 10,000 tokens. */
const MOST = 40_000

/** Where there is too much, what fits the question best; the choice is on record, as embeddings may not give it twice. */
export async function shownEvidence(
  ctx: Context,
  query: string,
  embeddings: TextEmbeddings | undefined,
): Promise<string> {
  const evidence = ctx.state.get(EVIDENCE)
  if (evidence.length === 0) return ""
  const size = evidence.reduce((sum, { text }) => sum + text.length, 0)
  const ranked =
    size <= MOST
      ? evidence.map((_, i) => i)
      : await ctx.step("rank", () => rank(ctx, evidence, query, embeddings))
  let room = MOST
  const shown = ranked.filter((i) => {
    const length = evidence[i]?.text.length ?? 0
    if (length > room) return false
    room -= length
    return true
  })
  return shown
    .sort((a, b) => a - b)
    .map((i) => evidenceText(evidence[i] as Evidence, i + 1))
    .join("\n\n")
}

async function rank(
  ctx: Context,
  evidence: readonly Evidence[],
  query: string,
  embeddings: TextEmbeddings | undefined,
): Promise<number[]> {
  try {
    return await searchEvidence(evidence, query, { embeddings, signal: ctx.signal })
  } catch (error) {
    if (ctx.signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    ctx.log("warn", "Evidence cannot be compared by meaning; it is compared by words.", { reason })
    return await searchEvidence(evidence, query)
  }
}

function evidenceText({ url, title, text }: Evidence, number: number): string {
  const named: Record<string, string> = title === url || title === "" ? {} : { title }
  return tagged("document", text, { index: String(number), source: url, ...named })
}
