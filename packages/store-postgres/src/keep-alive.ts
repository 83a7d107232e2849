/** The heartbeat thread's connection to the server. */
import type { KeepAlive, KeepAliveOptions } from "@superstep/engine"
import { requireFrom } from "@superstep/engine/packages"
import { heartbeatThread } from "@superstep/engine/stores"
import type { ConnectionConfig } from "./address.ts"

export function keepAlive(config: ConnectionConfig, schema: string, options: KeepAliveOptions): KeepAlive {
  return heartbeatThread(options, {
    program: PROGRAM,
    data: { pg: requireFrom(import.meta.url).resolve("pg"), config, schema: `"${schema}"` },
    // The driver reads its settings from there.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => /^(?:PG|HOME$|NODE_EXTRA_CA)/.test(name)),
    ),
  })
}

const PROGRAM = `
const { pg, config, schema } = workerData
const { Client } = require(pg)
const PATIENCE = 5000
let client

async function beat(holder) {
  await ask("UPDATE " + schema + ".holders SET beat = beat + 1 WHERE id = $1", [holder])
}

async function dismiss(holder, run) {
  await ask("SELECT " + schema + ".dismiss_1($1, 'hung', $2)", [holder, run])
}

async function ask(text, values) {
  try {
    client ??= await connected()
    await client.query({ text, values })
  } catch (error) {
    close()
    throw error
  }
}

function close() {
  client?.end().catch(() => undefined)
  client = undefined
}

async function connected() {
  const made = new Client({
    ...config,
    connectionTimeoutMillis: PATIENCE,
    query_timeout: PATIENCE,
    application_name: "superstep heartbeat",
  })
  made.on("error", () => { client = undefined })
  await made.connect()
  return made
}
`
