/** The difference between two texts, word by word. Long texts are compared by their common beginning and end only. */

export interface DiffPart {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
}

/** Cells of the table of the longest common subsequence. */
const MAX_CELLS = 1_000_000

export function textDiff(a: string, b: string): readonly DiffPart[] {
  const before = words(a)
  const after = words(b)
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++
  }
  const middle = between(before.slice(start, before.length - end), after.slice(start, after.length - end))
  const parts: DiffPart[] = [
    { kind: "same", text: before.slice(0, start).join("") },
    ...middle,
    { kind: "same", text: end === 0 ? "" : before.slice(-end).join("") },
  ]
  return joined(parts)
}

function words(text: string): string[] {
  return text.match(/\s+|[^\s]+/g) ?? []
}

function between(a: readonly string[], b: readonly string[]): DiffPart[] {
  const removed: DiffPart = { kind: "removed", text: a.join("") }
  const added: DiffPart = { kind: "added", text: b.join("") }
  if (a.length === 0 || b.length === 0 || a.length * b.length > MAX_CELLS) return [removed, added]
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * width + j + 1] as number) + 1
          : Math.max(lengths[(i + 1) * width + j] as number, lengths[i * width + j + 1] as number)
    }
  }
  const parts: DiffPart[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      parts.push({ kind: "same", text: a[i] as string })
      i++
      j++
    } else if (
      j >= b.length ||
      (i < a.length && (lengths[(i + 1) * width + j] as number) >= (lengths[i * width + j + 1] as number))
    ) {
      parts.push({ kind: "removed", text: a[i++] as string })
    } else parts.push({ kind: "added", text: b[j++] as string })
  }
  return parts
}

/** Neighbours of one kind are one part; what is empty goes. */
function joined(parts: readonly DiffPart[]): DiffPart[] {
  const list: DiffPart[] = []
  for (const part of parts) {
    const last = list.at(-1)
    if (part.text === "") continue
    if (last?.kind === part.kind) list[list.length - 1] = { kind: part.kind, text: last.text + part.text }
    else list.push(part)
  }
  return list
}
