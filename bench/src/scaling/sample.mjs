// One sample: runs are queued, then workers are let loose on them, until the last run has ended.
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Runtime } from "superstep"
import { expectAnswer } from "../answers.mjs"
import { measuredEnvironment } from "../environment.mjs"
import { openStore, waitingFlow } from "./flow.mjs"

const AT_ONCE = 500

/** @returns the seconds that it took, and the milliseconds of processor time for each run, in the workers and in the server */
export async function sampleFleet({
  store: { address: newAddress, remove, cpu },
  runs,
  workers,
  concurrency,
  taskMs,
}) {
  const address = newAddress()
  await enqueue(address, runs, taskMs)
  const fleet = await Promise.all(
    Array.from({ length: workers }, () => startWorker([address, taskMs, concurrency])),
  )
  const cpuBefore = cpu()
  const began = performance.now()
  await new Promise((resolve) => {
    const ended = fleet.map(() => 0)
    fleet.forEach((worker, i) => {
      worker.on("message", ({ count }) => {
        if (count === undefined) return
        ended[i] = count
        if (ended.reduce((sum, one) => sum + one) >= runs) resolve()
      })
      worker.send("go")
    })
  })
  const seconds = (performance.now() - began) / 1_000
  const cpuAfter = cpu()
  const workerCpu = (await Promise.all(fleet.map(stop))).reduce((sum, one) => sum + one) / runs
  await expectAllCompleted(address, runs)
  await remove(address)
  const serverCpu = cpuBefore === undefined ? undefined : (cpuAfter - cpuBefore) / runs
  return { seconds, workerCpu, serverCpu }
}

async function enqueue(address, runs, taskMs) {
  const store = await openStore(address)
  const flow = waitingFlow(taskMs)
  const runtime = new Runtime({ store, workflows: [flow], recover: false })
  for (let n = 0; n < runs; n += AT_ONCE) {
    const count = Math.min(AT_ONCE, runs - n)
    await Promise.all(Array.from({ length: count }, (_, i) => runtime.enqueue(flow, n + i)))
  }
  await runtime.close()
  await store.close()
}

function startWorker(args) {
  const worker = fork(fileURLToPath(new URL("./worker.mjs", import.meta.url)), args.map(String), {
    env: measuredEnvironment,
    execArgv: [...process.execArgv, "--no-warnings"],
  })
  return new Promise((resolve, reject) => {
    worker.once("message", () => resolve(worker))
    worker.once("exit", (code) => reject(new Error(`A worker ended with ${code}`)))
  })
}

/** Its milliseconds of processor time. */
function stop(worker) {
  return new Promise((resolve) => {
    let taken = 0
    worker.on("message", ({ cpu }) => {
      if (cpu !== undefined) taken = cpu
    })
    worker.once("exit", () => resolve(taken))
    worker.send("stop")
  })
}

async function expectAllCompleted(address, runs) {
  const store = await openStore(address)
  const left = await store.runs({ status: ["queued", "running", "waiting", "failed", "cancelled"], limit: 1 })
  const completed = await store.runs({ status: ["completed"], limit: runs })
  expectAnswer("runs that completed", completed.length - left.length, runs)
  await store.close()
}
