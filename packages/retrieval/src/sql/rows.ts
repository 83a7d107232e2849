/** Rows of a result. The programs that run in separate processes use it too: it loads nothing of the engine. */
import type { Json } from "@superstep/engine"

export type KnownLimits = Readonly<Record<"rows" | "bytes" | "timeout", number>>

/** Takes rows until one does not fit any more. */
export class BoundedRows {
  readonly rows: Json[][] = []
  isCut = false
  readonly #limits: KnownLimits
  #bytes = 0

  constructor(limits: KnownLimits) {
    this.#limits = limits
  }

  /** False when neither this row nor any after it fits. */
  add(row: Json[]): boolean {
    if (this.isCut) return false
    this.#bytes += Buffer.byteLength(JSON.stringify(row))
    this.isCut = this.rows.length >= this.#limits.rows || this.#bytes > this.#limits.bytes
    if (!this.isCut) this.rows.push(row)
    return !this.isCut
  }
}

/** The number, unless digits would be lost or it is none (NaN); trailing zeros of a fraction do not count as digits. */
export function exactNumber(text: string): Json {
  const value = Number(text)
  const plain = text.includes(".") ? text.replace(/\.?0+$/, "") : text
  return Number.isFinite(value) && String(value) === plain ? value : text
}

/** A name as an SQL identifier, whatever it contains. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
