/** Which tools of a server an agent gets, and their names. */
import { createHash } from "node:crypto"
import { matchesWord } from "@superstep/engine/tools"

/** The server's names, with `*` for any characters and `?` for one. A list means `allow`. */
export type ToolFilter =
  | readonly string[]
  | { readonly allow?: readonly string[] | undefined; readonly deny?: readonly string[] | undefined }

/** `deny` wins; without `allow` everything else is allowed. */
export function toolFilter(filter: ToolFilter | undefined): (name: string) => boolean {
  const { allow, deny } = patternsOf(filter)
  return (name) => {
    if (deny.some((pattern) => matchesWord(pattern, name))) return false
    return allow === undefined || allow.some((pattern) => matchesWord(pattern, name))
  }
}

/** Patterns that match no tool: a typing mistake, or a tool that the server no longer has. */
export function idlePatterns(filter: ToolFilter | undefined, names: readonly string[]): readonly string[] {
  const { allow = [] } = patternsOf(filter)
  return allow.filter((pattern) => !names.some((name) => matchesWord(pattern, name)))
}

function patternsOf(filter: ToolFilter = {}) {
  const { allow, deny = [] } = "length" in filter ? { allow: filter } : filter
  return { allow, deny }
}

const MAX = 64

/**
 * A name for each tool that every provider accepts: letters, digits, `_` and `-`, at most 64 characters. It depends on the
 * names only, so that a resumed run finds its tools again. A tool whose name is valid keeps it.
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
  return allowed.length <= MAX && allowed !== "" ? allowed : marked(allowed, name)
}

function marked(plainName: string, name: string): string {
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8)
  return `${plainName.slice(0, MAX - mark.length - 1)}_${mark}`
}
