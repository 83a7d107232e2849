// Times the first pass of a new process: code that nothing has compiled, a heap that has not grown.
import { inNewProcess } from "./child.mjs"
import { takeSamples } from "./round-robin.mjs"
import { median } from "./statistics.mjs"

const script = new URL("./cold-process.mjs", import.meta.url)

/** @returns cells as in timing.mjs, cost in milliseconds of one pass */
export async function timeCold({ needs, size, systems: having }, { systems, rounds, budgetMs, smoke }) {
  const entrants = systems
    .filter((system) => having.includes(system))
    .map((system) => ({ system, samples: [], sample: () => inNewProcess(script, [system, needs, size]) }))
  // One start is a short time and a noisy one: more of them.
  await takeSamples(entrants, { rounds: smoke ? 1 : 3 * rounds, budgetMs })
  return entrants.map(({ system, samples }) => ({ system, size, samples, cost: median(samples) }))
}
