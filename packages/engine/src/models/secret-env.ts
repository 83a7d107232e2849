/** Values of environment variables that must not be kept or shown: those whose variable's name says so. */
import { isSecretName } from "../text/index.ts"

/** A shorter value may be a word of any text. */
const SHORTEST_VALUE = 8

/** Looked up each time: a key may be set at any time. `also` are variables whose values are secret whatever their length. */
export function secretValues(also: readonly string[] = []): string[] {
  return Object.entries(process.env).flatMap(([name, value]) => {
    if (!value) return []
    if (also.includes(name)) return [value]
    return value.length >= SHORTEST_VALUE && isSecretName(name) ? [value] : []
  })
}
