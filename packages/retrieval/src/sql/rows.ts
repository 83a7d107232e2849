/** Rows of a result. Programs in separate processes use this file too, so it must not load the engine. */
import type { Json } from "@superstep/engine"

export type KnownLimits = Readonly<Record<"rows" | "bytes" | "timeout", number>>

/** Collects rows until one exceeds the limits. */
export class BoundedRows {
  readonly rows: Json[][] = []
  isTruncated = false
  readonly #limits: KnownLimits
  #bytes = 0

  constructor(limits: KnownLimits) {
    this.#limits = limits
  }

  /** Returns false if this row does not fit. Later rows are dropped too. */
  add(row: Json[]): boolean {
    if (this.isTruncated) return false
    this.#bytes += Buffer.byteLength(JSON.stringify(row))
    this.isTruncated = this.rows.length >= this.#limits.rows || this.#bytes > this.#limits.bytes
    if (!this.isTruncated) this.rows.push(row)
    return !this.isTruncated
  }
}

/** The number, or the text if digits would be lost or it is not finite. Trailing zeros of a fraction are not digits. */
export function exactNumber(text: string): Json {
  const value = Number(text)
  const plain = text.includes(".") ? text.replace(/\.?0+$/, "") : text
  return Number.isFinite(value) && String(value) === plain ? value : text
}

/** Quotes any name as an SQL identifier. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
