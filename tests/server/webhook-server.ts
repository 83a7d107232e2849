/** A server with webhooks, for a test that kills it. It reads the paths of requests to itself, and dies where its job says. */
import { createInterface } from "node:readline"
import { node, Runtime, type Store, workflow } from "superstep"
import { createServer } from "superstep/server"
import { sqliteStore } from "superstep/sqlite"

export interface WebhookJob {
  readonly path: string
  /** Dies when it has read the event that a run has ended, before it has created the delivery. */
  readonly diesOfEvent?: boolean
}

export interface WebhookAnswer {
  readonly path: string
  readonly data: { readonly id?: string } & Readonly<Record<string, unknown>>
}

const { path, diesOfEvent } = JSON.parse(process.argv[2] as string) as WebhookJob

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const store: Store = sqliteStore({ path })
if (diesOfEvent) {
  const { subscriptions } = store
  const read = subscriptions.events.bind(subscriptions)
  subscriptions.events = async (after, limit) => {
    const events = await read(after, limit)
    if (events.some(({ type }) => type === "run.ended")) process.kill(process.pid, "SIGKILL")
    return events
  }
}
const runtime = new Runtime({ store, workflows: [greet] })
const server = createServer({ runtime, workflows: [greet], webhooks: { allow: ["127.0.0.1"] } })
await runtime.recover()

createInterface({ input: process.stdin }).on("line", async (line) => {
  const [method = "GET", to = "/", body] = line.split(" ")
  const sent = body === undefined ? {} : { body, headers: { "content-type": "application/json" } }
  const response = await server.fetch(new Request(`http://local${to}`, { method, ...sent }))
  process.stdout.write(`${JSON.stringify({ path: to, data: await response.json() })}\n`)
})
process.stdout.write('{"path":"ready"}\n')
