/** Data with templates in its texts. They are read once. */
import type { Json } from "../../core/index.ts"
import type { Scope } from "./evaluation.ts"
import type { Reference } from "./reference.ts"
import type { Spelling } from "./spelling.ts"
import { template } from "./template.ts"

/** A lone expression keeps its type. `scopeOf` is what the templates see where they are filled. */
export function filling<Place>(
  data: Json,
  spelling: Spelling,
  scopeOf: (place: Place, references: readonly Reference[]) => Scope,
): (place: Place) => Json {
  if (typeof data === "string") {
    const read = template(data, spelling)
    return (place) => read.value(scopeOf(place, read.references)) ?? null
  }
  if (Array.isArray(data)) {
    const parts = data.map((part: Json) => filling(part, spelling, scopeOf))
    return (place) => parts.map((part) => part(place))
  }
  if (typeof data !== "object" || data === null) return () => data
  const parts = Object.entries(data).map(
    ([name, value]) => [name, filling(value as Json, spelling, scopeOf)] as const,
  )
  return (place) => Object.fromEntries(parts.map(([name, part]) => [name, part(place)]))
}
