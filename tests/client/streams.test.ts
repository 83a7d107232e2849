/** Streams of the client over connections that are cut: S1, S2 and S3 of packages/client/src/events.ts. */
import { setTimeout as sleep } from "node:timers/promises"
import { createClient, type RunEvent } from "@superstep/client"
import { createServer, listen } from "@superstep/server"
import { memoryStore, node, Runtime, workflow } from "superstep"
import { expect, inject, onTestFinished, test } from "vitest"
import { all } from "./all.test-support.ts"
import { tcpProxy } from "./tcp-proxy.test-support.ts"

const CUTS = 100

/** The same numbers for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

async function serve(flow: ReturnType<typeof talking>) {
  const runtime = new Runtime({ store: memoryStore(), workflows: [flow] })
  const server = createServer({ runtime, workflows: [flow as never], heartbeat: 5 })
  const listening = await listen(server, { port: 0 })
  onTestFinished(async () => {
    await listening.close({ grace: 0 })
    await runtime.close()
  })
  return { runtime, listening }
}

/** Speaks tokens, with a journaled step after every tenth, never more than 50 ahead of the listener. */
function talking(heard: () => number, isEnough: () => boolean) {
  const talk = node("talk", async (_: unknown, ctx) => {
    let spoken = 0
    for (; !isEnough(); spoken++) {
      while (spoken - heard() > 50) await sleep(1)
      ctx.emit("token", { number: spoken, text: "→ü😀".repeat(spoken % 7) })
      if (spoken % 10 === 9) await ctx.step(`step ${spoken}`, () => spoken)
    }
    // Live events are gone once the run has ended.
    while (heard() < spoken) await sleep(1)
    return spoken
  })
  return workflow("talking").start(talk).build()
}

const tokensOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "custom" ? [(event.data as { number: number }).number] : []))
const isJournaled = ({ type }: RunEvent) => type !== "custom" && type !== "live.gap"

test.each([
  ["alone", false],
  ["beside one that is not cut", true],
])("a stream that is cut 100 times at random bytes misses and repeats nothing: %s", async (_, isBeside) => {
  const random = randomFrom(inject("seed"))
  let cuts = 0
  const events: RunEvent[] = []
  let heard = 0
  const flow = talking(
    () => heard,
    () => cuts >= CUTS,
  )
  const { listening } = await serve(flow)
  const proxy = await tcpProxy(() => {
    if (cuts >= CUTS) return undefined
    cuts++
    return 1 + Math.floor(random() * 4_000)
  })
  proxy.targets = [listening.port]
  const direct = createClient({ url: listening.url })
  const run = await direct.start("talking", null)
  const beside = isBeside ? all(run.events()) : undefined
  const client = createClient({ url: proxy.url, retry: { delay: 1, maxDelay: 5 } })
  for await (const event of client.get(run.id).events()) {
    events.push(event)
    if (event.type === "custom") heard++
  }
  const { outputs } = await run.result()
  const tokens = tokensOf(events)
  expect(tokens).toEqual(Array.from({ length: outputs[0] as number }, (_, number) => number))
  const numbers = events.filter(isJournaled).map(({ seq }) => seq)
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  expect(events.at(-1)?.type).toBe("run.finished")
  if (beside !== undefined) expect(await beside).toEqual(events)
  console.log(`${cuts} cuts: ${numbers.length} journaled events and ${tokens.length} tokens, once each`)
})

test("a stream that filters types reconnects without repeating", async () => {
  let cuts = 0
  let heard = 0
  const flow = talking(
    () => heard,
    () => cuts >= 20,
  )
  const { listening } = await serve(flow)
  const random = randomFrom(inject("seed"))
  const proxy = await tcpProxy(() => (cuts++ < 20 ? 1 + Math.floor(random() * 3_000) : undefined))
  proxy.targets = [listening.port]
  const run = await createClient({ url: listening.url }).start("talking", null)
  const client = createClient({ url: proxy.url, retry: { delay: 1, maxDelay: 5 } })
  const events: RunEvent[] = []
  for await (const event of client.get(run.id).events({ types: ["custom"] })) {
    events.push(event)
    heard++
  }
  expect(events.every(({ type }) => type === "custom")).toBe(true)
  expect(tokensOf(events)).toEqual(events.map((_, index) => index))
})

test("a stream ends with its signal, and with its loop", async () => {
  const flow = talking(
    () => 0,
    () => false,
  )
  const { runtime, listening } = await serve(flow)
  const client = createClient({ url: listening.url })
  const run = await client.start("talking", null)
  const stop = new AbortController()
  const reading = (async () => {
    for await (const event of run.events({ signal: stop.signal })) if (event.type === "custom") stop.abort()
  })()
  await expect(reading).rejects.toMatchObject({ name: "AbortError" })
  for await (const event of run.events()) if (event.type === "custom") break
  await expect(client.get("none").events().next()).rejects.toMatchObject({ code: "RUN_UNKNOWN", status: 404 })
  await runtime.cancel(run.id)
})
