/** A value as the journal will have it: data of its own. */
export function plainJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
