/**
 * The program that DuckDB runs in, apart from ours: DuckDB's memory limit does not hold for all that a query can make it
 * take, some of its functions cannot be interrupted, and some end the process. So this one has no secrets in its
 * environment, watches its memory, and can be ended at any time.
 */
import { existsSync } from "node:fs"
import type { DuckDBInstance } from "@duckdb/node-api"
import { UP } from "../child-program.ts"
import { loadFile, tablesOf } from "./duckdb-load.ts"
import type { DuckDbReplies, DuckDbReply, DuckDbRequest, DuckDbSettings } from "./duckdb-messages.ts"
import { Refusal, runSelect } from "./duckdb-query.ts"

const { database, folder, memory } = JSON.parse(process.argv[2] as string) as DuckDbSettings
const options = { autoinstall_known_extensions: "false", autoload_known_extensions: "false" }
const memoryLimit = `${Math.floor(memory / 1_000_000)}MB`

process.on("disconnect", end)

const duckdb = await import("@duckdb/node-api")
let opened: DuckDBInstance | undefined
try {
  // Another process may have loaded it, and ended.
  if (existsSync(database)) await open()
  process.on("message", (request: DuckDbRequest) => {
    void answer(request).then((reply) => process.send?.(reply))
  })
  process.send?.(UP)
} catch (error) {
  process.send?.(replyOf(error))
}

async function answer(request: DuckDbRequest): Promise<DuckDbReply> {
  try {
    return request.do === "load" ? { ok: await load(request.sources) } : await query(request)
  } catch (error) {
    return replyOf(error)
  }
}

function replyOf(error: unknown): DuckDbReply {
  const message = error instanceof Error ? error.message : String(error)
  return { error: error instanceof Refusal ? "refused" : "failed", message }
}

async function load(
  sources: Extract<DuckDbRequest, { do: "load" }>["sources"],
): Promise<DuckDbReplies["load"]> {
  const instance = await duckdb.DuckDBInstance.create(database, {
    ...options,
    memory_limit: memoryLimit,
    temp_directory: folder,
  })
  try {
    const connection = await instance.connect()
    const loaded = []
    for (const source of sources) loaded.push(await loadFile(connection, source, folder))
    const tables = await tablesOf(connection)
    connection.closeSync()
    return { loaded, tables }
  } finally {
    instance.closeSync()
    await open()
  }
}

async function open(): Promise<void> {
  opened = await duckdb.DuckDBInstance.create(database, {
    ...options,
    access_mode: "READ_ONLY",
    memory_limit: memoryLimit,
  })
  const connection = await opened.connect()
  // Nothing is written to disk either: what does not fit into memory fails.
  await connection.run("SET temp_directory = ''")
  await connection.run("SET enable_external_access = false")
  await connection.run("SET lock_configuration = true")
  connection.closeSync()
}

async function query({ sql, limits }: Extract<DuckDbRequest, { do: "query" }>): Promise<DuckDbReply> {
  const connection = await (opened as DuckDBInstance).connect()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    connection.interrupt()
  }, limits.timeout)
  const watch = setInterval(watchMemory, 20)
  try {
    return { ok: await runSelect(duckdb, connection, sql, limits) }
  } catch (error) {
    if (isLate) return { error: "timeout", message: "" }
    throw error
  } finally {
    clearTimeout(timer)
    clearInterval(watch)
    connection.closeSync()
  }
}

function watchMemory(): void {
  if (process.memoryUsage.rss() > memory * 1.5 + 256_000_000) end()
}

/** At once, whatever is under way: an orderly exit waits for it. */
function end(): void {
  process.kill(process.pid, "SIGKILL")
}
