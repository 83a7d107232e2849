// Where the runs of a soak are kept, and what becomes of them. `memoryStore()` is not among them: it keeps every
// journal, and grows by them.
import { join } from "node:path"
import { Runtime } from "superstep"
import { makeFolder } from "../durable/folder.mjs"
import { answerSome, oneRun, waitingRun, workflows } from "./runs.mjs"

async function openFile() {
  const { sqliteStore } = await import("@superstep/store-sqlite")
  return sqliteStore({ path: join(makeFolder(), "soak.db") })
}

const stores = {
  "no store": async () => ({ run: (index) => oneRun(index, undefined), close: () => undefined }),
  "store file": async () => {
    const store = await openFile()
    return { run: (index) => oneRun(index, store), close: () => store.close() }
  },
  // Every run waits for a person who has not come yet; a runtime puts it aside.
  "waiting runs": async () => {
    const store = await openFile()
    const runtime = new Runtime({ store, workflows, maxIdle: 100 })
    return {
      run: () => waitingRun(runtime),
      async close() {
        await answerSome(runtime)
        await runtime.close()
        await store.close()
      },
    }
  },
}

export const storeNames = Object.keys(stores)

export function openStore(name) {
  return stores[name]()
}
