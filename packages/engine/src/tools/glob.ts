/**
 * Globs for paths and names: `*` and `?` stay within a part, `**` spans parts, `{a,b}` is a choice.
 * They are not compiled to regular expressions: a pattern may come from a model, and must not be able to hang the process.
 */

const MAX_CHOICES = 64

export interface GlobOptions {
  /** For file systems and hosts that ignore case. */
  readonly ignoreCase?: boolean | undefined
}

/** Matches relative paths with `/`, without `.` and `..`. */
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

/** A pattern without `/` matches names in any directory. */
export function namesGlob(pattern: string, options?: GlobOptions): (path: string) => boolean {
  return pathGlob(pattern.includes("/") ? pattern : `**/${pattern}`, options)
}

/** Matches one word against a pattern with `*` and `?`. */
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

/**
 * Whether items match a pattern in which `star` matches any number of them. Backtracks only to the last star: the time is
 * at most pattern × items, for any pattern.
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
