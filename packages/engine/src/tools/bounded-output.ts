/** Output of which the beginning and the end are kept when it is too long. */
import { Masking } from "./secrets.ts"

export class BoundedOutput {
  readonly #half: number
  readonly #head: Buffer[] = []
  #headSize = 0
  #tail: Buffer[] = []
  #tailSize = 0
  #total = 0

  constructor(most: number) {
    this.#half = Math.max(1, Math.floor(most / 2))
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

  /** As text, cleaned and without secrets, also those that were cut in two; what is no UTF-8 is shown as `�`. */
  text(masking: Masking = NOTHING_SECRET, clean: (text: string) => string = asItIs): string {
    const head = Buffer.concat(this.#head)
    const tail = this.#gather()
    const left = this.#total - head.length - tail.length
    if (left === 0) return masking.text(clean(Buffer.concat([head, tail]).toString("utf8")))
    const start = masking.beginning(clean(wholeStart(head)))
    return `${start}\n… [${left} bytes left out] …\n${masking.ending(clean(wholeEnd(tail)))}`
  }
}

const NOTHING_SECRET = Masking.of([])

function asItIs(text: string): string {
  return text
}

/** Without a character that was cut at the end. */
function wholeStart(bytes: Buffer): string {
  let end = bytes.length
  // At most three bytes follow the first of a character.
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    if (length > back) end = bytes.length - back
    break
  }
  return bytes.toString("utf8", 0, end)
}

/** Without a character that was cut at the start. */
function wholeEnd(bytes: Buffer): string {
  let start = 0
  while (start < Math.min(3, bytes.length) && ((bytes[start] as number) & 0xc0) === 0x80) start++
  return bytes.toString("utf8", start)
}
