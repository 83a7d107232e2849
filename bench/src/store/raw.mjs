// The limit for a store of many runs: two tables, indexes for what is asked, and statements that take many rows.
import { expectAnswer, itemList } from "../answers.mjs"
import { openDatabase } from "../durable/database.mjs"
import { idOf, labelsOf } from "./workflows.mjs"

const stepsOfARun = 3

function connect(path) {
  const database = openDatabase(path)
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, status TEXT NOT NULL, holder TEXT);
    CREATE INDEX IF NOT EXISTS running ON runs (id) WHERE status = 'running';
    CREATE TABLE IF NOT EXISTS steps (run INTEGER, seq INTEGER, body TEXT NOT NULL, PRIMARY KEY (run, seq)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS labels (name TEXT, value TEXT, run INTEGER, PRIMARY KEY (name, value, run)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS names USING fts5 (name, content = '', tokenize = 'trigram');
  `)
  return database
}

function inOneTransaction(database, work) {
  database.exec("BEGIN")
  work()
  database.exec("COMMIT")
}

function insertRuns(path, runs, status, steps) {
  const database = connect(path)
  const run = database.prepare("INSERT INTO runs (id, name, status, holder) VALUES (?, ?, ?, 'dead')")
  const step = database.prepare("INSERT INTO steps VALUES (?, ?, ?)")
  const label = database.prepare("INSERT INTO labels VALUES (?, ?, ?)")
  const name = database.prepare("INSERT INTO names (rowid, name) VALUES (?, ?)")
  inOneTransaction(database, () => {
    for (const index of itemList(runs)) {
      run.run(index, idOf(index), status)
      name.run(index, idOf(index))
      for (const seq of itemList(steps)) step.run(index, seq, JSON.stringify({ value: seq }))
      for (const [key, value] of Object.entries(labelsOf(index))) label.run(key, value, index)
    }
  })
  database.close()
}

export function finished(path, runs) {
  insertRuns(path, runs, "completed", stepsOfARun)
}

export function running(path, runs) {
  insertRuns(path, runs, "running", stepsOfARun - 1)
}

/** Claims a thousand at a time, reads their steps, adds the last one. */
export function recover(path, runs) {
  const database = connect(path)
  const start = performance.now()
  const next = database.prepare("SELECT id FROM runs WHERE status = 'running' ORDER BY id LIMIT 1000")
  const claim = database.prepare("UPDATE runs SET holder = 'me' WHERE id = ?")
  const read = database.prepare("SELECT body FROM steps WHERE run = ? ORDER BY seq")
  const add = database.prepare("INSERT INTO steps VALUES (?, ?, ?)")
  const end = database.prepare("UPDATE runs SET status = 'completed', holder = NULL WHERE id = ?")
  let done = 0
  for (let batch = next.all(); batch.length > 0; batch = next.all()) {
    inOneTransaction(database, () => batch.forEach(({ id }) => claim.run(id)))
    inOneTransaction(database, () => {
      for (const { id } of batch) {
        const steps = read.all(id).map(({ body }) => JSON.parse(body))
        add.run(id, steps.length, JSON.stringify({ value: steps.length }))
        end.run(id)
      }
    })
    done += batch.length
  }
  const elapsed = performance.now() - start
  expectAnswer("recovered rows", done, runs)
  database.close()
  return elapsed
}

export function prune(path, runs, keep) {
  const database = connect(path)
  const start = performance.now()
  const last = runs - keep
  inOneTransaction(database, () => {
    database.prepare("DELETE FROM steps WHERE run < ?").run(last)
    database.prepare("DELETE FROM labels WHERE run < ?").run(last)
    expectAnswer(
      "pruned rows",
      Number(database.prepare("DELETE FROM runs WHERE id < ?").run(last).changes),
      last,
    )
  })
  const elapsed = performance.now() - start
  database.close()
  return elapsed
}

export function open(path, runs) {
  const database = connect(path)
  const middle = Math.floor(runs / 2)
  const byLabel = database.prepare(
    "SELECT runs.* FROM labels JOIN runs ON runs.id = labels.run WHERE labels.name = ? AND value = ? ORDER BY run DESC LIMIT 20",
  )
  const byText = database.prepare(
    "SELECT runs.* FROM names JOIN runs ON runs.id = names.rowid WHERE names MATCH ? ORDER BY runs.id DESC LIMIT 20",
  )
  const newest = database.prepare("SELECT * FROM runs ORDER BY id DESC LIMIT 20")
  return {
    queries: {
      "the newest 20": () => newest.all().length,
      "a label of one run": () => byLabel.all("customer", `customer-${middle}`).length,
      "a label of one run in a hundred": () => byLabel.all("team", "team-7").length,
      "text in one run's id": () => byText.all(`"${idOf(middle).slice(3)}"`).length,
      "text that no run has": () => byText.all('"no such run"').length,
    },
    close: () => database.close(),
  }
}
