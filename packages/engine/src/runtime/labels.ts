/** Texts by name that a run carries in its row, for those who look for it. They change nothing of what it does. */

export interface Labels {
  readonly [name: string]: string
}

const MOST = 32
const LONGEST = 1_000

/** The first reason why these are no labels, as the end of a sentence. */
export function labelsProblem(labels: unknown): string | undefined {
  if (typeof labels !== "object" || labels === null || Array.isArray(labels)) {
    return `labels must be texts by name, not ${JSON.stringify(labels)}`
  }
  const entries = Object.entries(labels)
  if (entries.length > MOST) return `labels has ${entries.length} texts; ${MOST} is the most`
  for (const [name, value] of entries) {
    if (typeof value !== "string") return `labels.${name.slice(0, 100)} must be a text, not ${typeof value}`
    if (name === "") return "labels has a text without a name"
    if (name.length <= LONGEST && value.length <= LONGEST) continue
    return `labels.${name.slice(0, 100)} is longer than ${LONGEST} characters`
  }
  return undefined
}
