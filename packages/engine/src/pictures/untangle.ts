/**
 * The last touch to a layered drawing. Orders by the mean place of neighbours stop at ties; here two that stand
 * side by side change places as long as that takes a crossing away.
 */

const ROUNDS = 6

/** Changes the order within the layers. Neighbours are those in the layer above, and in the one below. */
export function untangle<T>(
  layers: readonly T[][],
  above: ReadonlyMap<T, readonly T[]>,
  below: ReadonlyMap<T, readonly T[]>,
): void {
  const place = new Map(layers.flatMap((layer) => layer.map((one, i): [T, number] => [one, i])))
  const places = (list: readonly T[] | undefined) => (list ?? []).map((one) => place.get(one) ?? 0)
  const gain = (left: T, right: T) =>
    tangle(places(above.get(left)), places(above.get(right))) +
    tangle(places(below.get(left)), places(below.get(right)))
  for (let round = 0, better = true; round < ROUNDS && better; round++) {
    better = false
    for (const layer of layers) {
      for (let i = 0; i + 1 < layer.length; i++) {
        const [left, right] = [layer[i] as T, layer[i + 1] as T]
        if (gain(left, right) <= 0) continue
        layer.splice(i, 2, right, left)
        place.set(right, i).set(left, i + 1)
        better = true
      }
    }
  }
}

/** How many more pairs of lines cross than would if the two changed places. */
function tangle(left: readonly number[], right: readonly number[]): number {
  let sum = 0
  for (const a of left) for (const b of right) sum += Math.sign(a - b)
  return sum
}
