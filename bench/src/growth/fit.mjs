// How a cost grows with a size: the exponent of a power law.

/**
 * Least squares through the logarithms of size and cost, over the sizes within two decades of the largest. What the
 * smallest size costs is taken off first, so that what any size costs (starting a run, opening a file) does not make a steep
 * curve look flat. Where little is left then, noise is most of it: a point weighs by the square of the share that is left.
 * @param points `{ size, cost }`, at least three
 * @returns 1 for a cost that grows as its size does, 2 for a quadratic one
 */
export function fittedExponent(points) {
  const sorted = [...points].sort((a, b) => a.size - b.size)
  const [smallest, largest] = [sorted[0], sorted.at(-1)]
  const upper = sorted
    .filter(({ size, cost }) => size > smallest.size && size >= largest.size / 100 && cost > smallest.cost)
    .map(({ size, cost }) => ({
      x: Math.log(size - smallest.size),
      y: Math.log(cost - smallest.cost),
      weight: (1 - smallest.cost / cost) ** 2,
    }))
  return upper.length < 2 ? undefined : slope(upper)
}

/** Work that meets a cold cache now and then is a little above its exponent. */
const MARGIN = 0.1
export const MAX_EXPONENT = 1 + MARGIN

/** What the row without an engine grows with, where it was measured. */
export function limitOf(rows, name) {
  return rows.find((row) => row.limitOf === name)?.exponent
}

/** A line for each row that grows faster than its size, and than its limit does, or that has too few points to know. */
export function steepRows(rows) {
  return rows
    .filter(({ limitOf: limited }) => limited === undefined)
    .map(({ name, exponent }) => ({ name, exponent, most: Math.max(1, limitOf(rows, name) ?? 1) + MARGIN }))
    .filter(({ exponent, most }) => !(exponent <= most))
    .map(({ name, exponent, most }) =>
      exponent === undefined
        ? `${name}: too few sizes were measured to fit an exponent`
        : `${name}: grows with exponent ${exponent.toFixed(2)}, above ${most.toFixed(2)}`,
    )
}

function slope(points) {
  const sum = (of) => points.reduce((total, point) => total + point.weight * of(point), 0)
  const all = sum(() => 1)
  const [meanX, meanY] = [sum(({ x }) => x) / all, sum(({ y }) => y) / all]
  return sum(({ x, y }) => (x - meanX) * (y - meanY)) / sum(({ x }) => (x - meanX) ** 2)
}
