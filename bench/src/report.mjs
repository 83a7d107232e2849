// Turns measured cells into the tables that are printed.
import { pairedRatio } from "./statistics.mjs"
import { costText, ratioText, textTable } from "./table.mjs"

/** The cell of one system at one size, when it was measured. */
export function measuredCell(section, system, size) {
  return section?.cells.find(
    (cell) => cell.system === system && cell.size === size && cell.cost !== undefined,
  )
}

/** The least of the samples: for a target in milliseconds, as what else the machine does only adds to it. */
export function leastCost(section, system, size) {
  const cell = measuredCell(section, system, size)
  return cell && Math.min(...cell.samples)
}

/** How many times the cost of `baseline` the system's cost is, at one size. */
export function ratioTo(section, system, baseline, size) {
  const cell = measuredCell(section, system, size)
  const base = measuredCell(section, baseline, size)
  return cell && base && pairedRatio(cell.samples, base.samples)
}

/** One row per system, one column per size; after each cost, how many times the baseline's it is. */
export function timedTable(section, sizeName, baseline = "plain") {
  const systems = [...new Set(section.cells.map((cell) => cell.system))]
  const sizes = [...new Set(section.cells.map((cell) => cell.size))]
  const grouped = sizes.map((size) =>
    sizeName(size).replace(/\d+/, (digits) => Number(digits).toLocaleString("en-US")),
  )
  const rows = systems.map((system) => [
    system,
    ...sizes.flatMap((size) => {
      const cell = section.cells.find((candidate) => candidate.system === system && candidate.size === size)
      if (cell.skipped !== undefined) return [cell.skipped, ""]
      return [costText(cell.cost, section.unit), ratioText(ratioTo(section, system, baseline, size))]
    }),
    againstOurs(section, system, sizes),
  ])
  return textTable(["system", ...grouped.flatMap((name) => [name, `× ${baseline}`]), "× superstep"], rows)
}

/** At the largest size that both have. */
function againstOurs(section, system, sizes) {
  const size = sizes.findLast((candidate) => ratioTo(section, system, "superstep", candidate) !== undefined)
  return size === undefined ? "" : ratioText(ratioTo(section, system, "superstep", size))
}

export function startUpTable(section) {
  const bare = measuredCell(section, "plain", 1)
  const rows = section.cells.map(({ system, cost }) => [
    system === "plain" ? "bare node, empty script" : system,
    costText(cost, "ms"),
    bare === undefined ? "" : costText(cost - bare.cost, "ms"),
    ratioText(ratioTo(section, system, "plain", 1)),
  ])
  return textTable(["system", "process", "over bare node", "× bare node"], rows)
}

export function memoryTable(section) {
  const ours = section.cells.find((cell) => cell.system === "superstep")
  const rows = section.cells.map(({ system, size, cost }) => [
    system,
    costText(cost, "B"),
    size.toLocaleString("en-US"),
    ours === undefined ? "" : ratioText(cost / ours.cost),
  ])
  return textTable(["system", "each", "measured with", "× superstep"], rows)
}
