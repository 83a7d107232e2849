// What grows: for each row its sizes, and what is done at a size. `open` is not in the time; the function that it returns
// is. The cost is that of everything done, so that a row that is linear has the exponent 1.
import { join } from "node:path"
import { sqliteStore } from "@superstep/store-sqlite"
import { append, channel, node, Runtime, replace, workflow } from "superstep"
import { loadDefinition } from "superstep/definitions"
import { expectAnswer, itemList } from "../answers.mjs"
import { inNewProcess } from "../child.mjs"
import { agentSteps, toolSteps } from "../definitions/texts.mjs"
import { makeFolder } from "../durable/folder.mjs"
import { resume } from "../durable/systems/superstep.mjs"
import * as manyRuns from "../store/superstep.mjs"
import { finishing, idOf, labelsOf } from "../store/workflows.mjs"
import * as engine from "../systems/superstep.mjs"

const resumeProcess = new URL("../durable/resume-process.mjs", import.meta.url)
const openStore = () => sqliteStore({ path: join(makeFolder(), "growth.db") })

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
const items = [100, 1_000, 10_000, 30_000, 100_000]
const steps = [10, 100, 1_000, 10_000, 30_000, 100_000]
const runs = [1_000, 3_000, 10_000, 30_000, 100_000]
const queried = 200

/** A store with so many runs, and what is asked of it `queried` times. The cost counts as if every run were asked for. */
function query(name) {
  return {
    sizes: runs,
    scale: (size) => size / queried,
    async open(size) {
      const path = join(makeFolder(), "growth.db")
      await manyRuns.finished(path, size)
      const { queries } = await manyRuns.open(path, size)
      return async () => {
        for (let asked = 0; asked < queried; asked++) await queries[name]()
      }
    },
  }
}

function definition(text, sizes) {
  return {
    sizes,
    open(size) {
      const { definition } = loadDefinition({ file: "steps.yaml", text: text(size) })
      const limits = { supersteps: 3 * size + 100 }
      return async () =>
        expectAnswer("status", (await definition.workflow.run("go", { limits })).status, "completed")
    },
  }
}

export const rows = {
  "steps in a run, in memory": { sizes: steps, open: (size) => loop(size) },
  "steps in a run, SQLite": {
    sizes: steps,
    open(size) {
      const [run, store] = [loop(size), openStore()]
      return () => run(store)
    },
  },
  "steps that read and append one channel": {
    sizes: [10, 1_000, 4_000, 16_000, 64_000],
    open(size) {
      const write = (count, ctx) => {
        expectAnswer("items so far", ctx.state.get(list).length, count)
        ctx.state.write(list, [count])
      }
      return loop(size, write, [list])
    },
  },
  "runs added to a store": {
    sizes: runs,
    open: (size) => () => manyRuns.finished(join(makeFolder(), "growth.db"), size),
  },
  "newest runs of a store": query("the newest 20"),
  "runs of a store by label": query("a label of one run"),
  "runs of a store by text": query("text in one run's id"),
  "one run of a store by id": {
    sizes: runs,
    scale: (size) => size / queried,
    async open(size) {
      const path = join(makeFolder(), "growth.db")
      await manyRuns.finished(path, size)
      const store = sqliteStore({ path })
      return async () => {
        for (let asked = 0; asked < queried; asked++)
          expectAnswer("run", (await store.run(idOf(asked % size))).runId, idOf(asked % size))
      }
    },
  },
  "runs added to a full store": {
    sizes: runs,
    scale: (size) => size / queried,
    async open(size) {
      const path = join(makeFolder(), "growth.db")
      await manyRuns.finished(path, size)
      const store = sqliteStore({ path })
      const runtime = new Runtime({ store, workflows: [finishing], recover: false })
      return async () => {
        for (let added = 0; added < queried; added++)
          await runtime.start(finishing, 0, { labels: labelsOf(added) })
      }
    },
  },
  "levels of nesting": { sizes: [10, 30, 100, 200, 400], open: (size) => engine.nested(size) },
  "items of a fan-out": { sizes: items, open: (size) => engine.fanOut(size) },
  "state of a run that waits, resumed": {
    sizes: [10, 300, 1_000, 3_000, 10_000],
    async open(size) {
      const path = join(makeFolder(), "growth.db")
      // In another process: this one would still hold the run.
      await inNewProcess(resumeProcess, ["wait", "superstep", path, size, true])
      return async () => (await resume(path, { steps: size, growing: true })).close()
    },
  },
  "state that a step beside it writes": {
    sizes: [100, 1_000, 10_000, 30_000, 100_000],
    open(size) {
      const value = itemList(size).map((index) => ({ index, text: "x".repeat(20) }))
      return loop(
        50,
        (count, ctx) => ctx.state.write(count === 0 ? large : list, count === 0 ? value : [count]),
        [large, list],
      )
    },
  },
  "steps of a definition, loaded": {
    sizes: [10, 300, 1_000, 3_000, 10_000],
    open: (size) => async () =>
      expectAnswer(
        "diagnostics",
        loadDefinition({ file: "steps.yaml", text: agentSteps(size) }).diagnostics.length,
        0,
      ),
  },
  "tool steps of a definition, run": definition(toolSteps, [10, 300, 1_000, 3_000, 10_000]),
}
