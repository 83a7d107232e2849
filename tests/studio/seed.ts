/** Runs in every state that the screens show, started over the API as anybody would. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Client, createClient, type ScheduleOptions } from "@superstep/client"
import { documentIndex } from "@superstep/retrieval"
import type { ServedIndexes } from "@superstep/server"

export async function seed(url: string, key?: string) {
  const client = createClient({ url, ...(key !== undefined && { key }) })
  for (let i = 0; i < 24; i++) {
    await client.run("indexing", `Minutes ${i + 1}`, { labels: { team: i % 3 === 0 ? "press" : "science" } })
  }
  const indexing = await client.start("indexing", "Board meeting", { runId: "minutes-board" })
  await indexing.result()
  const payment = await client.start(
    "payment",
    { card: "…4242" },
    { runId: "order-1187", labels: { shop: "berlin" } },
  )
  await payment.result()
  const digest = await client.start("digest", 48, { runId: "annual-report" })
  await digest.result()
  const topic = { topic: "What do storks eat?" }
  const article = await client.start("article", topic, { runId: "storks-1", labels: { desk: "nature" } })
  await article.result()
  const done = await client.start("article", { topic: "Why do storks clatter?" }, { runId: "storks-2" })
  const asked = await done.result()
  const [question] = asked.requests as { id: string }[]
  if (question === undefined) throw new Error(JSON.stringify(asked))
  await done.respond(question.id, "publish", { by: "ada" })
  await done.result()
  const fork = await article.fork({ at: { superstep: 2 }, patch: { state: { status: "rewritten" } } })
  await fork.result()
  const support = await client.start("support", "My lamp A-17 arrived broken. I want a refund.", {
    runId: "ticket-204",
  })
  await support.result()
  await schedules(client)
  await seedOrder(client)
  return {
    indexing: indexing.id,
    payment: payment.id,
    digest: digest.id,
    article: article.id,
    done: done.id,
    fork: fork.id,
    support: support.id,
  }
}

/** Keys with budgets and what they spent, a webhook, a hook, and a document: for a server with keys. */
export async function seedSettings(url: string, admin: string): Promise<void> {
  const client = createClient({ url, key: admin })
  const create = async (name: string, budget: { per: "day" | "total"; usd?: number; tokens?: number }) =>
    (await client.request("POST /v1/keys", { body: { name, role: "operator", budget } })).data
  const spenders = [
    [await create("support-bot", { per: "day", usd: 0.02 }), 3],
    [await create("ci", { per: "total", tokens: 2_000 }), 1],
  ] as const
  for (const [{ secret }, runs] of spenders) {
    const spender = createClient({ url, key: secret })
    for (let i = 0; i < runs; i++) {
      const run = await spender.start("support", "My lamp A-17 arrived broken.")
      const { requests } = await run.result()
      await run.respond((requests as { id: string }[])[0]?.id ?? "", { approve: true })
      await run.result()
    }
  }
  await client.request("POST /v1/webhooks", {
    body: {
      url: "https://example.com/superstep",
      events: ["run.ended", "request.opened"],
      description: "Tickets of the support desk",
    },
  })
  await client.request("POST /v1/hooks", {
    body: { name: "new-order", workflow: "payment", input: "$body", verify: { type: "standard" } },
  })
}

const STORKS = `# White storks

White storks eat frogs, mice, insects and small fish.

# Migration

Most storks spend the winter in Africa, south of the Sahara. Some stay on landfills in Spain.
`
const LAMPS = "The desk lamp takes bulbs with an E14 socket. A broken lamp is refunded within 30 days."

/** An index of two documents. The server closes it with the function that comes along. */
export async function seededIndexes(): Promise<{ indexes: ServedIndexes; close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "studio-index-"))
  const index = documentIndex(join(folder, "index.db"), { root: folder })
  await index.add([
    { source: "storks.md", text: STORKS, type: "markdown" },
    { source: "lamps.txt", text: LAMPS, type: "text" },
  ])
  return {
    indexes: {
      names: async () => ["library"],
      use: async (name, use) => (name === "library" ? await use(index) : undefined),
    },
    async close() {
      await index.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function schedules(client: Client): Promise<void> {
  const set = (schedule: string, body: ScheduleOptions) =>
    client.request("PUT /v1/schedules/{schedule}", { path: { schedule }, body })
  const timeZone = "Europe/Berlin"
  await set("minutes", { workflow: "indexing", cron: "30 18 * * 1-5", timeZone, input: "Minutes of the day" })
  await set("pages", { workflow: "digest", every: 5_400_000, input: 12, overlap: "queue" })
  await set("anniversary", {
    workflow: "article",
    at: Date.now() + 86_400_000,
    input: { topic: "Ten years" },
  })
  await set("weekly-report", { workflow: "digest", cron: "0 8 * * 1", timeZone, input: 48 })
  const pages = { path: { schedule: "pages" }, body: {} }
  const { data } = await client.request("POST /v1/schedules/{schedule}/trigger", pages)
  await client.get(data.run).result()
  const report = { path: { schedule: "weekly-report" }, body: {} }
  await client.request("POST /v1/schedules/{schedule}/pause", report)
}

/** An order with two published versions, runs of the first, and a draft that behaves differently. */
export const ORDER = `# Asks before anything is sent.
name: order
agents:
  clerk:
    model: offline
    instruction: Thank for the order in one sentence.

workflow:
  - id: confirm
    type: human
    prompt: "Order {{ $input }}?"
    choices: [yes, no]
  - id: thank
    type: agent
    name: clerk
`

export async function seedOrder(client: Client): Promise<void> {
  const path = { definition: "order" }
  const add = async (text: string, note: string) =>
    await client.request("POST /v1/definitions/{definition}/versions", { path, body: { text, note } })
  const publish = async () =>
    await client.request("POST /v1/definitions/{definition}/publish", { path, body: {} })
  await add(ORDER, "The first one.")
  await publish()
  for (const what of ["milk", "bread", "tea"]) {
    const run = await client.start("order", what, { runId: `order-${what}` })
    await run.result()
    await run.respond("r1", what === "tea" ? "no" : "yes", { by: "ada" })
    await run.result()
  }
  await add(ORDER.replace("one sentence", "two sentences"), "Thank at more length.")
  await publish()
  const check = "  - id: stock\n    type: human\n    prompt: Is it in stock?\n  - id: confirm"
  await add(ORDER.replace("  - id: confirm", check), "Ask for the stock first.")
  await client.request("PUT /v1/definitions/{definition}/aliases/{alias}", {
    path: { ...path, alias: "beta" },
    body: { version: 3 },
  })
}
