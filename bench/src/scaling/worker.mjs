// A worker: claims and executes runs from "go" to "stop", and reports how many have ended and the processor time it took.
import { Runtime } from "superstep"
import { openStore, waitingFlow } from "./flow.mjs"

const REPORT_EVERY = 10

const [address, taskMs, concurrency] = process.argv.slice(2)
const store = await openStore(address)
await store.report()
let count = 0
const runtime = new Runtime({
  store,
  workflows: [waitingFlow(Number(taskMs))],
  concurrency: Number(concurrency),
  onRun({ type }) {
    if (type === "ended") count++
  },
  onProblem({ error }) {
    throw error
  },
})
let before = process.cpuUsage()
let timer
process.on("message", async (message) => {
  if (message === "go") {
    before = process.cpuUsage()
    timer = setInterval(() => process.send({ count }), REPORT_EVERY)
    await runtime.recover()
    return
  }
  clearInterval(timer)
  const { user, system } = process.cpuUsage(before)
  await runtime.close()
  await store.close()
  process.send({ cpu: (user + system) / 1_000 }, () => process.disconnect())
})
process.send({ ready: true })
