// The servers of other engines, each with a workflow "noop" that answers with its input, on a port of this machine. They come
// from a folder of their own: this one has neither.
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { createServer as createHttpServer } from "node:http"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"

/** In the order in which tables show them; `hono`, a bare route with one insert, is the limit. */
export const systemNames = ["hono", "superstep", "langgraph", "mastra"]

const needed = { langgraph: "@langchain/langgraph-api/server", mastra: "@mastra/hono" }

/** Why a system cannot be measured here, or undefined when it can. */
export function missing(name, folder) {
  const peer = needed[name]
  if (peer === undefined) return undefined
  if (folder === undefined) return "no folder of peers is named with --peers"
  try {
    requireIn(folder).resolve(peer)
    return undefined
  } catch {
    return `${peer} is not installed in ${folder}`
  }
}

function requireIn(folder) {
  return createRequire(join(resolve(folder), "index.js"))
}

async function load(folder, name) {
  return await import(pathToFileURL(requireIn(folder).resolve(name)).href)
}

/** `@mastra/hono`, which is what `mastra dev` serves, with LibSQL: a run is in its file before its result is answered. */
export async function mastra(path, folder) {
  const { Mastra } = await load(folder, "@mastra/core")
  const { createStep, createWorkflow } = await load(folder, "@mastra/core/workflows")
  const { LibSQLStore } = await load(folder, "@mastra/libsql")
  const { MastraServer } = await load(folder, "@mastra/hono")
  const { getRequestListener } = await load(folder, "@hono/node-server")
  const { Hono } = await load(folder, "hono")
  const { z } = await load(folder, "zod")
  const value = z.object({ input: z.number() })
  const schemas = { inputSchema: value, outputSchema: value }
  const same = createStep({ id: "same", ...schemas, execute: async ({ inputData }) => inputData })
  const noop = createWorkflow({ id: "noop", ...schemas })
    .then(same)
    .commit()
  const storage = new LibSQLStore({ id: "bench", url: `file:${path}` })
  await storage.init()
  const app = new Hono()
  await new MastraServer({ app, mastra: new Mastra({ workflows: { noop }, storage, logger: false }) }).init()
  const http = createHttpServer(getRequestListener(app.fetch))
  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  return http.address().port
}

const GRAPH = `import { Annotation, END, START, StateGraph } from "@langchain/langgraph"

export const graph = new StateGraph(Annotation.Root({ input: Annotation() }))
  .addNode("noop", ({ input }) => ({ input }))
  .addEdge(START, "noop")
  .addEdge("noop", END)
  .compile()
`

/** LangGraph's dev server. It keeps runs in memory, and writes them to a file every few seconds: less than the others do. */
export async function langgraph(_, folder) {
  // The server finds the packages of a graph beside its file.
  writeFileSync(join(folder, "noop.mjs"), GRAPH)
  process.env.LOG_LEVEL = "error"
  const { startServer } = await load(folder, "@langchain/langgraph-api/server")
  const free = createHttpServer().listen(0, "127.0.0.1")
  await once(free, "listening")
  const { port } = free.address()
  await new Promise((closed) => free.close(closed))
  const graphs = { noop: "./noop.mjs:graph" }
  await startServer({ port, host: "127.0.0.1", nWorkers: 10, cwd: resolve(folder), graphs })
  return port
}
