/**
 * The program that runs Ladybug in a separate process. Ladybug evaluates constants without checking the time, exceeds its
 * memory limit for lists, and can read and write files. Therefore this process has no secrets in its environment,
 * monitors its memory, and can be killed at any time.
 */
import type { Json } from "@superstep/engine"
import { answerParent, programSettings, watchMemory } from "../child-program.ts"
import { BoundedRows, exactNumber } from "../sql/rows.ts"
import type { LadybugReply, LadybugRequest, LadybugSettings } from "./ladybug.ts"

/** The part of the package that is used here. The package is optional, so its types may not be installed. */
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

const { module, path, memory } = programSettings<LadybugSettings>()
watchMemory(memory)

await answerParent<LadybugRequest, LadybugReply>(
  async () => {
    const { default: ladybug } = (await import(module)) as { default: Ladybug }
    const database = new ladybug.Database(path, memory, true, true)
    await database.init()
    return (request) => answer(new ladybug.Connection(database), request)
  },
  (error) => ({ error: "unusable", message: messageOf(error) }),
)

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
  // A prepared statement is always a single one.
  const statement = await connection.prepare(cypher)
  if (!statement.isSuccess()) throw new Error(statement.getErrorMessage())
  const result = await connection.execute(statement, params)
  if (Array.isArray(result)) throw new Error("Only one statement is allowed.")
  try {
    const columns = await result.getColumnNames()
    const twice = columns.find((name, index) => columns.indexOf(name) !== index)
    if (twice !== undefined) throw new Error(`Two columns are named ${twice}: rename them with AS.`)
    const bounded = new BoundedRows(limits)
    while (!bounded.isTruncated && result.hasNext()) {
      const row = await result.getNext()
      bounded.add(columns.map((name) => jsonOf(row[name])))
    }
    return { ok: { columns, rows: bounded.rows, isTruncated: bounded.isTruncated } }
  } finally {
    result.close()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

interface InternalId {
  readonly table: number
  readonly offset: number
}

export function jsonOf(value: unknown): Json {
  if (value === null || value === undefined) return null
  if (typeof value === "bigint") return exactNumber(String(value))
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (typeof value === "string" || typeof value === "boolean") return value
  if (value instanceof Date) return dateOf(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (Array.isArray(value)) return value.map(jsonOf)
  if (typeof value !== "object") return String(value)
  return objectOf(value instanceof Map ? Object.fromEntries(value) : (value as Record<string, unknown>))
}

function objectOf(value: Record<string, unknown>): Json {
  if (Array.isArray(value._nodes) && Array.isArray(value._rels)) {
    return { nodes: value._nodes.map(jsonOf), relationships: value._rels.map(jsonOf) }
  }
  if (isInternalId(value)) return idOf(value)
  const { _id, _label, _src, _dst, ...properties } = value
  if (!isInternalId(_id) || typeof _label !== "string") return propertiesOf(value)
  const known = propertiesOf(properties, true)
  if (!isInternalId(_src) || !isInternalId(_dst))
    return { id: idOf(_id), labels: [_label], properties: known }
  return { id: idOf(_id), type: _label, from: idOf(_src), to: idOf(_dst), properties: known }
}

/** A node that belongs to several tables has the properties of all; those of the other tables are null. */
function propertiesOf(
  values: Readonly<Record<string, unknown>>,
  leaveOutNulls = false,
): Record<string, Json> {
  const entries = Object.entries(values).filter(([, value]) => !leaveOutNulls || value !== null)
  return Object.fromEntries(entries.map(([name, value]) => [name, jsonOf(value)]))
}

function isInternalId(value: unknown): value is InternalId {
  if (typeof value !== "object" || value === null) return false
  const { table, offset, ...others } = value as Record<string, unknown>
  return typeof table === "number" && typeof offset === "number" && Object.keys(others).length === 0
}

function idOf({ table, offset }: InternalId): string {
  return `${table}:${offset}`
}

/** A date without a time. */
function dateOf(value: Date): string {
  if (Number.isNaN(value.getTime())) return "invalid date"
  const text = value.toISOString()
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, -14) : text
}
