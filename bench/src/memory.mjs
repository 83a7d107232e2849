// Measures the heap that pending tasks and idle runs hold, each time in a new process.
import { takeSamples } from "./round-robin.mjs"
import { median } from "./statistics.mjs"
import { systemProcess } from "./system-process.mjs"

/** @returns cells as in timing.mjs, cost in bytes */
export async function measureMemory(measure, systems, { rounds, budgetMs }) {
  const entrants = systems
    .filter((system) => system in measure.sizes)
    .map((system) => ({ system, samples: [], sample: () => bytesEach(measure, system) }))
  // Heap sizes hardly vary: three are enough.
  await takeSamples(entrants, { rounds: Math.min(3, rounds), budgetMs })
  return entrants.map(({ system, samples }) => ({
    system,
    size: measure.sizes[system],
    samples,
    cost: median(samples),
  }))
}

async function bytesEach(measure, system) {
  const process = systemProcess(system)
  try {
    return await process.ask("memory", { measure: measure.id, size: measure.sizes[system] })
  } finally {
    await process.close()
  }
}
