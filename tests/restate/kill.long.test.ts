/** Workers on Restate that die in the middle of handlers and steps: runs of every kind end as if nothing had happened. */
import { type ChildProcess, fork } from "node:child_process"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { RestateRuntime, registerWorker } from "@superstep/restate"
import * as fc from "fast-check"
import { memoryStore } from "superstep"
import { expect, inject, test } from "vitest"
import { bundled } from "../bundled.ts"
import { comeToEnd } from "../crash/come-to-end.ts"
import { type ScenarioName, scenarios } from "../crash/scenarios/index.ts"
import { newAddress } from "../postgres/schemas.test-support.ts"
import { openStore } from "../stores.ts"
import { balancer } from "./balancer.ts"

const SEED = inject("seed")
const WORKERS = 2
const KILLS = 20
const ROUNDS = 3
/** Not those whose runs see what others of their thread left. */
const NAMES = (Object.keys(scenarios) as ScenarioName[]).filter((name) => name !== "threads")

test(`${ROUNDS * NAMES.length} runs of every kind survive workers that kill themselves`, {
  timeout: 300_000,
}, async () => {
  const { ingress, admin } = inject("restate")
  const [address, service] = [newAddress(), `kill-${randomUUID()}`]
  const program = bundled(join(import.meta.dirname, "scenario-worker.ts"))
  const deaths = fc.sample(fc.integer({ min: 1, max: 30 }), { seed: SEED, numRuns: KILLS })
  const ports: (number | undefined)[] = Array.from({ length: WORKERS })
  const children: ChildProcess[] = []
  let kills = 0
  let isOver = false
  const start = async (place: number): Promise<void> => {
    const args = [address, ingress, service, `machine-${place}`, String(deaths.shift() ?? 0)]
    const child = fork(program, args, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
    children[place] = child
    child.once("exit", () => {
      ports[place] = undefined
      if (isOver) return
      kills++
      void start(place)
    })
    await new Promise<void>((resolve) => {
      child.once("message", (port) => {
        ports[place] = port as number
        resolve()
      })
      child.once("exit", () => resolve())
    })
  }
  await Promise.all(ports.map((_, place) => start(place)))
  const front = await balancer(ports)
  await registerWorker({ admin, url: `http://127.0.0.1:${front.port}` })
  const store = openStore(address)
  const all = NAMES.map((name) => scenarios[name](() => undefined))
  const workflows = all.map(({ workflow }) => workflow)
  const options = { store, workflows, restate: ingress, service, lease: 2_000, maxTakeovers: 1_000 }
  const runtime = new RestateRuntime(options)
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      all.map(async (scenario, i) => {
        const { workflow, input, run } = scenario
        const expected = await comeToEnd(
          scenario,
          workflow.run(input as never, { ...run, store: memoryStore() }),
        )
        const outcome = await comeToEnd(scenario, runtime.start(workflow, input as never, run))
        const where = `SEED=${SEED}, ${NAMES[i]}, round ${round}`
        expect(JSON.parse(JSON.stringify(outcome)), where).toEqual(JSON.parse(JSON.stringify(expected)))
      }),
    )
  }
  expect(kills).toBeGreaterThan(0)
  console.log(`${kills} workers killed themselves, SEED=${SEED}`)
  isOver = true
  for (const child of children) child.kill("SIGKILL")
  front.close()
  await runtime.close()
  await store.close()
})
