/** Evidence for agents: ranked by meaning or by words, limited, and numbered by its position. */
import type { Context } from "../../runtime/index.ts"
import { scoresOf } from "../../text/internal.ts"
import { untilAborted } from "../../tools/index.ts"
import { tagged } from "./research-agents.ts"
import type { TextEmbeddings } from "./research-options.ts"
import { EVIDENCE, type Evidence } from "./research-state.ts"

/** About 10,000 tokens. */
const MAX_SHOWN = 40_000

export interface ShownEvidence {
  readonly text: string
  /** Positions in the list, from 0. */
  readonly shown: ReadonlySet<number>
}

/**
 * If there is too much evidence, selects the best matches for the question. The choice is recorded, because embeddings
 * may vary between calls.
 */
export async function shownEvidence(
  ctx: Context,
  query: string,
  embeddings: TextEmbeddings | undefined,
): Promise<ShownEvidence> {
  const evidence = ctx.state.get(EVIDENCE)
  if (evidence.length === 0) return { text: "", shown: new Set() }
  const size = evidence.reduce((sum, { text }) => sum + text.length, 0)
  const ranked =
    size <= MAX_SHOWN
      ? evidence.map((_, i) => i)
      : await ctx.step("rank", () => rank(ctx, evidence, query, embeddings))
  let room = MAX_SHOWN
  const shown = ranked.filter((i) => {
    const length = evidence[i]?.text.length ?? 0
    if (length > room) return false
    room -= length
    return true
  })
  const texts = shown.sort((a, b) => a - b).map((i) => evidenceText(evidence[i] as Evidence, i + 1))
  return { text: texts.join("\n\n"), shown: new Set(shown) }
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

function evidenceText({ url, title, text, author, date }: Evidence, number: number): string {
  return tagged("document", text, {
    index: String(number),
    source: url,
    ...(title !== url && title !== "" && { title }),
    ...(author !== undefined && { author }),
    ...(date !== undefined && { date }),
  })
}

export interface EvidenceSearchOptions {
  readonly embeddings?: TextEmbeddings | undefined
  /** Default: all of it, ranked. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Positions in the list, the best first. Evidence is numbered by its position. */
export async function searchEvidence(
  evidence: readonly Evidence[],
  query: string,
  options: EvidenceSearchOptions = {},
): Promise<number[]> {
  const { embeddings, limit = evidence.length, signal } = options
  const texts = evidence.map(({ title, text }) => `${title}\n${text}`)
  const scores =
    embeddings === undefined ? scoresOf(query, texts) : await nearness(embeddings, query, texts, signal)
  return evidence
    .map((_, i) => i)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    .slice(0, limit)
}

async function nearness(
  embeddings: TextEmbeddings,
  query: string,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  if (texts.length === 0) return []
  const [asked, ...vectors] = await embeddings.embed([query, ...texts], signal)
  return vectors.map((vector) => (asked === undefined ? 0 : cosine(asked, vector)))
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0]
    dot += x * y
    aa += x * x
    bb += y * y
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb)
}

type Vector = ArrayLike<number>

/** With a thousand dimensions, these are a few megabytes. */
const MAX_REMEMBERED = 1_000

export function rememberedEmbeddings(embeddings: TextEmbeddings): TextEmbeddings {
  const known = new Map<string, Vector>()
  return {
    async embed(texts, signal) {
      const missing = [...new Set(texts)].filter((text) => !known.has(text))
      const found = new Map(known)
      if (missing.length > 0) {
        signal?.throwIfAborted()
        // Embeddings that ignore the signal do not delay the abort.
        const vectors = await untilAborted(embeddings.embed(missing, signal), signal)
        for (const [i, text] of missing.entries()) {
          const vector = vectors[i]
          if (vector === undefined)
            throw new Error(`${vectors.length} vectors were returned for ${missing.length} texts`)
          found.set(text, vector)
          known.set(text, vector)
        }
      }
      for (const text of known.keys()) {
        if (known.size <= MAX_REMEMBERED) break
        known.delete(text)
      }
      return texts.map((text) => found.get(text) ?? [])
    },
  }
}
