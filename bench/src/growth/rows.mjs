// What grows. A family is a list of rows that share their sizes and what is made for them: `open` is not in the time, the
// functions that it returns are, one for each row and in this order. The cost is that of everything done, so that a row that is
// linear has the exponent 1; `scale` says how often the measured work counts. What is `repeatable` is done until its time can
// be distinguished from the clock's grain. A family with `limitOf` is what a row of another one costs without an engine.
import { join } from "node:path"
import { setTimeout as later } from "node:timers/promises"
import { sqliteStore } from "@superstep/store-sqlite"
import { append, channel, node, replace, workflow } from "superstep"
import { loadDefinition } from "superstep/definitions"
import { expectAnswer, itemList } from "../answers.mjs"
import { inNewProcess } from "../child.mjs"
import { agentSteps, toolSteps } from "../definitions/texts.mjs"
import { makeFolder } from "../durable/folder.mjs"
import { resume } from "../durable/systems/superstep.mjs"
import * as manyRows from "../store/raw.mjs"
import * as manyRuns from "../store/superstep.mjs"
import { finishing, idOf, labelsOf } from "../store/workflows.mjs"
import * as plain from "../systems/plain.mjs"
import * as engine from "../systems/superstep.mjs"

const resumeProcess = new URL("../durable/resume-process.mjs", import.meta.url)

/** One node, again and again. `work` gets the number of the step. */
function loop(steps, work, state = []) {
  const step = node("step", async (count, ctx) => {
    work?.(count, ctx)
    return count + 1
  })
  const built = workflow("loop", { state })
    .start(step)
    .loop(step, step, { until: (count) => count >= steps })
    .build()
  const limits = { supersteps: steps + 2 }
  return async (store) => expectAnswer("loop", (await built.run(0, { limits, store })).outputs[0], steps)
}

const list = channel("list", append())
const large = channel("large", replace())
const steps = [10, 100, 1_000, 10_000, 30_000, 100_000]
const queried = 200

/** What is asked of a store `queried` times counts as if it were asked once for each run. */
const perRun = (size) => size / queried

function times(count, ask) {
  return async () => {
    for (let asked = 0; asked < count; asked++) await ask(asked)
  }
}

/**
 * The first search by text begins to index the names of the runs. That is work for each run once, so it belongs to adding
 * them, not to each of the searches.
 */
async function indexNames(path, size) {
  const { queries, close } = await manyRuns.open(path, size)
  await queries["text that no run has"]()
  let before
  do {
    before = process.cpuUsage()
    await later(100)
  } while (busyMs(process.cpuUsage(before)) > 10)
  await close()
}

function busyMs({ user, system }) {
  return (user + system) / 1_000
}

/** The first function makes the store that the others ask. */
function storeOfManyRuns(size) {
  const path = join(makeFolder(), "growth.db")
  let store
  let queries
  const query = (name) => times(queried, () => queries[name]())
  return [
    async () => {
      await manyRuns.finished(path, size)
      await indexNames(path, size)
    },
    async () => {
      ;({ queries } = await manyRuns.open(path, size))
      await query("the newest 20")()
    },
    query("a label of one run"),
    query("text in one run's id"),
    times(queried, async (asked) => {
      store ??= sqliteStore({ path })
      expectAnswer("run", (await store.run(idOf(asked % size))).runId, idOf(asked % size))
    }),
    times(queried, (added) => finishing.run(0, { store, labels: labelsOf(added) })),
  ]
}

/** The names of the runs in a table of SQLite, with an index of trigrams as the store has one. */
async function tableOfNames(size) {
  const path = join(makeFolder(), "names.db")
  await manyRows.finished(path, size)
  const { queries } = await manyRows.open(path, size)
  return [times(queried, () => queries["text in one run's id"]())]
}

/** The state is written by the first step, and not changed by the fifty after it. */
function stateBeside(size) {
  const value = itemList(size).map((index) => ({ index, text: "x".repeat(20) }))
  const write = (count, ctx) => (count === 0 ? ctx.state.write(large, value) : ctx.state.write(list, [count]))
  return [loop(50, write, [large, list])]
}

