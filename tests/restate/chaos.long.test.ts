/**
 * Three Restate nodes and three workers, killed at random while runs are started and answered: every run completes, no step whose
 * result is recorded runs again, and no answer is lost.
 */
import { type ChildProcess, fork } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RestateRuntime, registerWorker } from "@superstep/restate"
import * as fc from "fast-check"
import type { RunId } from "superstep"
import { afterAll, beforeAll, expect, inject, test } from "vitest"
import { bundled } from "../bundled.ts"
import { newAddress } from "../postgres/schemas.test-support.ts"
import { openStore } from "../stores.ts"
import { type Balancer, balancer } from "./balancer.ts"
import { type RestateServer, startRestate } from "./start-restate.ts"
import { trip } from "./trip.ts"

const WORKERS = 3
const SEED = inject("seed")
/** `KILLS=110 npx vitest run --mode proof tests/restate/chaos` takes some minutes. */
const kills = Number(process.env.KILLS ?? 12)
const RUNS = 12 * kills

let folder = ""
let cluster: RestateServer
let proxies: Balancer[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-chaos-"))
  cluster = await startRestate({
    nodes: 3,
    // Each node is reached through a proxy, which can cut it off from the others.
    advertised: async (_, port) => {
      const proxy = await balancer([port])
      proxies.push(proxy)
      return proxy.port
    },
  })
}, 60_000)
afterAll(async () => {
  await cluster?.stop()
  for (const proxy of proxies) proxy.close()
  proxies = []
  rmSync(folder, { recursive: true, force: true })
})

class Worker {
  readonly #args: readonly string[]
  #child: ChildProcess | undefined

