/** A run that kills its process is found and parked; the runs beside it take no harm. */
import { expect, test } from "vitest"
import { field, until, type Worker } from "./workers.ts"

const INNOCENT = { ask: 20, nap: 20, long: 4 } as const

test("a run that keeps killing its process is quarantined, and none of the runs beside it is", {
  timeout: 240_000,
}, async () => {
  const { store, worker } = field({ lease: 1_000 })
  const names = Object.entries(INNOCENT).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, i) => [name as keyof typeof INNOCENT, `${name}-${i}`] as const),
  )
  let current: Worker = await worker()
  for (const [name, runId] of names) current.start(name, runId)
  for (const [, runId] of names) await current.began(runId)
  current.start("deadly", "killer", 200)
  let deaths = 0
  for (;;) {
    await current.process.end()
    deaths++
    const [killer] = await store.runs({ status: ["quarantined"] })
    if (killer !== undefined) break
    expect(deaths, "processes that died before the killer was known").toBeLessThan(12)
    current = await worker()
    await until(async () => (await isOver(current)) || (await store.run("killer"))?.status === "quarantined")
    if ((await store.run("killer"))?.status === "quarantined") break
  }
  expect((await store.runs({ status: ["quarantined"] })).map(({ runId }) => runId)).toEqual(["killer"])
  for (const { runId, status, takeovers, executing } of await store.runs({ limit: 100 })) {
    if (runId === "killer") continue
    const isIdle = !runId.startsWith("long")
    expect(status, runId).toMatch(isIdle ? "waiting" : "running")
    if (isIdle) expect([runId, takeovers, executing]).toEqual([runId, 0, false])
  }
  console.log(`${deaths} processes died before the run that killed them was quarantined`)

  // They all finish while the killer is parked.
  for (const [name, runId] of names) {
    if (name !== "ask") continue
    current.send({ type: "respond", id: runId, runId, value: "yes" })
    await current.process.waitFor(
      (message) => message.type === "responded" && message.id === runId && message.code === "ok",
    )
  }
  current.send({ type: "finish" })
  await until(async () => {
    const done = await store.runs({ status: ["completed"], limit: 100 })
    return done.length === INNOCENT.ask + INNOCENT.long
  })
  expect((await store.run("killer"))?.status).toBe("quarantined")

  // Released and fixed, it finishes too.
  current.process.signal("SIGKILL")
  await current.process.end()
  await worker({ isFixed: true })
  expect(await store.unquarantine("killer")).toBe(true)
  await until(async () => (await store.run("killer"))?.status === "completed")
})

async function isOver({ process }: Worker): Promise<boolean> {
  return process.isOver
}

test("a process that is killed from outside takes no waiting run into suspicion", async () => {
  const { store, worker } = field({ lease: 1_000 })
  let current = await worker()
  current.start("ask", "ask")
  current.start("nap", "nap")
  for (const runId of ["ask", "nap"]) {
    await until(async () => (await store.run(runId))?.executing === false)
  }
  for (let i = 0; i < 6; i++) {
    current.process.signal("SIGKILL")
    await current.process.end()
    current = await worker()
    // It is free, or held again; in no case does it count.
    for (const runId of ["ask", "nap"]) {
      expect(await store.run(runId)).toMatchObject({ takeovers: 0, status: "waiting" })
    }
  }
})
