/**
 * Reads a damaged file again and again: for each damage, a line of JSON with what was wrong, or nothing. A program of its
 * own, as a driver might end its process over damage.
 *
 * Arguments: the sound file, the path to damage, the first and the last byte, the step, the driver.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import { isSuperstepError } from "@superstep/engine"
import { libsql, nodeSqlite } from "../file/driver.ts"
import { withLateStatements } from "../file/schema.ts"
import { Transactions } from "../file/transactions.ts"
import { openDatabase } from "../open-store.ts"
import { storeOn } from "../sqlite-store.ts"
import { allOf, listsOf } from "./flipped-values.test-support.ts"

const [sound, path, first, last, step, name] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const driver = name === "libsql" ? libsql() : nodeSqlite()
const file = readFileSync(sound)

function open(at: string) {
  const { database, isGone } = openDatabase({ path: at, durability: "normal", lookAgain: 0, driver })
  const transactions = new Transactions(database, { mayWrite: isGone, busyTimeout: 0 })
  return storeOn(at, withLateStatements(database, at), transactions)
}

const before = await (async () => {
  const store = open(sound)
  const values = { ...(await allOf(store)), ...(await listsOf(store)) } as Record<string, unknown>
  await store.close()
  return values
})()

const counts = { same: 0, reported: 0 }
for (let at = Number(first); at < Math.min(Number(last), file.length); at += Number(step)) {
  // Another bit each time, so that all kinds of changes are there.
  const flip = 1 << (at % 8)
  const hurt = Buffer.from(file)
  hurt[at] = (hurt[at] as number) ^ (at % 3 === 0 ? 0xff : flip)
  for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true })
  writeFileSync(path, hurt, { mode: 0o600 })
  process.stdout.write(`${JSON.stringify({ at })}\n`)
  try {
    const store = open(path)
    const [values, lists] = [await allOf(store), await listsOf(store)]
    await store.close()
    for (const [what, value] of Object.entries({ ...values, ...lists })) {
      if (value instanceof Error) check(at, what, value)
      // A snapshot only saves reading the journal: one that is not found is as good as none.
      else if (what.startsWith("snapshot") && value === undefined) counts.same += 1
      else if (what in lists ? isPart(value, before[what]) : isDeepStrictEqual(value, before[what]))
        counts.same += 1
      else process.stdout.write(`${JSON.stringify({ at, what, is: value })}\n`)
    }
  } catch (error) {
    check(at, "open", error)
  }
}
process.stdout.write(`${JSON.stringify(counts)}\n`)

function isPart(list: unknown, whole: unknown): boolean {
  return (list as unknown[]).every((one) =>
    (whole as unknown[]).some((other) => isDeepStrictEqual(one, other)),
  )
}

function check(at: number, what: string, error: unknown): void {
  counts.reported += 1
  if (isSuperstepError(error) && /^STORE_(CORRUPT|UNUSABLE)$/.test(error.code)) return
  process.stdout.write(
    `${JSON.stringify({ at, what, error: String(error), code: (error as { code?: unknown }).code })}\n`,
  )
}
