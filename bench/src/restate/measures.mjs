// The measures: each asks the systems in turns, and returns cells `{ system, size, cost, samples, cpu }`. A cost is in milliseconds
// of a unit (a step, a run, a task, an answer); `cpu` has the processor time of a unit, by kind of process.
import { Runtime } from "superstep"
import { expectAnswer } from "../answers.mjs"
import { median } from "../statistics.mjs"
import { cpuByKind } from "./cpu.mjs"
import { flows } from "./flows.mjs"

const PACE = 64
/** Tasks that travel together in plain Restate code, as many as ours at most. */
const CHUNK = 50

async function post(url, body) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  const text = await response.text()
  return text === "" ? undefined : JSON.parse(text)
}

/** So many at a time. */
async function inLanes(count, act, lanes = PACE) {
  let next = 0
  const lane = async () => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane))
}

/**
 * Rounds in which every system is asked once, each round beginning with another one; whole rounds, until the time is used up.
 * @param entrants `{ system, size, act }`; what `act` returns, if anything, is the cost of a unit: else the time of the act counts
 */
async function inTurns(entrants, { rounds, seconds, isWanted }) {
  const cells = entrants
    .filter(({ system }) => isWanted(system))
    .map((entrant) => ({ ...entrant, samples: [], cpus: [] }))
  const until = performance.now() + seconds * 1_000
  for (let round = 0; round < rounds && (round === 0 || performance.now() < until); round++) {
    for (let turn = 0; turn < cells.length; turn++) {
      const cell = cells[(turn + round) % cells.length]
      const [began, before] = [performance.now(), cpuByKind()]
      const found = await cell.act()
      cell.samples.push(found ?? (performance.now() - began) / cell.size)
      if (before !== undefined) cell.cpus.push(perUnit(before, cpuByKind(), cell.size))
    }
  }
  return cells.map(({ act: _, cpus, ...cell }) => ({
    ...cell,
    cost: median(cell.samples),
    ...(cpus.length === 0 ? {} : { cpu: medians(cpus) }),
  }))
}

function perUnit(before, after, size) {
  return Object.fromEntries(Object.keys(before).map((kind) => [kind, (after[kind] - before[kind]) / size]))
}

function medians(cpus) {
  return Object.fromEntries(Object.keys(cpus[0]).map((kind) => [kind, median(cpus.map((one) => one[kind]))]))
}

/** Steps of one run: `local` are runtimes that execute it themselves. */
export async function measureSteps({ local, fleet, sizes, seconds, ...how }) {
  const { runtime, plain, reports } = await fleet(1)
  const expectAll = async (run, size) => {
    expectAnswer("steps", (await run).outputs[0], size)
  }
  const cells = []
  for (const size of sizes) {
    const entrants = Object.entries(local).map(([system, own]) => ({
      system,
      size,
      act: () => expectAll(own.start(flows.steps, size), size),
    }))
    entrants.push({ system: "Restate", size, act: () => expectAll(runtime.start(flows.steps, size), size) })
    entrants.push({
      system: "plain Restate",
      size,
      act: async () => {
        expectAnswer("steps", await post(`${plain}/steps`, size), size)
      },
    })
    // The mapping that was not chosen: once is enough, and it takes long.
    if (size === sizes[0]) {
      entrants.push({ system: "steps as invocations", size, act: () => chained(plain, reports, size) })
    }
    cells.push(...(await inTurns(entrants, { ...how, seconds: seconds / sizes.length })))
  }
  return cells
}

async function chained(plain, reports, count) {
  const run = crypto.randomUUID()
  const ended = new Promise((resolve) => reports.add(({ chained }) => chained === run && resolve()))
  await post(`${plain}/chained/send`, { run, from: 0, count })
  await ended
  reports.clear()
}

export async function measureRuns({ local, fleet, runs, ...how }) {
  const { runtime, plain } = await fleet(1)
  const entrants = Object.entries({ ...local, Restate: runtime }).map(([system, own]) => ({
    system,
    size: runs,
    act: () => inLanes(runs, (n) => own.start(flows.one, n)),
  }))
  const act = () => inLanes(runs, (n) => post(`${plain}/one`, n))
  return await inTurns([...entrants, { system: "plain Restate", size: runs, act }], how)
}

export async function measureFanOut({ local, fleet, sizes, workers, seconds, ...how }) {
  const part = { ...how, seconds: seconds / (sizes.length * (workers.length + 1)) }
  const expectAll = async (found, size) => {
    expectAnswer("tasks", await found, size)
  }
  const outputOf = async (run) => (await run).outputs[0]
  const cells = []
  for (const size of sizes) {
    const entrants = Object.entries(local).map(([name, own]) => ({
      system: `${name}, inline`,
      size,
      act: () => expectAll(outputOf(own.start(flows.inline, size)), size),
    }))
    cells.push(...(await inTurns(entrants, part)))
  }
  for (const count of workers) {
    const { runtime, plain, stop } = await fleet(count)
    const name = `${count} worker${count === 1 ? "" : "s"}`
    for (const size of sizes) {
      const body = { count: size, size: CHUNK }
      const entrants = [
        {
          system: `Restate, ${name}`,
          size,
          act: () => expectAll(outputOf(runtime.start(flows.spread, size)), size),
        },
        {
          system: `plain Restate, ${name}`,
          size,
          act: () => expectAll(post(`${plain}/fanOut`, body), size),
        },
      ]
      cells.push(...(await inTurns(entrants, part)))
    }
    await stop()
  }
  return cells
}

/** From the call that answers to the end of its run, as the caller sees both. A sample is the median of some answers. */
export async function measureAnswers({ local, fleet, count, ...how }) {
  const { runtime, plain, ingress, reports } = await fleet(1)
  const entrants = Object.entries({ ...local, Restate: runtime }).map(([system, own]) => ({
    system,
    size: count,
    act: () => medianOf(count, () => answerOurs(own)),
  }))
  const act = () => medianOf(count, () => answerPlain(plain, ingress, reports))
  return await inTurns([...entrants, { system: "plain Restate", size: count, act }], how)
}

async function medianOf(count, sample) {
  const times = []
  for (let i = 0; i < count; i++) times.push(await sample())
  return median(times)
}

async function answerOurs(runtime) {
  const run = runtime.start(flows.asks, 0)
  const { requests } = await run
  const began = performance.now()
  await runtime.respond(run.id, requests[0].id, "yes")
  const { outputs } = await runtime.get(run.id)
  const took = performance.now() - began
  expectAnswer("answer", outputs[0], "yes")
  return took
}

async function answerPlain(plain, ingress, reports) {
  const asked = new Promise((resolve) => reports.add(({ awakeable }) => awakeable && resolve(awakeable)))
  const ended = post(`${plain}/asks`, null)
  const id = await asked
  reports.clear()
  const began = performance.now()
  await post(`${ingress}/restate/awakeables/${id}/resolve`, "yes")
  const answer = await ended
  const took = performance.now() - began
  expectAnswer("answer", answer, "yes")
  return took
}

/** Runtimes that execute what they start, on the stores. */
export function localRuntimes(stores) {
  const all = Object.values(flows)
  return Object.fromEntries(
    Object.entries(stores).map(([name, store]) => [name, new Runtime({ store, workflows: all })]),
  )
}
