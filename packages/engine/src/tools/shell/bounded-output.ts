/** Output of a command: if it is too long, its beginning and its end are kept. */
import { Masking } from "../secrets.ts"

export class BoundedOutput {
  readonly #half: number
  readonly #head: Buffer[] = []
  #headSize = 0
  #tail: Buffer[] = []
  #tailSize = 0
  #total = 0

  constructor(maxBytes: number) {
    this.#half = Math.max(1, Math.floor(maxBytes / 2))
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length
    const room = Math.min(this.#half - this.#headSize, chunk.length)
    if (room > 0) {
      this.#head.push(Buffer.from(chunk.subarray(0, room)))
      this.#headSize += room
    }
    if (room >= chunk.length) return
    const rest = chunk.subarray(Math.max(room, chunk.length - this.#half))
    this.#tail.push(Buffer.from(rest))
    this.#tailSize += rest.length
    // Gathered when there is twice too much, so that each byte is copied a bounded number of times.
    if (this.#tailSize > 2 * this.#half) this.#gather()
  }

  #gather(): Buffer {
    const all = Buffer.concat(this.#tail)
    const last = all.subarray(Math.max(0, all.length - this.#half))
    this.#tail = [last]
    this.#tailSize = last.length
    return last
  }

  /** Decoded, cleaned and without secrets, also those that were cut in two; what is not UTF-8 becomes `�`. */
  text(masking: Masking = NO_SECRETS, clean: (text: string) => string = (text) => text): string {
    const head = Buffer.concat(this.#head)
    const tail = this.#gather()
    const left = this.#total - head.length - tail.length
    if (left === 0) return masking.text(clean(Buffer.concat([head, tail]).toString("utf8")))
    const start = masking.beginning(clean(wholeStart(head)))
    return `${start}\n… [${left} bytes left out] …\n${masking.ending(clean(wholeEnd(tail)))}`
  }
}

const NO_SECRETS = Masking.of([])

/** Without a character that was cut at the end. */
function wholeStart(bytes: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true })
}

/** Without a character that was cut at the start. */
function wholeEnd(bytes: Buffer): string {
  let start = 0
  while (start < Math.min(3, bytes.length) && ((bytes[start] as number) & 0xc0) === 0x80) start++
  return bytes.toString("utf8", start)
}
