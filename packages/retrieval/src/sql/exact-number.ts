import type { Json } from "@superstep/engine"

/** The number, unless digits would be lost or it is none (NaN); zeros at the end of a fraction are no digits. */
export function exactNumber(text: string): Json {
  const value = Number(text)
  const plain = text.includes(".") ? text.replace(/\.?0+$/, "") : text
  return Number.isFinite(value) && String(value) === plain ? value : text
}
