// Times a new process that imports a system and runs its hello world, against one with an empty script.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { measuredEnvironment } from "./environment.mjs"
import { takeSamples } from "./round-robin.mjs"
import { median } from "./statistics.mjs"

/** The hello worlds, by system; each exits with 1 when its answer is wrong. */
const scripts = {
  plain: "empty.mjs",
  superstep: "superstep.mjs",
  "superstep, import alone": "superstep-import.mjs",
  langgraph: "langgraph.mjs",
  mastra: "mastra.mjs",
  xstate: "xstate.mjs",
}

/** @returns cells as in timing.mjs, cost in milliseconds */
export async function timeStartUp(systems, { rounds, budgetMs, smoke }) {
  const entrants = Object.keys(scripts)
    .filter((name) => systems.includes(name.split(",")[0]))
    .map((system) => ({ system, samples: [], sample: () => startMs(system) }))
  // Once each unmeasured, so that files are in the operating system's cache.
  for (const entrant of entrants) await entrant.sample()
  // One start is a short time and a noisy one: more of them.
  await takeSamples(entrants, { rounds: smoke ? 1 : 5 * rounds, budgetMs })
  return entrants.map(({ system, samples }) => ({ system, size: 1, samples, cost: median(samples) }))
}

function startMs(system) {
  const script = fileURLToPath(new URL(`./hello/${scripts[system]}`, import.meta.url))
  return new Promise((resolve, reject) => {
    const start = performance.now()
    const child = spawn(process.execPath, [script], {
      env: measuredEnvironment,
      stdio: ["ignore", "ignore", "inherit"],
    })
    child.once("error", reject)
    child.once("exit", (code) => {
      const elapsed = performance.now() - start
      if (code === 0) resolve(elapsed)
      else reject(new Error(`${system}: its hello world ended with code ${code}`))
    })
  })
}
