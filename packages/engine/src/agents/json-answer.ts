/** Some models wrap JSON in a code block, whatever they are told. */
import type { Json } from "../core/index.ts"

/** Undefined where the text is no JSON. */
export function jsonAnswer(text: string): { readonly value: Json } | undefined {
  const bare = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/i.exec(text)?.[1] ?? text
  try {
    return { value: JSON.parse(bare) as Json }
  } catch {
    return undefined
  }
}
