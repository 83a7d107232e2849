// What is measured in PostgreSQL, by id: how, and how it is shown.
import { median, pairedRatio } from "../statistics.mjs"
import { costText, ratioText, shortNumber, textTable } from "../table.mjs"
import { measureBytes } from "./bytes.mjs"
import { measureLists } from "./lists.mjs"
import { systemsFor } from "./systems.mjs"

const STEPS = 200
const RUNS = 1_000
const STEPS_EACH = 10

export const measures = {
  alone: {
    title: `One run alone, ${STEPS} durable steps of 1 KB`,
    measure: (settings) => timed(settings, (system) => system.alone(STEPS), STEPS),
    table: timedTable,
  },
  many: {
    title: `${RUNS.toLocaleString("en-US")} concurrent runs, ${STEPS_EACH} durable steps of 1 KB each`,
    measure: (settings) => timed(settings, (system) => system.many(RUNS, STEPS_EACH), RUNS * STEPS_EACH),
    table: timedTable,
  },
  bytes: {
    title: "Bytes on disk",
    measure: measureBytes,
    table: ({ payload, disk, ratio }) =>
      `${shortNumber(disk)} for ${shortNumber(payload)} bytes of entries (${ratioText(ratio)})`,
  },
  lists: {
    title: "Lists, filters and the inbox over many runs, ms",
    measure: measureLists,
    table: ({ queries }) =>
      textTable(
        ["query", "best", "p50", "p99"],
        queries.map(({ name, ...times }) => [name, ...Object.values(times).map(shortNumber)]),
      ),
  },
}

function ratioOf(section, system) {
  return section?.cells.find((cell) => cell.system === system)?.ratio
}

export const postgresTargets = [
  {
    name: "durable step of one run on PostgreSQL, times a raw commit",
    atMost: 1.5,
    measure: ({ alone }) => ratioOf(alone, "superstep"),
  },
  {
    name: "steps of 1,000 concurrent runs, share of raw multi-row inserts",
    atLeast: 0.5,
    measure: ({ many }) => many && 1 / ratioOf(many, "superstep"),
  },
  {
    name: "bytes on disk, times the entries",
    atMost: 2,
    measure: ({ bytes }) => bytes?.ratio,
  },
  {
    name: "slowest list of 1,000,000 runs, median ms",
    atMost: 5,
    measure: ({ lists }) => lists && Math.max(...lists.queries.map(({ p50 }) => p50)),
  },
]

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
  const cells = [...samples].map(([system, list]) => ({
    system,
    cost: median(list),
    ratio: pairedRatio(list, raw),
    samples: list,
  }))
  return { unit: "ms", cells }
}

function timedTable({ cells, unit }) {
  const rows = cells.map(({ system, cost, ratio }) => [system, costText(cost, unit), ratioText(ratio)])
  return textTable(["system", "a step", "× raw"], rows)
}
