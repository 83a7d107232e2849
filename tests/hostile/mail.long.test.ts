/** Answers from several processes while holders die: each sender learns what became of its own answer. */
import { expect, test } from "vitest"
import { field, until, type Worker } from "./workers.ts"

const QUESTIONS = 40

test("when several processes answer one question at once, one answer counts, and only its sender gets a success", {
  timeout: 240_000,
}, async () => {
  const { store, worker } = field({ lease: 1_000 })
  let holder = await worker()
  const runs = Array.from({ length: QUESTIONS }, (_, i) => `q${i}`)
  for (const runId of runs) holder.start("ask", runId)
  for (const runId of runs) await until(async () => (await store.run(runId))?.status === "waiting")
  const senders: [string, Worker][] = [
    ["a", await worker()],
    ["b", await worker()],
    ["c", await worker({ machine: "another" })],
  ]
  for (const [i, runId] of runs.entries()) {
    for (const [name, sender] of senders) {
      sender.send({ type: "respond", id: `${name}-${runId}`, runId, value: name })
    }
    // The process that holds the runs dies in the middle, again and again.
    if (i % 10 === 9) {
      holder.process.signal("SIGKILL")
      await holder.process.end()
      holder = await worker()
    }
  }
  const codes = new Map<string, string>()
  for (const [name, sender] of senders) {
    for (const runId of runs) {
      const id = `${name}-${runId}`
      const message = await sender.process.waitFor((one) => one.type === "responded" && one.id === id)
      codes.set(id, message.type === "responded" ? message.code : "")
    }
  }
  for (const runId of runs) {
    await until(async () => (await store.run(runId))?.status === "completed")
    const answers = (await store.read(runId, 0)).flatMap(({ entry }) =>
      entry.type === "request.answered" ? [entry] : [],
    )
    expect(answers).toHaveLength(1)
    const accepted = senders
      .filter(([name]) => codes.get(`${name}-${runId}`) === "ok")
      .map(([name]) => `${name}-${runId}`)
    expect(accepted, runId).toEqual([answers[0]?.by])
  }
  const others = new Set([...codes.values()].filter((code) => code !== "ok"))
  for (const code of others) expect(["REQUEST_ANSWERED", "RUN_OVER"]).toContain(code)
})
