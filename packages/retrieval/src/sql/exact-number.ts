import type { Json } from "@superstep/engine"

/** The number, unless digits would be lost; zeros at the end of a fraction are none. */
export function exactNumber(text: string): Json {
  const value = Number(text)
  const plain = text.includes(".") ? text.replace(/\.?0+$/, "") : text
  return String(value) === plain ? value : text
}
