/** What watchers see of work in progress: data as it arrives, and the progress of tools. */
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { tool } from "../tools/index.ts"
import { agent } from "./index.ts"
import { PartialAnswer, partialJson } from "./live-reply.ts"

test("the data of an answer is streamed as it arrives, as typed events", async () => {
  const json = { city: "Rome", days: [1, 2, 3], note: 'a "quoted" word'.repeat(20) }
  const output = z.object({ city: z.string(), days: z.array(z.number()), note: z.string() })
  const trip = agent({ name: "trip", model: scriptedModel([{ json }]), output })
  const seen: unknown[] = []
  for await (const event of trip.stream("Where to?")) {
    if (event.type !== "output.partial") continue
    expect(event).toMatchObject({ agent: "trip", call: "step:model", node: "trip" })
    seen.push(event.value)
  }
  expect(seen.length).toBeGreaterThan(3)
  expect(seen[0]).not.toEqual(json)
  for (const value of seen) expect(json).toMatchObject(withoutOpenEnd(value))
})

/** The part of a value that must not change: an incomplete string may grow. */
function withoutOpenEnd(value: unknown): object {
  const { note: _, city, days } = value as { city?: string; days?: number[]; note?: string }
  return { ...(city === "Rome" ? { city } : {}), ...(days?.length === 3 ? { days } : {}) }
}

test("an agent that answers with text streams no data", async () => {
  const x = agent({ name: "x", model: scriptedModel(['{"a": 1}']) })
  for await (const event of x.stream("go")) expect(event.type).not.toBe("output.partial")
})

describe("incomplete JSON", () => {
  test.each([
    ["", undefined],
    ["Here:", undefined],
    ["{", {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a":1', {}],
    ['{"a":1,', { a: 1 }],
    ['{"a":tr', {}],
    ['{"a":true}', { a: true }],
    ['{"a":"x', { a: "x" }],
    ['{"a":"x\\', { a: "x" }],
    ['{"a":"x\\u00', { a: "x" }],
    ['{"a":"x\\\\', { a: "x\\" }],
    ['{"a":[1,2', { a: [1] }],
    ['{"a":[{"b":"c"},{', { a: [{ b: "c" }, {}] }],
    ['[1, "two', [1, "two"]],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['{"a":1]', { a: 1 }],
  ] as [string, unknown][])("%s", (text, value) => {
    expect(partialJson(text)).toEqual(value)
  })

  test("every prefix has a valid value, and the complete text has the complete value", () => {
    const value = { a: [1, -2.5e3, null, true, 'x\\y\u00e9"z'], b: { c: {}, d: [] }, e: "end" }
    const text = JSON.stringify(value, undefined, 1)
    for (let end = 1; end <= text.length; end++) expect(partialJson(text.slice(0, end))).toBeDefined()
    expect(partialJson(text)).toEqual(value)
  })

  test("long text is parsed rarely, and a retried reply starts over", () => {
    const sent: unknown[] = []
    const partial = new PartialAnswer((value: unknown) => sent.push(value))
    const text = JSON.stringify({ text: "x".repeat(50_000) })
    for (let at = 0; at < text.length; at += 5) partial.take(text.slice(at, at + 5), at)
    expect(sent.length).toBeLessThan(1_000)
    partial.take('{"a":"', 0)
    expect(sent.at(-1)).toEqual({ a: "" })
  })
})

describe("a tool that reports its progress", () => {
  const streamed = async (
    run: (args: { pin?: string | undefined }, call: { progress(data: unknown): void }) => unknown,
  ) => {
    const slow = tool({
      name: "slow",
      description: "Slow.",
      input: z.object({ pin: z.string().optional() }),
      secret: ["pin"],
      run,
    })
    const model = scriptedModel([
      { tool_calls: [{ name: "slow", args: { pin: "4711-0815" }, id: "c1" }] },
      "ok",
    ])
    const events: unknown[] = []
    const stream = agent({ name: "x", model, tools: [slow] }).stream("go")
    for await (const event of stream)
      if (event.type === "tool.progress") events.push([event.tool, event.agent, event.data])
    const { agents } = await stream
    return { events, result: agents?.[0]?.steps[0]?.calls[0]?.result }
  }
  const at = (data: unknown) => [{ id: "c1", name: "slow" }, "x", data]

  test("is seen by watchers", async () => {
    const { events, result } = await streamed((_, { progress }) => {
      progress({ percent: 50 })
      progress("half way")
      return "done"
    })
    expect([events, result]).toEqual([[at({ percent: 50 }), at("half way")], "done"])
  })

  test("may be an async generator, which yields its progress and returns its result", async () => {
    const { events, result } = await streamed(async function* () {
      yield 1
      yield 2
      return "done"
    })
    expect([events, result]).toEqual([[at(1), at(2)], "done"])
  })

  test("shows no secrets", async () => {
    const { events } = await streamed((args, { progress }) => progress(`opening with ${args.pin}`))
    expect(JSON.stringify(events)).not.toContain("4711")
    expect(events).toHaveLength(1)
  })
})
