/**
 * A program to be killed: appends to one run of the file, from the end of its journal, until it is killed,
 * and prints the number of each record that was acknowledged.
 */
import { sqliteStore } from "./open-store.ts"

const [path, runId] = process.argv.slice(2) as [string, string]
const store = sqliteStore({ path })
const text = "x".repeat(500)
const created = { workflow: "w", graph: "g" }

for (let seq = (await store.read(runId, 0)).length; ; ) {
  const count = 1 + (seq % 3)
  const records = Array.from({ length: count }, (_, i) => ({
    seq: seq + 1 + i,
    frame: "",
    entry: { type: "step.recorded", at: seq, task: 1, key: `k${seq + 1 + i}`, value: text } as const,
    events: seq,
  }))
  await store.append({ runId, holder: "h", token: 1 }, seq, records, seq === 0 ? { created } : undefined)
  seq += count
  await new Promise((written) => process.stdout.write(`${seq}\n`, written))
}