  constructor(...args: readonly string[]) {
    this.#args = args
  }
  get pid(): number | undefined {
    return this.#child?.pid
  }
  /** Resolves with its port. */
  start(): Promise<number> {
    const program = bundled(join(import.meta.dirname, "chaos-worker.ts"))
    const child = fork(program, [...this.#args], {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    })
    this.#child = child
    return new Promise((resolve, reject) => {
      child.once("message", (port) => resolve(port as number))
      child.once("exit", () => reject(new Error("A worker did not start.")))
    })
  }
  async kill(): Promise<void> {
    const child = this.#child as ChildProcess
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await ended
  }
}

test(`${RUNS} runs survive ${kills} kills of nodes and workers`, {
  timeout: 60_000 + kills * 6_000,
}, async () => {
  const address = newAddress()
  const trail = join(folder, "trail")
  const service = `chaos-${randomUUID()}`
  const ingresses = cluster.nodes.map(({ ingress }) => ingress)
  const workers = Array.from(
    { length: WORKERS },
    (_, i) => new Worker(address, trail, ingresses.join(","), service, `machine-${i}`),
  )
  const front = await balancer(await Promise.all(workers.map((worker) => worker.start())))
  await registerWorker({ admin: cluster.admin, url: `http://127.0.0.1:${front.port}` })
  const store = openStore(address)
  const flow = trip(
    () => undefined,
    () => [],
  )
  const runtime = new RestateRuntime({ store, workflows: [flow], restate: ingresses, service, lease: 3_000 })

  // A cluster that answers may still choose the leaders of its partitions: each takes a message when it has one.
  const takesMessage = async (ingress: string | undefined): Promise<void> => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"run":"none"}' }
    while (!(await fetch(`${ingress}/${service}/activate/send`, init)).ok) await pause(100)
  }
  await Promise.all(Array.from({ length: 24 }, (_, i) => takesMessage(ingresses[i % 3])))

  // Load: runs are started and answered all the time.
  const ids: RunId[] = []
  const answers = new Map<RunId, string>()
  let isOver = false
  const start = async () => {
    while (ids.length < RUNS && !isOver) {
      ids.push(await runtime.enqueue(flow, ids.length))
      await pause(60)
    }
  }
  const answer = async () => {
    while (!isOver) {
      for (const { runId, id } of await runtime.requests({ limit: 20 })) {
        const value = `answer to ${runId}`
        const taken = await runtime.respond(runId, id, value).then(
          () => true,
          (error) => {
            // Another attempt, whose outcome this process did not see, was taken.
            if (/REQUEST_(?:ANSWERED|UNKNOWN)|RUN_OVER/.test(error.code)) return answers.has(runId)
            if (error.code === "MAIL_UNREAD") return true
            throw error
          },
        )
        if (taken) answers.set(runId, value)
      }
      await pause(100)
    }
  }
  const load = Promise.all([start(), answer(), answer()])
  load.catch(() => undefined)

  // Kills, one after the other. A node comes back before the next one dies: two of three decide.
  const moved: number[] = []
  const probed: number[] = []
  const choices = fc.sample(fc.tuple(fc.nat(5), fc.nat(400)), { seed: SEED, numRuns: kills })
  for (const [victim, wait] of choices) {
    await pause(100 + wait)
    if (victim < 3) {
      const worker = workers[victim] as Worker
      const { pid } = worker
      const holder = (await store.holders()).find((one) => one.pid === pid)?.id
      const at = Date.now()
      await worker.kill()
      front.targets[victim] = undefined
      const held = async () =>
        (await store.runs({ limit: 500 })).filter((run) => run.holder === holder && run.executing)
      const before = (await held()).length
      const next = worker.start()
      if (holder !== undefined && before > 0) {
        while ((await held()).length > 0) await pause(50)
        moved.push(Date.now() - at)
      }
      front.targets[victim] = await next
    } else {
      const node = cluster.nodes[victim - 3] as RestateServer["nodes"][number]
      const at = Date.now()
      await node.kill()
      // Everything still gets in and comes back.
      const before = ids.length
      const [runId] = [await runtime.enqueue(flow, -1, { runId: `probe-${randomUUID()}` })]
      while ((await store.run(runId))?.status !== "waiting") await pause(25)
      probed.push(Date.now() - at)
      ids.push(runId)
      expect(ids.length).toBeGreaterThan(before)
      await node.start()
    }
  }

  // A node that is cut off from the others is alive, and cannot decide anything.
  const cutOff = proxies[2] as Balancer
  cutOff.freeze()
  const at = Date.now()
  const inside = await runtime.enqueue(flow, -2, { runId: `probe-${randomUUID()}` })
  ids.push(inside)
  while ((await store.run(inside))?.status !== "waiting") await pause(25)
  const partitioned = Date.now() - at
  cutOff.thaw()

  // Everything ends.
  const open = async () => (await store.runs({ status: ["queued", "running", "waiting"], limit: 10 })).length
  while (ids.length < RUNS || (await open()) > 0) await pause(100)
  isOver = true
  await load
  const lines = readFileSync(trail, "utf8").trim().split("\n")
  expect(lines.filter((line) => line.startsWith("again "))).toEqual([])
  const unlike = []
  for (const runId of ids) {
    const row = await store.run(runId)
    const [last] = (await store.read(runId, 0)).flatMap(({ entry }) =>
      entry.type === "task.finished" ? entry.sends.filter(({ route }) => "output" in route) : [],
    )
    const isRight = row?.status === "completed" && String(last?.value).endsWith(` by answer to ${runId}`)
    if (!isRight) unlike.push([runId, row?.status, last?.value])
  }
  expect(unlike).toEqual([])
  const visits = lines
    .filter((line) => line.startsWith("visit "))
    .map((line) => line.split(" ").slice(1, 4).join(" "))
  // start, left and right have two steps each.
  expect(new Set(visits).size).toBe(6 * ids.length)
  console.log(
    `SEED=${SEED}: ${kills} kills (${moved.length} of workers with runs, ${probed.length} of nodes), ${ids.length} runs, ` +
      `${visits.length - 6 * ids.length} steps ran again that were in progress when their worker died, 0 that were recorded; ` +
      `runs of a dead worker moved in ${summary(moved)}; with a dead node a run was under way in ${summary(probed)}, ` +
      `with one cut off in ${partitioned} ms; problems: ${lines.filter((line) => line.startsWith("problem ")).length}`,
  )
  await Promise.all(workers.map((worker) => worker.kill()))
  front.close()
  await runtime.close()
  await store.close()
})

function summary(times: readonly number[]): string {
  if (times.length === 0) return "-"
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
  return `${at(0.5)} ms (p50), ${at(0.95)} ms (p95), ${sorted.at(-1)} ms at most`
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
