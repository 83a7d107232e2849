/** Copies what a store has beside its runs to a new file: each row as it is, if it is sound. */

import type { ValueCodec } from "@superstep/engine/stores"
import { decodeText, type JsonBytes, shownName } from "../file/columns.ts"
import type { Database, Value } from "../file/driver.ts"
import { messageOfDamage } from "../file/errors.ts"
import { graphTable } from "../journal/graphs.ts"
import { threadTable } from "../journal/threads.ts"
import { MAIL_COLUMNS, type MailRow, mailTable, toMail } from "../lease/mail.ts"
import { RECORD_COLUMNS, recordTable } from "../records.ts"
import { columnsOf, registryTables } from "../registry.ts"
import { CONSUMER_COLUMNS, type ConsumerRow, eventRows, toConsumer, toEvent } from "../runs/subscriptions.ts"
import { SCHEDULE_COLUMNS, scheduleTable } from "../schedules.ts"
import { reading } from "./raw-runs.ts"

/** To be called within a transaction of the new file. What did not come over, a sentence each. */
export function copyTables(
  from: Database,
  to: Database,
  codec: ValueCodec,
  hasRun: (runId: string) => boolean,
): string[] {
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
  const copyGraph = copier(from, to, "graphs", "hash = ?", "hash, body, sum")
  for (const hash of names("hash", "graphs")) {
    attempt(() => {
      graphs.find(shownName(hash))
      copyGraph(hash)
    })
  }

  const copyThread = threadCopier(from, to, codec)
  for (const thread of names("thread", "threads")) {
    attempt(() => {
      const problem = copyThread(thread)
      if (problem !== undefined) problems.push(problem)
    })
  }

  const registry = registryTables(from)
  const copyAgent = copier(from, to, "agents", "id = ?", columnsOf("agents"))
  for (const id of names("id", "agents")) {
    attempt(() => {
      registry.agents([id])
      copyAgent(id)
    })
  }
  const copyWorkflow = copier(from, to, "workflows", "id = ?", columnsOf("workflows"))
  const copyNodes = copier(from, to, "workflow_nodes", "workflowId = ?", columnsOf("workflow_nodes"))
  const copyEdges = copier(from, to, "workflow_edges", "workflowId = ?", columnsOf("workflow_edges"))
  for (const id of names("id", "workflows")) {
    attempt(() => {
      registry.definition(id)
      copyWorkflow(id)
      copyNodes(id)
      copyEdges(id)
    })
  }

  const schedules = scheduleTable(from, codec)
  const copySchedule = copier(from, to, "schedules", "id = ?", SCHEDULE_COLUMNS)
  for (const id of names("id", "schedules")) {
    attempt(() => {
      schedules.get(shownName(id))
      copySchedule(id)
    })
  }

  const records = recordTable(from, codec)
  const copyRecord = copier(from, to, "records", "kind = ? AND id = ?", RECORD_COLUMNS)
  const damaged = () => "A row of records is damaged"
  attempt(() => {
    const found = from.prepare(
      "SELECT CAST(kind AS BLOB) AS kind, CAST(id AS BLOB) AS id FROM records NOT INDEXED",
    )
    for (const row of found.all() as { kind: JsonBytes; id: JsonBytes }[]) {
      attempt(() => {
        const [kind, id] = [decodeText(row.kind, damaged), decodeText(row.id, damaged)]
        records.get(shownName(kind), shownName(id))
        copyRecord(kind, id)
      })
    }
  })

  const mail = mailTable(to, codec)
  const findMail = from.prepare(
    `SELECT ${MAIL_COLUMNS} FROM mail NOT INDEXED WHERE outcome IS NULL ORDER BY id`,
  )
  attempt(() => {
    for (const row of findMail.all() as MailRow[]) {
      attempt(() => {
        const letter = toMail(row, codec)
        if (hasRun(letter.runId)) mail.post(letter)
      })
    }
  })
  copySubscriptions(from, to, names("consumer", "consumers"), attempt)
  return problems
}

/** A consumer continues where it was; one whose row is damaged is gone. */
function copySubscriptions(
  from: Database,
  to: Database,
  consumers: readonly string[],
  attempt: (work: () => void) => void,
): void {
  const copyEvent = copier(from, to, "events", "id = ?", "id, type, run_id, workflow, at, body, sum")
  attempt(() => {
    for (const row of eventRows(from)) {
      attempt(() => {
        toEvent(row)
        copyEvent(row.id)
      })
    }
  })
  const findConsumer = from.prepare(`SELECT ${CONSUMER_COLUMNS} FROM consumers WHERE consumer = ?`)
  const columns = "consumer, position, token, holder, missed, failure, sum"
  const copyConsumer = copier(from, to, "consumers", "consumer = ?", columns)
  for (const consumer of consumers) {
    attempt(() => {
      for (const row of findConsumer.all(consumer) as ConsumerRow[]) toConsumer(row)
      copyConsumer(consumer)
    })
  }
}

/** A thread comes over up to its last sound write. */
function threadCopier(
  from: Database,
  to: Database,
  codec: ValueCodec,
): (thread: string) => string | undefined {
  const threads = threadTable(from, codec)
  const copyWrites = copier(from, to, "thread_writes", "thread = ? AND version <= ?", WRITE_COLUMNS)
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

const WRITE_COLUMNS = "thread, version, key, kind, value, sum"

/** Copies rows from one file to another, column by column. The caller checks them before. */
export function copier(
  from: Database,
  to: Database,
  table: string,
  condition: string,
  columns: string,
): (...values: Value[]) => void {
  const names = columns.split(/,\s*/)
  const find = from.prepare(`SELECT ${columns} FROM ${table} WHERE ${condition}`)
  const add = to.prepare(`INSERT INTO ${table} (${columns}) VALUES (${names.map(() => "?").join(", ")})`)
  return (...values) => {
    for (const row of find.all(...values) as Record<string, Value>[]) {
      add.run(...names.map((name) => row[name] ?? null))
    }
  }
}
