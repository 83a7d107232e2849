/** Parts of our own queries. What is in them comes from the graph's schema, or goes in as a parameter. */
import type { GraphLabel } from "./graph-database.ts"

export function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``
}

/** Texts of any length are not looked through for the sake of a name. */
const MOST_TEXTS = 12

/** Properties that hold text, those that name a thing first. */
export function textProperties({ properties }: GraphLabel): string[] {
  return properties
    .filter(({ type }) => type.toUpperCase().split(" | ").includes("STRING"))
    .map(({ name }) => name)
    .sort((a, b) => rankOfName(a) - rankOfName(b))
    .slice(0, MOST_TEXTS)
}

const NAMES = ["name", "title", "fullname", "label", "code", "id", "key"]

/** The lower, the likelier it names a thing. */
export function rankOfName(property: string): number {
  const plain = property.toLowerCase().replace(/[^a-z]/g, "")
  const rank = NAMES.indexOf(plain)
  if (rank >= 0) return rank
  return plain.endsWith("name") || plain.endsWith("title") ? NAMES.length : NAMES.length + 1
}

export function isNaming(property: string): boolean {
  return rankOfName(property) <= NAMES.length
}
