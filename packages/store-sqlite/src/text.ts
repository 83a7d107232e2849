/**
 * Names as the file keeps them: as they would stand between JSON's quotes. So a lone surrogate or a NUL, which
 * SQLite's text does not hold, comes back as it was.
 */

export function toText(name: string): string {
  return JSON.stringify(name).slice(1, -1)
}

export function toTextOrNull(name: string | undefined): string | null {
  return name === undefined ? null : toText(name)
}

export function fromText(text: string): string {
  return JSON.parse(`"${text}"`)
}

/** For messages: also of a text that is none of ours, as damage makes it. */
export function shownName(text: string): string {
  try {
    return fromText(text)
  } catch {
    return text
  }
}

/** For `json_each(?)`. */
export function toTextList(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)].map(toText))
}
