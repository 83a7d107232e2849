/** Live events across real processes on PostgreSQL: this process watches, another one executes. */
import { join } from "node:path"
import { type RunEvent, Runtime } from "superstep"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../bundled.ts"
import { Process } from "../crash/processes.ts"
import type { TalkerCommand, TalkerMessage } from "../live/talker.ts"
import { openStore } from "../stores.ts"
import { newAddress } from "./schemas.test-support.ts"

test("a watcher in another process sees live events as they happen, in order with the journaled ones", async () => {
  const address = newAddress()
  const program = bundled(join(import.meta.dirname, "../live/talker.ts"))
  const store = openStore(address)
  const runtime = new Runtime({ store, workflows: [] })
  const holder = new Process<TalkerMessage>(program, { path: address })
  onTestFinished(async () => {
    holder.signal("SIGKILL")
    await runtime.close()
    await store.close()
  })
  const send = (command: TalkerCommand) => holder.send(JSON.stringify(command))
  await holder.waitFor(({ type }) => type === "ready")
  send({ type: "start", runId: "r", workflow: "talks" })
  await holder.waitFor(({ type }) => type === "began")
  const seen: RunEvent[] = []
  const names = () => seen.flatMap((event) => (event.type === "custom" ? [event.name] : []))
  let round = 0
  send({ type: "emit", from: 0, count: 10 })
  for await (const event of runtime.get("r").events({ after: 0 })) {
    seen.push(event)
    // Seen before anything else happens: nothing but the channel can have brought it.
    if (event.type === "custom" && names().length === (round + 1) * 10)
      send({ type: "step", name: `${round}` })
    else if (event.type === "step.recorded") {
      round += 1
      send(round === 3 ? { type: "finish" } : { type: "emit", from: round * 10, count: 10 })
    }
  }
  expect(names()).toEqual(Array.from({ length: 30 }, (_, i) => `${i}`))
  expect(seen.at(-1)?.type).toBe("run.finished")
  expect(seen.filter(({ type }) => type === "live.gap")).toEqual([])
})
