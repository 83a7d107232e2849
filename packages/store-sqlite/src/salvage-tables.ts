/** What a store has beside its runs, brought over to a new file: each as it is, as far as it is sound. */
import { copier } from "./copy-rows.ts"
import type { Database } from "./driver.ts"
import { messageOfDamage } from "./errors.ts"
import { graphTable } from "./graphs.ts"
import { decodeText, type JsonBytes } from "./json-column.ts"
import { MAIL_COLUMNS, type MailRow, mailTable, toMail } from "./mail.ts"
import { reading } from "./raw-runs.ts"
import { registryTables } from "./registry.ts"
import { shownName } from "./text.ts"
import { threadTable } from "./threads.ts"

/** To be called within a transaction of the new file. What did not come over, a sentence each. */
export function copyTables(from: Database, to: Database, hasRun: (runId: string) => boolean): string[] {
  const problems: string[] = []
  const attempt = (work: () => void) => {
    try {
      reading("The file", work)
    } catch (error) {
      problems.push(messageOfDamage(error))
    }
  }
  const names = (column: string, table: string): string[] => {
    const found: string[] = []
    attempt(() => {
      const rows = from.prepare(`SELECT CAST(${column} AS BLOB) AS name FROM ${table} NOT INDEXED`).all()
      for (const { name } of rows as { name: JsonBytes }[]) {
        attempt(() => found.push(decodeText(name, () => `A row of ${table} is damaged at ${column}`)))
      }
    })
    return found
  }

  const graphs = graphTable(from)
  const copyGraph = copier(from, to, "graphs", "hash = ?", ["hash", "body", "sum"])
  for (const hash of names("hash", "graphs")) {
    attempt(() => {
      graphs.find(shownName(hash))
      copyGraph(hash)
    })
  }

  const copyThread = threadCopier(from, to)
  for (const thread of names("thread", "threads")) {
    attempt(() => {
      const problem = copyThread(thread)
      if (problem !== undefined) problems.push(problem)
    })
  }

  const registry = registryTables(from)
  const copyAgent = copier(from, to, "agents", "id = ?", AGENT)
  for (const id of names("id", "agents")) {
    attempt(() => {
      registry.agents([id])
      copyAgent(id)
    })
  }
  const copyWorkflow = copier(from, to, "workflows", "id = ?", WORKFLOW)
  const copyNodes = copier(from, to, "workflow_nodes", "workflowId = ?", NODE)
  const copyEdges = copier(from, to, "workflow_edges", "workflowId = ?", EDGE)
  for (const id of names("id", "workflows")) {
    attempt(() => {
      registry.definition(id)
      copyWorkflow(id)
      copyNodes(id)
      copyEdges(id)
    })
  }

  const mail = mailTable(to)
  const findMail = from.prepare(
    `SELECT ${MAIL_COLUMNS} FROM mail NOT INDEXED WHERE outcome IS NULL ORDER BY id`,
  )
  attempt(() => {
    for (const row of findMail.all() as MailRow[]) {
      attempt(() => {
        const letter = toMail(row)
        if (hasRun(letter.runId)) mail.post(letter)
      })
    }
  })
  return problems
}

/** A thread comes over up to its last sound write. */
function threadCopier(from: Database, to: Database): (thread: string) => string | undefined {
  const threads = threadTable(from)
  const copyWrites = copier(from, to, "thread_writes", "thread = ? AND version <= ?", WRITE)
  const find = from.prepare("SELECT id, CAST(version AS INTEGER) AS version FROM threads WHERE thread = ?")
  const add = to.prepare("INSERT INTO threads (id, thread, version, bytes) VALUES (?, ?, ?, 0)")
  const measure = to.prepare(
    `UPDATE threads SET bytes = (
       SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0) FROM thread_writes WHERE thread = threads.id
     ) WHERE id = ?`,
  )
  const isSound = (name: string, version: number) => {
    try {
      return reading("The thread", () => threads.state(name, version)).version === version
    } catch {
      return false
    }
  }
  return (thread) => {
    const name = shownName(thread)
    const [row] = find.all(thread) as { id: number; version: number }[]
    if (row === undefined) return `Thread "${name}" is not found by its id.`
    // What comes before a sound write is sound.
    let [low, high] = [0, row.version]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (isSound(name, middle)) low = middle
      else high = middle - 1
    }
    add.run(row.id, thread, low)
    copyWrites(row.id, low)
    measure.run(row.id)
    return low === row.version ? undefined : `Thread "${name}" is cut after write ${low} of ${row.version}.`
  }
}

const WRITE = ["thread", "version", "key", "kind", "value", "sum"]
const AGENT = ["id", "name", "description", "prompt", "model", "tools", "config", "position", "sum"]
const WORKFLOW = [
  "id",
  "name",
  "description",
  "isConversational",
  "entrypointNodeId",
  "config",
  "position",
  "sum",
]
const NODE = ["id", "workflowId", "nodeType", "nodeName", "agentId", "config", "position", "sum"]
const EDGE = [
  "id",
  "workflowId",
  "sourceNodeId",
  "targetNodeId",
  "conditionType",
  "conditionValue",
  "config",
  "position",
  "sum",
]
