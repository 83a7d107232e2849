/** Which of a server's tools an agent gets, and under which names. */
import { createHash } from "node:crypto"
import { matchesWord } from "@superstep/engine/tools"

/** Names as the server has them, with `*` for any run of characters and `?` for one. A list is `allow`. */
export type ToolFilter =
  | readonly string[]
  | { readonly allow?: readonly string[] | undefined; readonly deny?: readonly string[] | undefined }

/** `deny` comes first; without `allow` everything else is in. */
export function toolFilter(filter: ToolFilter | undefined): (name: string) => boolean {
  const { allow, deny } = patternsOf(filter)
  return (name) => {
    if (deny.some((pattern) => matchesWord(pattern, name))) return false
    return allow === undefined || allow.some((pattern) => matchesWord(pattern, name))
  }
}

/** Patterns that fit no tool: a typing mistake, or a tool that the server no longer has. */
export function idlePatterns(filter: ToolFilter | undefined, names: readonly string[]): readonly string[] {
  const { allow = [] } = patternsOf(filter)
  return allow.filter((pattern) => !names.some((name) => matchesWord(pattern, name)))
}

function patternsOf(filter: ToolFilter | undefined): {
  allow: readonly string[] | undefined
  deny: readonly string[]
} {
  if (filter === undefined) return { allow: undefined, deny: [] }
  if (isList(filter)) return { allow: filter, deny: [] }
  return { allow: filter.allow, deny: filter.deny ?? [] }
}

function isList(filter: ToolFilter): filter is readonly string[] {
  return Array.isArray(filter)
}

const MOST = 64

/**
 * A name for each that every provider takes: letters, digits, `_` and `-`, at most 64. It depends on nothing but the names,
 * so that a run that goes on later finds its tools again. Who has a fitting name keeps it.
 */
export function toolNames(names: readonly string[], prefix = ""): ReadonlyMap<string, string> {
  const wanted = new Map(names.map((name) => [name, plain(prefix + name)]))
  const takers = new Map<string, number>()
  for (const plainName of wanted.values()) takers.set(plainName, (takers.get(plainName) ?? 0) + 1)
  return new Map(
    [...wanted].map(([name, plainName]) => {
      const isOwn = plainName === prefix + name
      return [name, isOwn || takers.get(plainName) === 1 ? plainName : marked(plainName, name)]
    }),
  )
}

function plain(name: string): string {
  const allowed = name.replace(/[^A-Za-z0-9_-]/g, "_")
  return allowed.length <= MOST && allowed !== "" ? allowed : marked(allowed, name)
}

function marked(plainName: string, name: string): string {
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8)
  return `${plainName.slice(0, MOST - mark.length - 1)}_${mark}`
}
