// Times one measure: warms every system up at every size, leaves out what would take too long, takes samples.
import { takeSamples } from "./round-robin.mjs"
import { median } from "./statistics.mjs"
import { TimeLimitError } from "./system-process.mjs"

/** How long a system is warmed up at each size, and how long a sample is. */
export const unhurried = { warmUpMs: 1_000, sampleMs: 300 }
/** For a smoke run: one pass each. */
export const hurried = { warmUpMs: 1, sampleMs: 1 }

/**
 * @returns one cell per system and size: `{ system, size, samples, cost }`, cost in microseconds per operation,
 *   or `{ system, size, skipped }` with the reason
 */
export async function timeMeasure(measure, processes, { rounds, capMs, budgetMs, pace = unhurried }) {
  const cells = []
  for (const process of processes) {
    if (measure.leaveOut?.includes(process.name)) continue
    if (!(await process.ask("functions")).includes(measure.needs)) continue
    cells.push(...(await warmUp(measure, process, capMs, pace)))
  }
  // By size, so that the systems of one size are neighbours in time.
  const entrants = cells.filter((cell) => cell.skipped === undefined).sort((a, b) => a.size - b.size)
  await takeSamples(entrants, { rounds, budgetMs })
  for (const process of processes) await process.ask("forget")
  return cells.map(({ system, size, skipped, samples }) => {
    if (skipped !== undefined) return { system, size, skipped }
    const costs = samples.map((passMs) => (passMs * 1_000) / measure.operations(size))
    return { system, size, samples: costs, cost: median(costs) }
  })
}

async function warmUp(measure, process, capMs, pace) {
  const cells = []
  const warm = []
  for (const size of measure.sizes) {
    const cell = { system: process.name, size, samples: [] }
    cells.push(cell)
    const reason = skipReason(capMs, warm)
    if (predictedMs(warm, size) > capMs) {
      cell.skipped = reason
      continue
    }
    try {
      const options = { measure: measure.id, size, ...pace }
      const passMs = await process.ask("prepare", options, 3 * capMs + pace.warmUpMs)
      if (passMs > capMs) cell.skipped = reason
      else cell.sample = () => process.ask("sample", { measure: measure.id, size })
      warm.push({ size, passMs })
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error
      cell.skipped = reason
      // The process is gone, and with it what was prepared for the smaller sizes.
      await rewarm(measure, process, warm, pace)
      break
    }
  }
  for (const size of measure.sizes.slice(cells.length)) {
    cells.push({ system: process.name, size, skipped: cells.at(-1).skipped, samples: [] })
  }
  return cells
}

async function rewarm(measure, process, warm, pace) {
  for (const { size } of warm) await process.ask("prepare", { measure: measure.id, size, ...pace })
}

function skipReason(capMs, warm) {
  const last = warm.findLast(({ passMs }) => passMs <= capMs)
  const measured = last === undefined ? "" : ` (last: ${last.size.toLocaleString("en-US")})`
  return `> ${capMs / 1_000} s, skipped${measured}`
}

/** What a pass will take, from the growth between the last two sizes; between linear and quadratic. */
export function predictedMs(warm, size) {
  const last = warm.at(-1)
  if (last === undefined) return 0
  const before = warm.at(-2)
  const growth =
    before === undefined ? 1 : Math.log(last.passMs / before.passMs) / Math.log(last.size / before.size)
  return last.passMs * (size / last.size) ** Math.min(2, Math.max(1, growth))
}
