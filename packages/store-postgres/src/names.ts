/** Names in columns: how they are written, and read back. */
import { fromStoredName, toStoredName, type ValueCodec } from "@superstep/engine/stores"
import { corrupt, type Subject } from "./errors.ts"

export { toStoredName as toText }

export function toTextOrNull(name: string | undefined): string | null {
  return name === undefined ? null : toStoredName(name)
}

export function toTexts(names: readonly string[]): string[] {
  return [...new Set(names)].map(toStoredName)
}

export function parseName(text: string, subject: Subject = () => "A name is damaged"): string {
  try {
    return fromStoredName(text)
  } catch (error) {
    throw corrupt(subject, "it is no name", error)
  }
}

export function parseJson(text: string, subject: Subject): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw corrupt(subject, "it is not JSON", error)
  }
}

/** JSON that may be sealed for this place. */
export function parseSealed(
  codec: ValueCodec,
  text: string,
  subject: Subject,
  kind: string,
  owner: string,
  part?: string,
): unknown {
  const damaged = (what: string, cause?: unknown) => corrupt(subject, what, cause)
  return parseJson(codec.open(text, damaged, kind, owner, part), subject)
}
