// How a cost grows with a size: the exponent of a power law.

/**
 * Least squares through the logarithms of size and cost, over the sizes within two decades of the largest. What the
 * smallest size costs is taken off first, so that a cost of any size (starting a run, opening a file) does not
 * make a steep curve look flat.
 * @param points `{ size, cost }`, at least three
 * @returns 1 for a cost that grows as its size does, 2 for a quadratic one
 */
export function fittedExponent(points) {
  const sorted = [...points].sort((a, b) => a.size - b.size)
  const [smallest, largest] = [sorted[0], sorted.at(-1)]
  const upper = sorted
    .filter((point) => point !== smallest && point.size >= largest.size / 100)
    .map(({ size, cost }) => ({ size: size - smallest.size, cost: cost - smallest.cost }))
    .filter(({ cost }) => cost > 0)
  if (upper.length < 2) return undefined
  return slope(upper.map(({ size, cost }) => [Math.log(size), Math.log(cost)]))
}

/** Linear work that meets a cold cache now and then is a little above 1. */
export const MAX_EXPONENT = 1.1

/** A line for each row that grows faster than its size, or that has too few points to know. */
export function steepRows(rows) {
  return rows
    .filter(({ exponent }) => !(exponent <= MAX_EXPONENT))
    .map(({ name, exponent }) =>
      exponent === undefined
        ? `${name}: too few sizes were measured to fit an exponent`
        : `${name}: grows with exponent ${exponent.toFixed(2)}, above ${MAX_EXPONENT}`,
    )
}

function slope(points) {
  const mean = (axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const shared = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return shared / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}
