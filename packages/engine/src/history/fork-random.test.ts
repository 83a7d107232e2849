import fc from "fast-check"
import { expect, test } from "vitest"
import { randomGraph } from "../core/random-graph.test-support.ts"
import { isSuperstepError, type RunEvent } from "../index.ts"
import { Run, replayEvents } from "../runtime/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { randomProgram } from "../testing/simulation/random-program.test-support.ts"
import { fork, history } from "./index.ts"
import { anyDay, playDay } from "./random-day.test-support.ts"

test("a run of any graph can be forked at any record before its end, and continues from there", async () => {
  await fc.assert(
    fc.asyncProperty(randomGraph, fc.nat(), anyDay, fc.nat(), async (spec, salt, how, place) => {
      const { workflow } = randomProgram(spec, salt, true)
      const store = await playDay(workflow, 1, how)
      const past = await store.read("day", 0)
      const at = { seq: 1 + (place % past.length) }
      const clock = manualClock(50_000)
      try {
        await fork(store, "day", { at, runId: "f", clock })
      } catch (error) {
        if (isSuperstepError(error, "RUN_OVER")) return
        throw error
      }
      const seq = (await store.run("f"))?.forkOf?.seq ?? 0
      const before = await (await history(store, "day")).stateAt({ seq })
      const after = await (await history(store, "f")).stateAt({ seq: (await store.run("f"))?.seq ?? 0 })
      const { requests: _, at: __, seq: ___, tasks: ____, ...same } = before
      expect(after).toMatchObject(same)
      expect(after.requests.map(({ id }) => id)).toEqual(before.requests.map(({ id }) => id))
      expect(await store.requests({ runId: "f" })).toMatchObject(after.requests)

      const run: Run = Run.resume(workflow.program, "f", { store, clock })
      for (let i = 0; i < 50; i++) {
        await settled()
        for (const { id } of await store.requests({ runId: "f" }))
          await run.respond(id, "so").catch(() => undefined)
        await clock.advanceToNext()
      }
      expect((await run.result).status).not.toBe("waiting")
      const records = await store.read("f", 0)
      const events: RunEvent[] = await replayEvents(store, records, 0)
      expect(events.at(-1)?.seq).toBe(records.at(-1)?.events)
      expect(records.slice(0, seq)).toEqual(past.slice(0, seq))
    }),
    { numRuns: 60 },
  )
})
