/** The texts in data, with where they are. */
import type { Json } from "../../core/index.ts"
import type { Path } from "./place.ts"

export function* textsIn(value: Json | undefined, at: Path): Generator<readonly [Path, string]> {
  if (typeof value === "string") yield [at, value]
  else if (Array.isArray(value)) for (const [i, one] of value.entries()) yield* textsIn(one, [...at, i])
  else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) yield* textsIn(one as Json, [...at, name])
  }
}