/** In another process: this one would still hold the run. */
async function waiting(size) {
  const path = join(makeFolder(), "growth.db")
  await inNewProcess(resumeProcess, ["wait", "superstep", path, size, true])
  return [async () => (await resume(path, { steps: size, growing: true })).close()]
}

function readAndAppend(size) {
  const work = (count, ctx) => {
    expectAnswer("items so far", ctx.state.get(list).length, count)
    ctx.state.write(list, [count])
  }
  return [loop(size, work, [list])]
}

/** What `readAndAppend` cannot do without: a list for its readers alone, at each step. */
function copyAndAppend(size) {
  return [
    async () => {
      const list = []
      for (let count = 0; count < size; count++) {
        const copy = Object.freeze(list.slice())
        expectAnswer("items so far", copy.length, count)
        list.push(count)
        await undefined
      }
    },
  ]
}

const load = (text) => loadDefinition({ file: "steps.yaml", text })

function toolStepsRun(size) {
  const { workflow: built } = load(toolSteps(size)).definition
  const limits = { supersteps: 3 * size + 100 }
  return [async () => expectAnswer("status", (await built.run("go", { limits })).status, "completed")]
}

const READ_AND_APPEND = "steps that read and append one channel"
const BY_TEXT = "runs of a store by text"
const NESTING = "levels of nesting"
const levels = [10, 30, 100, 300, 1_000, 3_000]
const storeSizes = [1_000, 3_000, 10_000, 30_000, 100_000]
const listSizes = [10, 1_000, 4_000, 16_000, 64_000]
const yamlSizes = [10, 300, 1_000, 3_000, 10_000]

export const families = [
  {
    rows: ["steps in a run, in memory"],
    sizes: steps,
    repeatable: true,
    open: (size) => [loop(size)],
  },
  {
    rows: ["steps in a run, SQLite"],
    sizes: steps,
    open(size) {
      const [run, store] = [loop(size), sqliteStore({ path: join(makeFolder(), "growth.db") })]
      return [() => run(store)]
    },
  },
  {
    rows: [READ_AND_APPEND],
    sizes: listSizes,
    repeatable: true,
    open: readAndAppend,
  },
  {
    rows: ["a list copied before each append, in plain JavaScript"],
    limitOf: READ_AND_APPEND,
    sizes: listSizes,
    repeatable: true,
    open: copyAndAppend,
  },
  {
    rows: [
      "runs added to a store",
      "the newest runs of a store",
      "runs of a store by label",
      BY_TEXT,
      "one run of a store by id",
      "a run added to a full store",
    ],
    sizes: storeSizes,
    scale: [() => 1, perRun, perRun, perRun, perRun, perRun],
    open: storeOfManyRuns,
  },
  {
    rows: ["the same text in a table of SQLite"],
    limitOf: BY_TEXT,
    sizes: storeSizes,
    scale: [perRun],
    open: tableOfNames,
  },
  {
    rows: [NESTING],
    sizes: levels,
    repeatable: true,
    open: (size) => [engine.nested(size)],
  },
  {
    rows: ["levels of plain async functions"],
    limitOf: NESTING,
    sizes: levels,
    repeatable: true,
    open: (size) => [plain.nested(size)],
  },
  {
    rows: ["items of a fan-out"],
    sizes: [100, 1_000, 10_000, 30_000, 100_000],
    repeatable: true,
    open: (size) => [engine.fanOut(size)],
  },
  {
    rows: ["state of a waiting run, resumed"],
    sizes: [10, 1_000, 3_000, 10_000, 30_000, 100_000],
    open: waiting,
  },
  {
    rows: ["state beside what steps write"],
    sizes: [100, 1_000, 10_000, 30_000, 100_000],
    repeatable: true,
    open: stateBeside,
  },
  {
    rows: ["steps of a definition, loaded"],
    sizes: yamlSizes,
    repeatable: true,
    open: (size) => [async () => expectAnswer("problems", load(agentSteps(size)).diagnostics.length, 0)],
  },
  {
    rows: ["tool steps of a definition, run"],
    sizes: yamlSizes,
    repeatable: true,
    open: toolStepsRun,
  },
]

export const rowNames = families.filter(({ limitOf }) => limitOf === undefined).flatMap(({ rows }) => rows)
