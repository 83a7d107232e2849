/**
 * The program that Ladybug runs in, apart from ours: it works out constants without looking at the time, takes memory past
 * its limit for lists, and reads and writes files. So this one has no secrets in its environment, watches its memory, and
 * can be ended at any time.
 */
import { UP } from "../child-program.ts"
import { BoundedRows } from "../sql/bounded-rows.ts"
import type { LadybugReply, LadybugRequest, LadybugSettings } from "./ladybug-messages.ts"
import { jsonOf } from "./ladybug-values.ts"

/** As much of the package as is used here; it is not always installed, and so its types are not. */
interface Ladybug {
  readonly Database: new (
    path: string,
    bufferSize: number,
    isCompressed: boolean,
    isReadOnly: boolean,
  ) => LadybugDatabase
  readonly Connection: new (database: LadybugDatabase) => LadybugConnection
}

interface LadybugDatabase {
  init(): Promise<void>
}

interface LadybugConnection {
  setQueryTimeout(milliseconds: number): void
  prepare(cypher: string): Promise<LadybugStatement>
  execute(statement: LadybugStatement, params: object): Promise<LadybugResult | LadybugResult[]>
  close(): Promise<void>
}

interface LadybugStatement {
  isSuccess(): boolean
  getErrorMessage(): string
}

interface LadybugResult {
  hasNext(): boolean
  getNext(): Promise<Record<string, unknown>>
  getColumnNames(): Promise<string[]>
  close(): void
}

const { module, path, memory } = JSON.parse(process.argv[2] as string) as LadybugSettings

process.on("disconnect", end)
setInterval(watchMemory, 20).unref()

try {
  const { default: ladybug } = (await import(module)) as { default: Ladybug }
  const database = new ladybug.Database(path, memory, true, true)
  await database.init()
  process.on("message", (request: LadybugRequest) => {
    void answer(new ladybug.Connection(database), request).then((reply) => process.send?.(reply))
  })
  process.send?.(UP)
} catch (error) {
  process.send?.({ error: "unusable", message: messageOf(error) } satisfies LadybugReply)
}

async function answer(connection: LadybugConnection, request: LadybugRequest): Promise<LadybugReply> {
  try {
    return await run(connection, request)
  } catch (error) {
    const message = messageOf(error)
    if (message.startsWith("Interrupted")) return { error: "timeout", message }
    const isWrite = message.includes("read-only database") || message.includes("prepare multiple statements")
    return { error: isWrite ? "refused" : "failed", message }
  } finally {
    await connection.close()
  }
}

async function run(connection: LadybugConnection, request: LadybugRequest): Promise<LadybugReply> {
  const { cypher, params, limits } = request
  connection.setQueryTimeout(limits.timeout)
  // Prepared, as that is one statement for certain.
  const statement = await connection.prepare(cypher)
  if (!statement.isSuccess()) throw new Error(statement.getErrorMessage())
  const result = await connection.execute(statement, params)
  if (Array.isArray(result)) throw new Error("Only one statement can be run, and these are several.")
  try {
    const columns = await result.getColumnNames()
    const twice = columns.find((name, index) => columns.indexOf(name) !== index)
    if (twice !== undefined) throw new Error(`Two columns are called ${twice}: name them with AS.`)
    const bounded = new BoundedRows(limits)
    while (!bounded.isCut && result.hasNext()) {
      const row = await result.getNext()
      bounded.add(columns.map((name) => jsonOf(row[name])))
    }
    return { ok: { columns, rows: bounded.rows, isCut: bounded.isCut } }
  } finally {
    result.close()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function watchMemory(): void {
  if (process.memoryUsage.rss() > memory * 1.5 + 256_000_000) end()
}

/** At once, whatever is under way: an orderly exit waits for it. */
function end(): void {
  process.kill(process.pid, "SIGKILL")
}
