// Says why a system was not measured at a size: how its cost per step grows, and the total that would result.
import { measuredCell } from "../report.mjs"
import { costText, shortNumber } from "../table.mjs"

/** A line for each skipped cell that has at least two measured ones of the same system before it. */
export function skippedReasons(timed, onDisk) {
  return timed.cells.flatMap(({ system, size, skipped }) => {
    if (skipped === undefined) return []
    const known = timed.cells.filter((cell) => measuredCell(timed, system, cell.size) === cell)
    const [before, last] = known.slice(-2)
    if (last === undefined) return []
    const times = shortNumber(last.cost / before.cost)
    const seconds = costText((predicted(before, last, size) * size) / 1_000, "ms")
    const [small, large] = [before, last].map((cell) => measuredCell(onDisk, system, cell.size))
    const disk = costText(predicted(small, large, size), "B")
    const count = (number) => number.toLocaleString("en-US")
    return [
      `${system}, ${count(size)} steps, would take about ${seconds} and ${disk} of disk, and was left out: ` +
        `a step costs ${times} times as much at ${count(last.size)} as at ${count(before.size)}.`,
    ]
  })
}

/** From the growth between two sizes. */
function predicted(before, last, size) {
  const growth = Math.log(last.cost / before.cost) / Math.log(last.size / before.size)
  return last.cost * (size / last.size) ** growth
}
