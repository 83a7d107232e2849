// The limit: each step is one row in one table, with no engine at all. A run that is alone has a transaction per step;
// concurrent ones share a transaction for the steps that they take at the same time.
import { openDatabase } from "../database.mjs"
import { message, stepsOfConcurrentRun } from "../message.mjs"

function connect(path, full) {
  const database = openDatabase(path)
  database.exec("PRAGMA journal_mode = WAL")
  database.exec(`PRAGMA synchronous = ${full ? "FULL" : "NORMAL"}`)
  database.exec("CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
  return database
}

function insertSteps(database, count) {
  const insert = database.prepare("INSERT INTO steps (body) VALUES (?)")
  return async () => {
    let rows = 0
    for (let index = 0; index < count; index++)
      rows += Number(insert.run(JSON.stringify(message(index))).changes)
    return rows
  }
}

function insertTogether(database, runs) {
  const insertOfAll = insertSteps(database, runs)
  return async () => {
    let rows = 0
    for (let step = 0; step < stepsOfConcurrentRun; step++) {
      database.exec("BEGIN")
      rows += await insertOfAll()
      database.exec("COMMIT")
    }
    return rows
  }
}

/** The driver may leave the write-ahead log behind, unless it is asked to empty it. */
function close(database) {
  database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all()
  database.close()
}

export function open(path, { full }) {
  const database = connect(path, full)
  return {
    steps: (count) => insertSteps(database, count),
    concurrent: (runs) => insertTogether(database, runs),
    close: () => close(database),
  }
}

export async function wait(path, { steps }) {
  const database = connect(path, false)
  database.exec("BEGIN")
  await insertSteps(database, steps)()
  database.exec("COMMIT")
  database.close()
}

/** The last row, or all of them where the state grows. */
export function resume(path, { growing }) {
  const database = connect(path, false)
  const last = growing ? "" : "WHERE id = (SELECT max(id) FROM steps)"
  const messages = database
    .prepare(`SELECT body FROM steps ${last} ORDER BY id`)
    .all()
    .map(({ body }) => JSON.parse(body))
  return { lastMessage: messages.at(-1), close: () => database.close() }
}
