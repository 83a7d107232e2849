/** The constant of reciprocal rank fusion, at its usual value. */
const RANK_CONSTANT = 60

/**
 * Several orders as one, by the sum of 1 / (60 + rank): scores of different searches cannot be compared. Items with the
 * same key are one item. Equals keep the order in which they first appear.
 */
export function mergeByRank<Item>(
  orders: readonly (readonly Item[])[],
  keyOf: (item: Item) => string | number,
): { readonly item: Item; readonly score: number }[] {
  const merged = new Map<string | number, { item: Item; score: number }>()
  for (const order of orders) {
    for (const [rank, item] of order.entries()) {
      const key = keyOf(item)
      const { score = 0, item: first = item } = merged.get(key) ?? {}
      merged.set(key, { item: first, score: score + 1 / (RANK_CONSTANT + rank + 1) })
    }
  }
  return [...merged.values()].sort((a, b) => b.score - a.score)
}
