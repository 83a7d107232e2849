/** Relevance as `Found` has it: 0 to 1, with 0.5 where what is found begins to be about the question. */
export function scaledRelevance(value: number, limit: number): number {
  const share = value < limit ? (0.5 * value) / limit : 0.5 + (0.5 * (value - limit)) / (1 - limit)
  return Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 1_000
}
