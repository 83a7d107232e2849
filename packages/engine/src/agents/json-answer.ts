/** Some models wrap JSON in a code block, whatever they are told. */
import type { Json } from "../core/index.ts"

/** Undefined where the text is no JSON. */
export function jsonAnswer(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(withoutFence(text)) as Json }
  } catch {
    return undefined
  }
}

/** Without one pattern for all of it: that would take the cube of an answer's length. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  const open = /^```(?:json)?\s*\n/i.exec(trimmed)?.[0]
  return open === undefined || !trimmed.endsWith("```") ? text : trimmed.slice(open.length, -3).trim()
}
