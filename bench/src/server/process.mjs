// A server to measure, in a process of its own: `hono`, a bare route with one insert, `superstep`, or one of peers.mjs. Answers
// its parent's questions about its memory and its CPU time.
import { randomUUID } from "node:crypto"
import { createServer as createHttpServer } from "node:http"
import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { getRequestListener } from "@hono/node-server"
import { createServer, listen } from "@superstep/server"
import { Hono } from "hono"
import { node, Runtime, workflow } from "superstep"
import { sqliteStore } from "superstep/sqlite"
import { openDatabase } from "../durable/database.mjs"
import { langgraph, mastra } from "./peers.mjs"

const [system, path, folder] = process.argv.slice(2)
const port = await { hono, superstep, langgraph, mastra }[system](path, folder)

process.on("message", (question) => {
  const { user, system: kernel } = process.cpuUsage()
  if (question === "cpu") return process.send(user + kernel)
  globalThis.gc?.()
  process.send(process.memoryUsage().rss)
})
process.once("disconnect", () => process.exit(0))
process.send({ port })

/** The limit: what any server does that stores a request before it answers. */
async function hono() {
  const database = openDatabase(path)
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE runs (id TEXT PRIMARY KEY, body TEXT NOT NULL);
  `)
  const insert = database.prepare("INSERT INTO runs VALUES (?, ?)")
  const app = new Hono()
  app.post("/runs", async (c) => {
    const id = randomUUID()
    const body = await c.req.json()
    insert.run(id, JSON.stringify(body))
    return c.json({ id, outputs: [body.input] })
  })
  const http = createHttpServer(getRequestListener(app.fetch))
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve))
  return http.address().port
}

async function superstep() {
  const noop = workflow("noop")
    .start(node("noop", (input) => input))
    .build()
  const ask = workflow("ask")
    .start(node("ask", (_, ctx) => ctx.ask("Continue?")))
    .build()
  const talk = workflow("talk")
    .start(
      node("talk", async ({ tokens, pause }, ctx) => {
        // The watchers are there before the first token.
        await ctx.ask("Begin?")
        for (let i = 0; i < tokens; i++) {
          ctx.emit("token", { at: performance.timeOrigin + performance.now() })
          await sleep(pause)
        }
        return tokens
      }),
    )
    .build()
  const workflows = [noop, ask, talk]
  const runtime = new Runtime({ store: sqliteStore({ path }), workflows, evictAfter: 0 })
  return (await listen(createServer({ runtime, workflows }), { port: 0 })).port
}
