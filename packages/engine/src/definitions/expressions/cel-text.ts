/** A CEL text that knows where each piece of it came from. */
import type { Span } from "./expression-error.ts"

interface Piece {
  readonly offset: number
  readonly source: Span
}

export class CelText {
  #text = ""
  readonly #pieces: Piece[] = []

  get text(): string {
    return this.#text
  }

  /** Where the next piece will start. */
  get nextOffset(): number {
    return this.#text === "" ? 0 : this.#text.length + 1
  }

  add(text: string, source: Span): void {
    this.#pieces.push({ offset: this.nextOffset, source })
    this.#text = this.#text === "" ? text : `${this.#text} ${text}`
  }

  /** The part of the source that a part of the CEL text came from. */
  sourceOf({ start, end }: Span): Span {
    const first = this.#pieceAt(start)
    const last = this.#pieceAt(Math.max(start, end - 1))
    return { start: first?.source.start ?? 0, end: Math.max(first?.source.end ?? 0, last?.source.end ?? 0) }
  }

  #pieceAt(offset: number): Piece | undefined {
    let low = 0
    let high = this.#pieces.length
    while (low + 1 < high) {
      const middle = (low + high) >> 1
      if ((this.#pieces[middle] as Piece).offset <= offset) low = middle
      else high = middle
    }
    return this.#pieces[low]
  }
}
