/**
 * Numbers for spellings, without a copy of each word: a prompt has tens of thousands of words and a few thousand
 * spellings. A hash table over places in texts (open addressing, a power of two, at most half full).
 */
export class Spellings {
  private table = new Int32Array(4_096).fill(-1)
  private readonly hashes: number[] = []
  private readonly found: string[] = []

  /** The number of the spelling at this place; new ones count up from 0. */
  numberOf(text: string, from: number, to: number): number {
    let hash = 0x811c9dc5
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    const mask = this.table.length - 1
    for (let at = (hash ^ (hash >>> 15)) & mask; ; at = (at + 1) & mask) {
      const number = this.table[at] as number
      if (number < 0) return this.add(hash, text.slice(from, to), at)
      const known = this.found[number] as string
      if (this.hashes[number] === hash && known.length === to - from && text.startsWith(known, from))
        return number
    }
  }

  /** All of them, by number. */
  get all(): readonly string[] {
    return this.found
  }

  private add(hash: number, spelling: string, at: number): number {
    const number = this.found.length
    this.found.push(spelling)
    this.hashes.push(hash)
    this.table[at] = number
    if (this.found.length * 2 > this.table.length) this.grow()
    return number
  }

  private grow(): void {
    const table = new Int32Array(this.table.length * 2).fill(-1)
    const mask = table.length - 1
    this.hashes.forEach((hash, number) => {
      let at = (hash ^ (hash >>> 15)) & mask
      while ((table[at] as number) >= 0) at = (at + 1) & mask
      table[at] = number
    })
    this.table = table
  }
}
