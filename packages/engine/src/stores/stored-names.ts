/**
 * Names (ids, workflows, keys …) as stores with columns of text keep them: as they would stand between JSON's quotes, so
 * that a NUL or a lone surrogate, which such columns do not hold, survives.
 */

export function toStoredName(name: string): string {
  return JSON.stringify(name).slice(1, -1)
}

/** Throws what JSON.parse throws for text that is no stored name. */
export function fromStoredName(text: string): string {
  return text.includes("\\") ? JSON.parse(`"${text}"`) : text
}
