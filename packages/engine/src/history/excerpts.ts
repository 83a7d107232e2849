/** Two texts that differ, cut to what shows it: around the place where they begin to. */
export function excerpts(before: string, after: string, most: number): [before: string, after: string] {
  if (before.length <= most && after.length <= most) return [before, after]
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const from = Math.max(0, same - Math.floor(most / 3))
  return [excerpt(before, from, most), excerpt(after, from, most)]
}

export function excerpt(text: string, from: number, most: number): string {
  const end = from + most
  return `${from > 0 ? "…" : ""}${text.slice(from, end)}${end < text.length ? "…" : ""}`
}
