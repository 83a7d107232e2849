// Runs in one process, a hundred at a time; tells its memory after a tenth, a half and all of them.
import { performance } from "node:perf_hooks"
import { itemList } from "../answers.mjs"
import { settledHeap } from "../heap.mjs"
import { openStore } from "./stores.mjs"

const atATime = 100
const [storeName, runs] = [process.argv[2], Number(process.argv[3])]
const { run, close } = await openStore(storeName)

async function runUpTo(done, mark) {
  for (let next = done; next < mark; next += atATime) {
    await Promise.all(itemList(Math.min(atATime, mark - next)).map((index) => run(next + index)))
  }
}

let done = 0
for (const part of [0.1, 0.5, 1]) {
  const mark = Math.ceil(runs * part)
  const start = performance.now()
  await runUpTo(done, mark)
  const microseconds = ((performance.now() - start) * 1_000) / (mark - done)
  const heap = await settledHeap()
  const { rss, external } = process.memoryUsage()
  process.send({ runs: mark, heap, external, rss, microseconds })
  done = mark
}
await close()
process.disconnect()
