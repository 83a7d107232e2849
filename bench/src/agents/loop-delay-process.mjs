// Many durable agents at once in a new process; sends how late its event loop was meanwhile. The plain way asks the same
// model as often, and inserts a row into SQLite for every reply.
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { sqliteStore } from "@superstep/store-sqlite"
import { Runtime } from "superstep"
import { agent } from "superstep/agents"
import { expectAnswer, itemList } from "../answers.mjs"
import { answerParent } from "../child.mjs"
import { openDatabase } from "../durable/database.mjs"
import { makeFolder } from "../durable/folder.mjs"
import { next } from "./calls.mjs"
import { stubModel } from "./stub-model.mjs"

const [way, agents] = [process.argv[2], Number(process.argv[3])]
const calls = 5
const resolution = 1

/** Calls of 1,000 agents take 100 to 500 ms, not all the same and the same in every run; of few agents, less. */
let asked = 0
const model = stubModel(calls - 1, () => sleep((agents / 1_000) * (100 + ((asked++ * 37) % 401))))
const path = join(makeFolder(), "agents.db")

function plain() {
  const database = openDatabase(path)
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE replies (body TEXT)")
  const insert = database.prepare("INSERT INTO replies VALUES (?)")
  return {
    async run() {
      const prompt = [{ role: "user", content: [{ type: "text", text: "go" }] }]
      for (let call = 0; call < calls; call++) {
        const reply = await model.doGenerate({ prompt })
        insert.run(JSON.stringify(reply))
        prompt.push({ role: "tool", content: [] })
      }
      return "done"
    },
    close: () => database.close(),
  }
}

function superstep() {
  const store = sqliteStore({ path })
  const support = agent({ name: "support", model, tools: [next] })
  const runtime = new Runtime({ store, workflows: [support], recover: false })
  return {
    run: async () => (await runtime.start(support, "go")).outputs[0],
    async close() {
      await runtime.close()
      await store.close()
    },
  }
}

const { run, close } = { plain, superstep }[way]()
expectAnswer(way, await run(), "done")
const delay = monitorEventLoopDelay({ resolution })
delay.enable()
for (const answer of await Promise.all(itemList(agents).map(run))) expectAnswer(way, answer, "done")
delay.disable()
await close()
// The timer that measures is itself due after `resolution`.
const late = (nanoseconds) => nanoseconds / 1e6 - resolution
answerParent({ p50: late(delay.percentile(50)), p99: late(delay.percentile(99)), max: late(delay.max) })
