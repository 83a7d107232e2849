/**
 * A process that stops (SIGSTOP) inside a transaction of its own, and continues when it is resumed: with `append`, after
 * the records of run "stopped" were written and before they are committed; with `create`, while it makes the file.
 */

import { openDatabase } from "../open-store.ts"
import { storeOn } from "../sqlite-store.ts"
import { libsql, nodeSqlite } from "./driver.ts"
import { Transactions } from "./transactions.ts"

const [path, what] = process.argv.slice(2) as [string, "append" | "create"]
const driver = nodeSqlite() ?? libsql()

function stop(): void {
  process.kill(process.pid, "SIGSTOP")
}

/** Stops before the first COMMIT that follows `from`. */
function stoppingDriver(file: string) {
  const database = driver(file)
  return {
    exec(sql: string) {
      if (sql === "COMMIT" && isArmed) {
        isArmed = false
        stop()
      }
      return database.exec(sql)
    },
    prepare: (sql: string) => database.prepare(sql),
    close: () => database.close(),
  }
}

let isArmed = what === "create"
const { database, isGone } = openDatabase({
  path,
  durability: "normal",
  lookAgain: 0,
  driver: stoppingDriver,
})
const store = storeOn(path, database, new Transactions(database, { mayWrite: isGone, busyTimeout: 60_000 }))
isArmed = what === "append"
const entry = {
  type: "step.recorded",
  at: 1,
  task: 1,
  key: "k",
  value: "written by the stopped process",
} as const
await store.append(
  { runId: "stopped", holder: "h", token: 1 },
  0,
  [{ seq: 1, frame: "", entry, events: 1 }],
  { created: { workflow: "w", graph: "g" } },
)
await store.close()
process.stdout.write("done\n")
