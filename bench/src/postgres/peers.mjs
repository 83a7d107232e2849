// LangGraph with its PostgresSaver, and DBOS, where they are installed.
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"

export async function peersIn(folder, url) {
  if (folder === undefined) return []
  const require = createRequire(join(resolve(folder), "index.js"))
  const load = async (name) => {
    const module = await import(pathToFileURL(require.resolve(name)).href)
    return module.default !== undefined && Object.keys(module).length <= 2 ? module.default : module
  }
  const peers = []
  for (const make of [langgraph, dbos]) {
    try {
      peers.push(await make(load, url))
    } catch (error) {
      console.error(`left out: ${make.name}: ${error.message}`)
    }
  }
  return peers
}

async function langgraph(load, url) {
  const { Annotation, END, START, StateGraph } = await load("@langchain/langgraph")
  const { PostgresSaver } = await load("@langchain/langgraph-checkpoint-postgres")
  const checkpointer = PostgresSaver.fromConnString(url, { schema: "bench_langgraph" })
  await checkpointer.setup()
  const { payload } = await import("./systems.mjs")
  const value = payload()
  const State = Annotation.Root({ left: Annotation(), value: Annotation() })
  const app = new StateGraph(State)
    .addNode("step", ({ left }) => ({ left: left - 1, value }))
    .addEdge(START, "step")
    .addConditionalEdges("step", ({ left }) => (left > 0 ? "step" : END))
    .compile({ checkpointer })
  let thread = 0
  const live = (steps) =>
    app.invoke(
      { left: steps },
      {
        configurable: { thread_id: `${process.pid}-${thread++}` },
        recursionLimit: 100_000,
        durability: "sync",
      },
    )
  return {
    name: "LangGraph, PostgresSaver",
    alone: (steps) => timeOf(() => live(steps)),
    many: (runs, steps) => timeOf(() => Promise.all(Array.from({ length: runs }, () => live(steps)))),
    close: () => checkpointer.end(),
  }
}

/** It takes a workflow once. */
let registered

async function dbos(load, url) {
  const { DBOS } = await load("@dbos-inc/dbos-sdk")
  const { payload } = await import("./systems.mjs")
  const value = payload()
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url.replace(/\/[^/]*$/, "/bench_dbos"),
    logLevel: "error",
  })
  registered ??= DBOS.registerWorkflow(
    async (steps) => {
      for (let i = 0; i < steps; i++) await DBOS.runStep(async () => value, { name: "step" })
    },
    { name: "bench" },
  )
  const flow = registered
  await DBOS.launch()
  const live = async (steps) => (await DBOS.startWorkflow(flow)(steps)).getResult()
  return {
    name: "DBOS",
    alone: (steps) => timeOf(() => live(steps)),
    many: (runs, steps) => timeOf(() => Promise.all(Array.from({ length: runs }, () => live(steps)))),
    close: () => DBOS.shutdown(),
  }
}

async function timeOf(act) {
  const began = performance.now()
  await act()
  return performance.now() - began
}
