import { expect, test } from "vitest"
import { manualClock, settled } from "../../testing/index.ts"
import { type LimitedPlace, type ProviderLimit, providerLimits } from "./provider-limits.ts"

function gate(limit: ProviderLimit) {
  const clock = manualClock(1_000_000)
  const limits = providerLimits({ acme: limit }, { clock })
  const inside: string[] = []
  const places = new Map<string, LimitedPlace>()
  const enter = (name: string, tokens = 1, signal = new AbortController().signal) => {
    const place = limits.enter({ provider: "acme", model: "acme/m", tokens, signal })
    return place?.then((given) => {
      inside.push(name)
      places.set(name, given)
    })
  }
  return {
    clock,
    limits,
    inside,
    enter,
    leave: (name: string, tokens?: number, hold?: number) => places.get(name)?.leave(tokens, hold),
  }
}

test("a provider without limits has no gate", () => {
  const { limits } = gate({ concurrency: 1 })
  const { signal } = new AbortController()
  expect(limits.enter({ provider: "other", model: "other/m", tokens: 1, signal })).toBeUndefined()
})

test("the number of concurrent calls is limited, first come, first served (L1)", async () => {
  const { enter, leave, inside } = gate({ concurrency: 2 })
  for (const name of ["a", "b", "c", "d"]) enter(name)
  await settled()
  expect(inside).toEqual(["a", "b"])
  leave("b")
  await settled()
  expect(inside).toEqual(["a", "b", "c"])
  leave("a")
  leave("c")
  await settled()
  expect(inside).toEqual(["a", "b", "c", "d"])
})

test("leaving twice frees one slot (L2)", async () => {
  const { enter, leave, inside } = gate({ concurrency: 1 })
  for (const name of ["a", "b", "c"]) enter(name)
  await settled()
  leave("a")
  leave("a")
  await settled()
  expect(inside).toEqual(["a", "b"])
})

test("a minute's requests may begin at once after a pause, then as many as a minute refills", async () => {
  const { clock, enter, leave, inside } = gate({ perMinute: 2 })
  for (const name of ["a", "b", "c", "d"]) enter(name)
  await settled()
  leave("a")
  leave("b")
  await clock.advance(29_999)
  expect(inside).toEqual(["a", "b"])
  await clock.advance(1)
  expect(inside).toEqual(["a", "b", "c"])
  await clock.advance(29_999)
  expect(inside).toEqual(["a", "b", "c"])
  await clock.advance(1)
  expect(inside).toEqual(["a", "b", "c", "d"])
  expect(clock.pending).toBe(0)
})

test("the tokens of a minute are estimated first, and corrected by the reply", async () => {
  const { clock, enter, leave, inside } = gate({ tokensPerMinute: 1_000 })
  enter("a", 600)
  enter("b", 600)
  await settled()
  expect(inside).toEqual(["a"])
  leave("a", 400)
  await settled()
  expect(inside).toEqual(["a", "b"])
  // Nothing is left, and a minute's tokens are owed.
  leave("b", 5_000)
  enter("c", 100)
  await clock.advance(65_999)
  expect(inside).toEqual(["a", "b"])
  await clock.advance(1)
  expect(inside).toEqual(["a", "b", "c"])
})

test("a small call does not overtake a large one (L1), and one larger than a minute's tokens is admitted alone (L3)", async () => {
  const { clock, enter, inside } = gate({ tokensPerMinute: 1_000 })
  enter("a", 100)
  enter("huge", 50_000)
  enter("small", 1_000)
  await settled()
  expect(inside).toEqual(["a"])
  await clock.advance(6_000)
  expect(inside).toEqual(["a", "huge"])
  await clock.advance(59_999)
  expect(inside).toEqual(["a", "huge"])
  await clock.advance(1)
  expect(inside).toEqual(["a", "huge", "small"])
})

test("limits of a model come before those of its provider, and limits of one pool count together", async () => {
  const clock = manualClock(1_000_000)
  const limits = providerLimits(
    { acme: { concurrency: 1 }, "acme/big": { concurrency: 1 }, other: { concurrency: 1, pool: "acme" } },
    { clock },
  )
  const inside: string[] = []
  const enter = (model: string) =>
    limits
      .enter({ provider: model.split("/")[0] ?? "", model, tokens: 1, signal: new AbortController().signal })
      ?.then(() => inside.push(model))
  for (const model of ["acme/small", "acme/tiny", "acme/big", "other/m"]) enter(model)
  await settled()
  expect(inside).toEqual(["acme/small", "acme/big"])
})

test("a call that stops waiting leaves the queue, and the others move up (L2)", async () => {
  const { clock, enter, leave, inside } = gate({ concurrency: 1, tokensPerMinute: 1_000 })
  const controller = new AbortController()
  enter("a", 500)
  const waiting = enter("large", 900, controller.signal)
  enter("c", 400)
  await settled()
  leave("a", 500)
  await settled()
  expect(inside).toEqual(["a"])
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" })
  await settled()
  expect(inside).toEqual(["a", "c"])
  expect(clock.pending).toBe(0)
})

test("a call that was aborted before it waits takes no slot", async () => {
  const { enter, inside } = gate({ concurrency: 1 })
  await expect(enter("a", 1, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" })
  await enter("b")
  expect(inside).toEqual(["b"])
})

test("an abort after admission has no effect", async () => {
  const { enter, inside } = gate({ concurrency: 1 })
  const controller = new AbortController()
  await enter("a", 1, controller.signal)
  enter("b")
  controller.abort()
  await settled()
  expect(inside).toEqual(["a"])
})

test("a clock that is set back a year does not block calls for a year", async () => {
  const { clock, enter, leave, inside } = gate({ perMinute: 1 })
  await enter("a")
  clock.set(0)
  await enter("b")
  expect(inside).toEqual(["a", "b"])
  clock.set(1_000_000)
  leave("a", 1, 50_000)
  clock.set(0)
  leave("b", 1, 7_000)
  clock.set(60_000)
  await enter("c")
  expect(inside).toEqual(["a", "b", "c"])
})

test("a Retry-After blocks all calls until then (L4), including later ones", async () => {
  const { clock, enter, leave, inside } = gate({ concurrency: 2 })
  for (const name of ["a", "b", "c"]) enter(name)
  await settled()
  leave("a", undefined, 7_000)
  enter("d")
  // A shorter wait does not shorten it.
  leave("b", undefined, 1_000)
  await clock.advance(6_999)
  expect(inside).toEqual(["a", "b"])
  await clock.advance(1)
  expect(inside).toEqual(["a", "b", "c", "d"])
  expect(clock.pending).toBe(0)
})

test.each([
  [{ concurrency: 0 }, 'The limit "concurrency" of "acme" must be a whole number of at least 1.'],
  [{ perMinute: 1.5 }, 'The limit "perMinute" of "acme" must be a whole number of at least 1.'],
  [
    { rpm: 5 },
    '"rpm" is not a limit of a provider; the limits are concurrency, perMinute and tokensPerMinute.',
  ],
])("invalid limits are rejected: %j", (limit, message) => {
  expect(() => providerLimits({ acme: limit as ProviderLimit })).toThrow(message)
})
