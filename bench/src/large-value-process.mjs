// A new process in which one large value goes through three nodes; sends the most memory it had, in MB, over what it had
// before the value was made.
import { join } from "node:path"
import { node, workflow } from "superstep"
import { expectAnswer } from "./answers.mjs"
import { answerParent } from "./child.mjs"
import { openDatabase } from "./durable/database.mjs"
import { makeFolder } from "./durable/folder.mjs"

const [way, megabytes] = [process.argv[2], Number(process.argv[3])]

/** Strings of a megabyte each, as documents or files would be. */
const make = (count) =>
  Array.from({ length: count }, (_, index) => Buffer.alloc(1_000_000, 97 + (index % 26)).toString("latin1"))
const passOn = (list) => list
const measureIt = (list) => list.reduce((sum, { length }) => sum + length, 0)

async function plain(count) {
  let value = count
  for (const step of [make, passOn, measureIt]) value = await step(value)
  return value
}

function ours(store) {
  const built = workflow("large", { limits: { valueBytes: 1e9 } })
    .chain(node("make", make), node("pass-on", passOn), node("measure", measureIt))
    .build()
  return async (count) => (await built.run(count, { store })).outputs[0]
}

/** What the value takes on its way into SQLite without an engine: each step's result as a row. */
function raw() {
  const database = openDatabase(join(makeFolder(), "large.db"))
  database.exec("PRAGMA journal_mode = WAL")
  database.exec("CREATE TABLE steps (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
  const insert = database.prepare("INSERT INTO steps (body) VALUES (?)")
  return async (count) => {
    let value = count
    for (const step of [make, passOn, measureIt]) {
      value = await step(value)
      insert.run(JSON.stringify(value))
    }
    return value
  }
}

async function onDisk() {
  const { sqliteStore } = await import("@superstep/store-sqlite")
  return ours(sqliteStore({ path: join(makeFolder(), "large.db") }))
}

const run = { plain: () => plain, raw, superstep: () => ours(undefined), "superstep + sqlite": onDisk }
const pass = await run[way]()
// A small one first: what code and tables take is not the value's.
expectAnswer(way, await pass(1), 1_000_000)
const before = process.memoryUsage.rss()
expectAnswer(way, await pass(megabytes), megabytes * 1_000_000)
// Linux and macOS both give the peak in kilobytes through Node.
answerParent(process.resourceUsage().maxRSS / 1_000 - before / 1_000_000)
