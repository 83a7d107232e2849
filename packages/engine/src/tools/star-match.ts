/**
 * Whether items fit a pattern in which `star` stands for any number of them. Goes back to the last star alone, never
 * further: time is at most pattern × items, whoever wrote the pattern.
 */
export function starMatch(
  pattern: ArrayLike<string>,
  items: ArrayLike<string>,
  star: string,
  matches: (one: string, item: string) => boolean,
): boolean {
  let at = 0
  let starAt = -1
  let resume = 0
  for (let i = 0; i < items.length; ) {
    const one = pattern[at]
    if (one === star) {
      starAt = at++
      resume = i
    } else if (one !== undefined && matches(one, items[i] ?? "")) {
      at++
      i++
    } else if (starAt >= 0) {
      at = starAt + 1
      i = ++resume
    } else return false
  }
  while (pattern[at] === star) at++
  return at === pattern.length
}
