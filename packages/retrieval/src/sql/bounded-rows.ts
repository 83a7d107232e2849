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

  /** False when there is no place for this row, nor for any after it. */
  add(row: Json[]): boolean {
    if (this.isCut) return false
    this.#bytes += Buffer.byteLength(JSON.stringify(row))
    this.isCut = this.rows.length >= this.#limits.rows || this.#bytes > this.#limits.bytes
    if (!this.isCut) this.rows.push(row)
    return !this.isCut
  }
}
