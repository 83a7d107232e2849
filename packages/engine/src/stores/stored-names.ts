/**
 * Names (ids, workflows, keys …) as stores with text columns keep them: escaped as in a JSON string, so that a NUL or a lone
 * surrogate, which such columns reject, survives.
 */

export function toStoredName(name: string): string {
  return JSON.stringify(name).slice(1, -1)
}

/** Throws the error of JSON.parse for text that is not a stored name. */
export function fromStoredName(text: string): string {
  return JSON.parse(`"${text}"`)
}
