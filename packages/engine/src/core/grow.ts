/**
 * Adds to a list that mostly gets one item: the first makes a list of just that size, where pushing into an empty
 * array would reserve room for sixteen more. Every step makes several such lists.
 */
export function grown<T>(list: T[], item: T): T[] {
  if (list.length === 0) return [item]
  list.push(item)
  return list
}
