// What is measured in PostgreSQL, by id: how, and how it is shown.
import { pairedRatio } from "../statistics.mjs"
import { ratioText, shortNumber, textTable } from "../table.mjs"
import { measureBytes } from "./bytes.mjs"
import { measureLists } from "./lists.mjs"
import { systemsFor } from "./systems.mjs"

const STEPS = 200
const RUNS = 1_000
const STEPS_EACH = 10

export const measures = {
  alone: {
    measure: (settings) => timed(settings, (system) => system.alone(STEPS), STEPS),
    print: (cells) => timedText(`One run alone, ${STEPS} durable steps of 1 KB`, cells, "ms a step"),
  },
  many: {
    measure: (settings) => timed(settings, (system) => system.many(RUNS, STEPS_EACH), RUNS * STEPS_EACH),
    print: (cells) =>
      timedText(`${RUNS} runs at once, ${STEPS_EACH} durable steps of 1 KB each`, cells, "ms a step"),
  },
  bytes: {
    measure: measureBytes,
    print: ({ payload, disk, ratio }) =>
      `Bytes on disk for ${shortNumber(payload)} bytes of entries: ${shortNumber(disk)} (${ratioText(ratio)})`,
  },
  lists: {
    measure: measureLists,
    print: ({ runs, queries }) =>
      `Lists of ${runs.toLocaleString("en-US")} runs, ms\n${textTable(
        ["query", "best", "p50", "p99"],
        queries.map(({ name, ...times }) => [name, ...Object.values(times).map(shortNumber)]),
      )}`,
  },
}

/** All systems in turns, round by round: milliseconds of wall time for each step. */
async function timed(settings, act, count) {
  const systems = await systemsFor(settings)
  const samples = new Map(systems.map(({ name }) => [name, []]))
  try {
    for (let round = -1; round < settings.rounds; round++) {
      for (const system of systems) {
        const took = await act(system)
        if (took === undefined) samples.delete(system.name)
        // The first round warms up.
        else if (round >= 0) samples.get(system.name)?.push(took / count)
      }
    }
  } finally {
    for (const { close } of systems) await close()
  }
  const raw = samples.get("raw")
  return [...samples].map(([system, list]) => ({
    system,
    median: list.toSorted((a, b) => a - b)[list.length >> 1],
    ratio: pairedRatio(list, raw),
    samples: list,
  }))
}

function timedText(title, cells, unit) {
  const rows = cells.map(({ system, median, ratio }) => [system, shortNumber(median), ratioText(ratio)])
  return `${title}\n${textTable(["system", unit, "× raw"], rows)}`
}
