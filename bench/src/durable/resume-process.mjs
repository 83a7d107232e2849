// A new process that makes a run that waits (`wait`), or takes one up again (`resume`) and tells how long that took.
import { performance } from "node:perf_hooks"
import { expectAnswer } from "../answers.mjs"
import { answerParent } from "../child.mjs"
import { emptyWriteAheadLog } from "./database.mjs"
import { message } from "./message.mjs"
import { loadSystem } from "./systems/index.mjs"

const [what, systemName, path, size, growing] = process.argv.slice(2)
const options = { steps: Number(size), growing: growing === "true" }
const system = await loadSystem(systemName)

async function wait() {
  await system.wait(path, options)
  emptyWriteAheadLog(path)
}

async function resume() {
  // Drivers load their native part when they open their first file: that is import, and not resuming.
  const other = await system.open(`${path}.other`, { full: false })
  await other.close()
  const start = performance.now()
  const { lastMessage, close } = await system.resume(path, options)
  const elapsed = performance.now() - start
  expectAnswer(systemName, lastMessage.content, message(options.steps - 1).content)
  await close()
  return elapsed
}

const elapsed = await (what === "wait" ? wait() : resume())
answerParent(elapsed ?? "made")
