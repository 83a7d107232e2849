/** Vectors as the index keeps them: a bit for each number to look with, a byte for each to put in order with. */

/** One bit for each number: whether it is above that of the centre. Filled up to whole bytes. */
export function signBits(vector: Float32Array, centre: Float32Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(vector.length / 8))
  for (let i = 0; i < vector.length; i++) {
    if ((vector[i] as number) > (centre[i] as number))
      bits[i >> 3] = (bits[i >> 3] as number) | (1 << (i & 7))
  }
  return bits
}

/**
 * About the middle of the vectors. Those of many models all lean to one side, and their signs alone would tell little. The
 * middle of a few is not trusted far.
 */
export function centreOf(vectors: readonly Float32Array[]): Float32Array {
  const centre = new Float32Array(vectors[0]?.length ?? 0)
  for (const vector of vectors) {
    for (let i = 0; i < centre.length; i++) centre[i] = (centre[i] as number) + (vector[i] as number)
  }
  return centre.map((sum) => sum / (vectors.length + FEW))
}

const FEW = 8

export interface Steps {
  readonly scale: number
  /** From -127 to 127. */
  readonly steps: Int8Array
}

export function toSteps(vector: Float32Array): Steps {
  let largest = 0
  for (const value of vector) largest = Math.max(largest, Math.abs(value))
  const scale = largest === 0 ? 1 : largest / 127
  const steps = new Int8Array(vector.length)
  for (let i = 0; i < vector.length; i++) steps[i] = Math.round((vector[i] as number) / scale)
  return { scale, steps }
}

/** How near they are: 1 is the same direction. */
export function likeness(query: Float32Array, { scale, steps }: Steps): number {
  let sum = 0
  for (let i = 0; i < steps.length; i++) sum += (query[i] as number) * (steps[i] as number)
  return sum * scale
}
