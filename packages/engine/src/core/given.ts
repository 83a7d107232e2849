/** Without what is given as undefined, which is not given: a journal's JSON does not have it either. */
export function given<T extends object>(parts: T | undefined): Partial<T> {
  const known = Object.entries(parts ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known) as Partial<T>
}
