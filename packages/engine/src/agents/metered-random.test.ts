/**
 * Random concurrent branches, retries, fallbacks, time limits, cancellations and crashes: a provider receives no more
 * requests than the budget allows, and the usage includes each of them.
 */
import { expect, inject, test } from "vitest"
import { node, workflow } from "../index.ts"
import { apiError, FINISH, textDelta } from "../models/call/driven-model.test-support.ts"
import type { Model } from "../models/index.ts"
import { manualClock, settled, simulate } from "../testing/index.ts"
import { agent } from "./index.ts"

const CASES = inject("isProof") ? 300 : 25

/** A small generator: the same numbers for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return (sides) => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % sides
  }
}

/** Answers, rejects, fails, stays silent or stops in the middle. */
function provider(roll: (sides: number) => number, count: () => void, modelId: string): Model {
  return {
    specificationVersion: "v3",
    provider: "acme",
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("only streams are requested")),
    async doStream() {
      count()
      const how = roll(6)
      if (how === 0) throw apiError(500, "Oops")
      if (how === 1) throw apiError(429, "Slow", { responseHeaders: { "retry-after-ms": "150" } })
      return {
        stream: new ReadableStream({
          start(controller) {
            if (how === 2) return
            controller.enqueue(textDelta("x".repeat(40)))
            if (how === 3) return controller.error(new TypeError("terminated"))
            if (how === 4) return
            controller.enqueue(FINISH)
            controller.close()
          },
        }),
      }
    },
  }
}

function office(roll: (sides: number) => number, count: () => void) {
  const clerks = Array.from({ length: 3 }, (_, i) =>
    agent({
      name: `clerk${i}`,
      model: [provider(roll, count, "a"), provider(roll, count, "b")],
      calling: {
        random: () => 0,
        retry: { attempts: 1 + roll(3), delay: 50, maxDelay: 200 },
        firstTokenTimeout: 200,
        idleTimeout: 200,
        ...(roll(2) === 0 && { timeout: 300 }),
      },
      retry: { attempts: 1 + roll(3), delay: 0 },
      ...(roll(2) === 0 && { timeout: 250 }),
      ...(roll(3) === 0 && { limits: { modelCalls: 2 } }),
    }),
  )
  const split = node("split", (text: string) => text)
  const nested = clerks.map((clerk, i) => (roll(2) === 0 ? clerk : clerk.asNode({ id: `in${i}` } as never)))
  return workflow("office")
    .start(split)
    .fanOut(split, nested as never[])
    .build()
}

test("without crashes the number of requests equals the usage", async () => {
  for (let at = 0; at < CASES; at++) {
    const seed = (inject("seed") as number) + at
    const roll = dice(seed)
    let requests = 0
    const modelCalls = 1 + roll(6)
    const clock = manualClock()
    const run = office(roll, () => requests++).stream("go", {
      clock,
      budget: { modelCalls },
      ...(roll(3) === 0 && { timeout: 400 }),
    })
    const watching = (async () => {
      for await (const _ of run);
    })().catch(() => undefined)
    let isOver = false
    const result = run.result.finally(() => {
      isOver = true
    })
    const cancelAt = roll(4) === 0 ? roll(10) : -1
    for (let i = 0; i < 60 && !isOver; i++) {
      if (i === cancelAt) await run.cancel("enough")
      await clock.advance(50)
      await settled()
    }
    const { usage, status } = await result
    await watching
    expect({ seed, status, requests }).toEqual({ seed, status, requests: usage.modelCalls ?? 0 })
    expect(requests).toBeLessThanOrEqual(modelCalls)
  }
})

test("with crashes there are no more requests than the usage, and never more than the budget", async () => {
  for (let at = 0; at < CASES; at++) {
    const seed = (inject("seed") as number) + at
    const roll = dice(seed)
    let requests = 0
    const modelCalls = 2 + roll(5)
    const { result } = await simulate(
      office(roll, () => requests++),
      "go",
      { seed, faults: { crash: [{ after: 1 + roll(6) }, 3 + roll(6)] }, run: { budget: { modelCalls } } },
    )
    const used = result.usage.modelCalls ?? 0
    expect(used, `seed ${seed}`).toBeLessThanOrEqual(modelCalls)
    expect(requests, `seed ${seed}`).toBeLessThanOrEqual(used)
  }
})
