/**
 * Which sentences have which words. A prompt has tens of thousands of words and a few thousand spellings: each word is
 * read once, no word is copied but the first of its spelling, and what is kept of the others are numbers in flat arrays.
 */
import { GAP, kindOf, LETTER, rootOf } from "./words.ts"

const NONE = -1

export class WordIndex {
  // Spellings by number, and a hash table over them (open addressing, a power of two, at most half full).
  readonly #spellings: string[] = []
  #hashes = new Int32Array(2_048)
  #table = new Int32Array(4_096).fill(NONE)
  // The places of a spelling: a chain of sentences, the last one first.
  #latest = new Int32Array(2_048)
  #sentences = new Int32Array(16_384)
  #earlier = new Int32Array(16_384)
  #places = 0
  readonly #asked = new Map<string, readonly number[]>()

  /** Reads the words of a sentence, whose number is higher than those before it; gives how many it has. */
  add(text: string, from: number, to: number, sentence: number): number {
    let words = 0
    let start = NONE
    let hash = SEED
    for (let i = from; i < to; i++) {
      const code = text.charCodeAt(i)
      const kind = kindOf(code)
      if (kind === LETTER) {
        if (start < 0) start = i
        hash = Math.imul(hash ^ code, PRIME)
        continue
      }
      if (start >= 0) {
        words++
        this.#note(text, start, i, hash, sentence)
        start = NONE
        hash = SEED
      }
      if (kind === GAP) continue
      words++
      this.#note(text, i, i + 1, Math.imul(SEED ^ code, PRIME), sentence)
    }
    if (start < 0) return words
    this.#note(text, start, to, hash, sentence)
    return words + 1
  }

  /** Numbers of the sentences that have a word of this root. */
  withRoot(root: string): readonly number[] {
    const known = this.#asked.get(root)
    if (known !== undefined) return known
    const first = root.charCodeAt(0)
    const found = new Set<number>()
    this.#spellings.forEach((spelling, number) => {
      // A root begins as its words do: most are passed over without a look at the rest.
      const code = spelling.charCodeAt(0)
      if ((code < 128 ? code | LOWER_CASE : lowerCased(spelling)) !== first) return
      if (rootOf(spelling) !== root) return
      for (let at = this.#latest[number] as number; at !== NONE; at = this.#earlier[at] as number)
        found.add(this.#sentences[at] as number)
    })
    const numbers = [...found]
    this.#asked.set(root, numbers)
    return numbers
  }

  #note(text: string, from: number, to: number, hash: number, sentence: number): void {
    const number = this.#numberOf(text, from, to, hash)
    const last = this.#latest[number] as number
    if (last !== NONE && this.#sentences[last] === sentence) return
    if (this.#places === this.#sentences.length) {
      this.#sentences = twiceAsLong(this.#sentences)
      this.#earlier = twiceAsLong(this.#earlier)
    }
    this.#sentences[this.#places] = sentence
    this.#earlier[this.#places] = last
    this.#latest[number] = this.#places++
  }

  #numberOf(text: string, from: number, to: number, hash: number): number {
    const table = this.#table
    const mask = table.length - 1
    for (let at = (hash ^ (hash >>> 15)) & mask; ; at = (at + 1) & mask) {
      const number = table[at] as number
      if (number < 0) return this.#learn(text.slice(from, to), hash, at)
      if (this.#hashes[number] !== hash) continue
      const known = this.#spellings[number] as string
      if (known.length === to - from && text.startsWith(known, from)) return number
    }
  }

  #learn(spelling: string, hash: number, at: number): number {
    const number = this.#spellings.push(spelling) - 1
    if (number === this.#hashes.length) {
      this.#hashes = twiceAsLong(this.#hashes)
      this.#latest = twiceAsLong(this.#latest)
    }
    this.#hashes[number] = hash
    this.#latest[number] = NONE
    this.#table[at] = number
    if (this.#spellings.length * 2 > this.#table.length) this.#grow()
    return number
  }

  #grow(): void {
    const table = new Int32Array(this.#table.length * 2).fill(NONE)
    const mask = table.length - 1
    for (let number = 0; number < this.#spellings.length; number++) {
      const hash = this.#hashes[number] as number
      let at = (hash ^ (hash >>> 15)) & mask
      while ((table[at] as number) >= 0) at = (at + 1) & mask
      table[at] = number
    }
    this.#table = table
  }
}

// FNV-1a.
const SEED = 0x811c9dc5
const PRIME = 0x01000193
/** The bit that tells a small letter of ASCII from a capital; digits have it as well. */
const LOWER_CASE = 32

function lowerCased(spelling: string): number {
  return spelling.charAt(0).toLowerCase().charCodeAt(0)
}

function twiceAsLong(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(numbers.length * 2)
  longer.set(numbers)
  return longer
}
