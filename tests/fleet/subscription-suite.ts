/** Processes that subscribe the same consumer, and are killed: no event is lost, and each run's events come in order. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bundled } from "../bundled.ts"
import { Process } from "../crash/processes.ts"
import { sized } from "../sized.ts"
import { openStore } from "../stores.ts"
import type { SubscriberJob, SubscriberMessage } from "./subscriber.ts"

const RUNS = sized({ check: 12, short: 100, full: 200 })
const KILLS = sized({ check: 2, short: 10, full: 20 })

type Subscriber = Process<SubscriberMessage>

let folder = ""
let program = ""
const all: Subscriber[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-subscriptions-"))
  program = bundled(join(import.meta.dirname, "subscriber.ts"))
})
afterAll(() => {
  for (const one of all) one.signal("SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})

function subscriber(job: SubscriberJob): Subscriber {
  const made = new Process<SubscriberMessage>(program, job)
  all.push(made)
  return made
}

async function kill(one: Subscriber): Promise<void> {
  one.signal("SIGKILL")
  await one.end()
}

const handled = (processes: readonly Subscriber[]) =>
  processes.flatMap(({ messages }) =>
    messages.flatMap((one) => (one.type === "handled" ? [`${one.runId} ${one.event}`] : [])),
  )

/** `addressOf` gives a store that no other test has. */
export function subscriptionTests(addressOf: (folder: string, name: string) => string): void {
  test("an event whose handler was killed is delivered to the next process, and those before it are not", async () => {
    const address = addressOf(folder, "killed")
    const base = { address, consumer: "c" }
    const first = subscriber({ ...base, name: "run", runs: 1 })
    await first.waitFor((one) => one.type === "handled" && one.event === "run.ended")
    const store = openStore(address)
    while ((await store.subscriptions.consumers())[0]?.lag !== 0) await later()
    const holding = subscriber({ ...base, name: "hold", runs: 1 })
    const isHold = (one: SubscriberMessage) => one.type === "began" && one.runId === "hold 0"
    await first.waitFor(isHold)
    await holding.waitFor(({ type }) => type === "executed")
    expect(holding.messages.some(({ type }) => type === "began")).toBe(false)
    await kill(first)
    await holding.waitFor(isHold)
    expect(holding.messages.filter(({ type }) => type === "began")).toEqual([
      { type: "began", runId: "hold 0", event: "run.started" },
    ])
    expect(await store.subscriptions.consumers()).toMatchObject([{ lag: 2 }])
    await store.close()
  })

  test(`no event is lost while ${KILLS} of the processes that subscribe a consumer are killed`, async () => {
    const address = addressOf(folder, "many")
    const base = { address, consumer: "c", runs: RUNS }
    const spare = subscriber({ ...base, name: "spare" })
    for (let i = 0; i < KILLS; i++) {
      const one = subscriber({ ...base, name: `victim ${i}` })
      await one.waitFor(({ type }) => type === "executed")
      await kill(one)
    }
    await spare.waitFor(({ type }) => type === "executed")
    const store = openStore(address)
    while ((await store.subscriptions.consumers())[0]?.lag !== 0) await later()
    await store.close()
    const names = ["spare", ...Array.from({ length: KILLS }, (_, i) => `victim ${i}`)]
    const expected = names.flatMap((name) =>
      Array.from({ length: RUNS }, (_, n) => [`${name} ${n} run.started`, `${name} ${n} run.ended`]).flat(),
    )
    const processes = all.filter(
      ({ messages }) => !messages.some((one) => "runId" in one && one.runId === "hold 0"),
    )
    // The store has the position of the consumer before this process has read what the consumer's process printed.
    const missing = () => {
      const seen = new Set(handled(processes))
      return expected.filter((one) => !seen.has(one))
    }
    await expect.poll(missing).toEqual([])
    for (const one of processes) {
      const own = handled([one])
      for (const [at, name] of own.entries()) {
        if (!name.endsWith("run.ended")) continue
        const began = own.indexOf(name.replace("run.ended", "run.started"))
        expect(began).toBeLessThan(at)
      }
    }
    console.log(`${KILLS} kills, ${expected.length} events, none lost`)
  })
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}
