// Times how a run that waits for a person is restored, each time in a new process.
import { join } from "node:path"
import { inNewProcess } from "../child.mjs"
import { takeSamples } from "../round-robin.mjs"
import { median } from "../statistics.mjs"
import { makeFolder, removeFolder } from "./folder.mjs"

const script = new URL("./resume-process.mjs", import.meta.url)

/** @returns cells as in timing.mjs, cost in milliseconds */
export async function timeResume({ sizes, growing }, { systems, rounds, budgetMs, smoke }) {
  const resumable = systems.filter((system) => Object.values(sizes).some((having) => having.includes(system)))
  const cells = Object.entries(sizes).flatMap(([size, having]) =>
    resumable.map((system) => ({ system, size: Number(size), has: having.includes(system) })),
  )
  const entrants = []
  try {
    for (const { system, size, has } of cells) {
      const folder = makeFolder()
      const ask = (what) => inNewProcess(script, [what, system, join(folder, "bench.db"), size, growing])
      entrants.push({ system, size, has, folder, samples: [], sample: () => ask("resume") })
      if (has) await ask("wait")
    }
    const measured = entrants.filter(({ has }) => has)
    // Once each unmeasured, so that files are in the operating system's cache.
    for (const { sample } of measured) await sample()
    await takeSamples(measured, { rounds: smoke ? 1 : 2 * rounds, budgetMs })
  } finally {
    for (const { folder } of entrants) removeFolder(folder)
  }
  return entrants.map(({ system, size, has, samples }) =>
    has ? { system, size, samples, cost: median(samples) } : { system, size, skipped: "left out" },
  )
}
