#!/usr/bin/env node
// A model of 1,000,000 runs that are in flight and 100,000 steps/s, simulated with measured service times: what breaks first?
import { runBench, show } from "./src/bench.mjs"
import { positiveOption } from "./src/options.mjs"
import { simulate } from "./src/restate/model.mjs"
import { readResult } from "./src/results.mjs"
import { shortNumber, textTable } from "./src/table.mjs"

const options = {
  runs: { type: "string", default: "1000000", help: "runs in flight, most of them waiting" },
  steps: { type: "string", default: "100000", help: "steps per second, over all runs" },
  shards: { type: "string", default: "16", help: "PostgreSQL servers at most" },
}

/** Recorded steps from one wait to the next, and how long each takes by itself: calls of models and tools. */
const STEPS_PER_VISIT = 10
const STEP_MS = 200

/**
 * Milliseconds of processor time as restate.mjs measured them: a visit is a run of one task, of 64 at a time, with its activation, its
 * claim and its end; a step is one of a run that is alone, so that nobody shares its commit.
 */
function serviceTimes() {
  const { sections = {} } = readResult("restate")
  const cpuOf = (id) => sections[id]?.cells.findLast(({ system }) => system === "Restate")?.cpu
  const [run, step] = [cpuOf("runs"), cpuOf("steps")]
  if (run === undefined || step === undefined) {
    throw new Error("results/restate.json has no processor times. Run node restate.mjs on Linux first.")
  }
  return {
    activation: run.restate,
    visit: run.workers,
    visitWrite: run.postgres,
    step: step.workers,
    stepWrite: step.postgres,
  }
}

/** Bytes that a step leaves in the journal, and a run in its row. */
const STEP_BYTES = 300
const RUN_BYTES = 1_200

async function measure(values) {
  const service = serviceTimes()
  const runs = positiveOption(values.runs, "--runs")
  const steps = values.smoke ? 1_000 : positiveOption(values.steps, "--steps")
  const shards = Math.ceil(positiveOption(values.shards, "--shards"))
  const visitsPerSecond = steps / STEPS_PER_VISIT
  // So many that they are half busy: the question is how many servers of PostgreSQL it takes.
  const coresFor = (busyMs) => Math.max(4, Math.ceil(busyMs / 1_000 / 0.5))
  const workers = coresFor((service.visit + STEPS_PER_VISIT * service.step) * visitsPerSecond)
  const plans = [1, shards / 4, shards / 2, shards].map((count) => ({
    visitsPerSecond,
    stepsPerVisit: STEPS_PER_VISIT,
    stepMs: STEP_MS,
    shards: Math.max(1, Math.round(count)),
    cores: { restate: coresFor(service.activation * visitsPerSecond), workers, postgres: 16 },
  }))
  const seconds = values.smoke ? 6 : 10
  const found = plans.map((plan) => ({ shards: plan.shards, ...simulate(plan, service, { seconds }) }))
  const rows = found.map(({ shards: count, stations, stepsPerSecond, executing, p50, p99 }) => [
    String(count),
    ...stations.map(({ utilization }) => `${Math.round(100 * utilization)} %`),
    shortNumber(stepsPerSecond),
    shortNumber(executing),
    p50 === undefined ? "–" : shortNumber(p50),
    p99 === undefined ? "–" : shortNumber(p99),
  ])
  const { cores } = plans[0]
  const times = Object.entries(service).map(([name, ms]) => `${name} ${shortNumber(ms)}`)
  show(
    `${shortNumber(runs)} runs in flight, ${shortNumber(steps)} steps/s; cores: Restate ${cores.restate}, workers ${cores.workers}, PostgreSQL 16 each`,
    `Measured service times, ms: ${times.join(", ")}`,
    textTable(
      [
        "PostgreSQL",
        "Restate busy",
        "workers busy",
        "PostgreSQL busy",
        "steps/s",
        "executing",
        "added p50, ms",
        "added p99, ms",
      ],
      rows,
    ),
    `Storage: ${shortNumber((steps * STEP_BYTES * 86_400) / 1e12)} TB of journal a day before retention; rows of waiting runs: ${shortNumber((runs * RUN_BYTES) / 1e9)} GB.`,
  )
  return { sections: { model: { runs, steps, service, cores, cells: found } } }
}

await runBench({ name: "restate-model", options, packages: ["superstep"], measure })
