/**
 * Globs for paths and names: `*` and `?` stay within a part, `**` spans parts, `{a,b}` is a choice.
 * No regular expressions: a pattern comes from a model, and must not be able to hang the process.
 */
import { starMatch } from "./star-match.ts"

const MAX_CHOICES = 64

export interface GlobOptions {
  /** For file systems and hosts that know no case. */
  readonly ignoreCase?: boolean | undefined
}

/** Paths are given with `/`, relative, without `.` and `..`. */
export function pathGlob(pattern: string, options: GlobOptions = {}): (path: string) => boolean {
  const fold = (text: string) => (options.ignoreCase === true ? text.toLowerCase() : text)
  const choices = expandChoices(fold(pattern)).map((choice) =>
    choice.split("/").filter((part) => part !== ""),
  )
  return (path) => {
    const parts = fold(path).split("/")
    return choices.some((choice) => starMatch(choice, parts, "**", matchesWord))
  }
}

/** A pattern without `/` is one of names in any directory. */
export function namesGlob(pattern: string, options?: GlobOptions): (path: string) => boolean {
  return pathGlob(pattern.includes("/") ? pattern : `**/${pattern}`, options)
}

/** One word against one pattern with `*` and `?`. */
export function matchesWord(pattern: string, word: string): boolean {
  return starMatch([...pattern], [...word], "*", (one, char) => one === "?" || one === char)
}

function expandChoices(pattern: string): readonly string[] {
  const done: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const end = next.indexOf("}")
    const start = end < 0 ? -1 : next.lastIndexOf("{", end)
    if (start < 0 || done.length + open.length >= MAX_CHOICES) {
      done.push(next)
      continue
    }
    for (const choice of next.slice(start + 1, end).split(",")) {
      open.push(next.slice(0, start) + choice + next.slice(end + 1))
    }
  }
  return done
}
