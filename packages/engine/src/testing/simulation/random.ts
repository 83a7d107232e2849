/** Random numbers that depend on the seed alone (mulberry32): the same seed, the same numbers, on every machine. */
export interface Random {
  /** A whole number from 0 up to, but not including, `n`. */
  below(n: number): number
  /** True with this probability. */
  chance(probability: number): boolean
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000
  }
  return {
    below: (n) => Math.floor(next() * n),
    chance: (probability) => next() < probability,
  }
}
