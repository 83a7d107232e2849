// What the runs of a measure leave on disk, and what they wrote on the way.
import { costText, ratioText, textTable } from "../table.mjs"
import { messageBytes } from "./message.mjs"

/**
 * For the sizes that were timed.
 * @returns one section for bytes on disk and one for bytes written: cells as in timing.mjs, cost in bytes per run
 */
export async function measureBytes(measure, timed, processes) {
  const found = []
  for (const { system, size, skipped } of timed) {
    const process = processes.find(({ name }) => name === system)
    const bytes =
      skipped === undefined ? await process.ask("bytes", { measure: measure.id, size }) : undefined
    found.push({ system, size, bytes })
  }
  const cells = (kind) =>
    found.flatMap(({ system, size, bytes }) => {
      const cost = bytes?.[kind]
      return cost === undefined ? [] : [{ system, size, samples: [cost], cost }]
    })
  return {
    onDisk: {
      title: "Bytes on disk after closing, with what is left of the write-ahead log",
      unit: "B",
      cells: cells("onDisk"),
    },
    written: { title: "Bytes written on the way", unit: "B", cells: cells("written") },
  }
}

/** One row per system; after each size, how many times the payload it is: steps × 1,024 bytes. */
export function bytesTable({ cells }) {
  const systems = [...new Set(cells.map((cell) => cell.system))]
  const sizes = [...new Set(cells.map((cell) => cell.size))]
  const rows = systems.map((system) => [
    system,
    ...sizes.flatMap((size) => {
      const cell = cells.find((candidate) => candidate.system === system && candidate.size === size)
      return cell === undefined
        ? ["", ""]
        : [costText(cell.cost, "B"), ratioText(cell.cost / (size * messageBytes))]
    }),
  ])
  const header = sizes.flatMap((size) => [`${size.toLocaleString("en-US")} steps`, "× payload"])
  return textTable(["system", ...header], rows)
}
