import { describe, expect, it } from "vitest"
import { z } from "zod"
import type { RunEvent as EngineEvent } from "../runtime/index.ts"
import { json, parseEvent, type RunEvent, runEvent } from "./index.ts"
import { cases, realRun } from "./real-runs.test-support.ts"

const schemas = runEvent.def.options.map(({ shape }) => ({ type: typeOf(shape.type), shape }))

function typeOf<Type>(literal: { readonly def: { readonly values: readonly Type[] } }): Type {
  return literal.def.values[0] as Type
}

const recorded = Promise.all(cases.map(([, make]) => make()))

describe("the schemas and the engine's own types", () => {
  // The compiler proves these; `true` would not compile if a side drifted.
  it("say the same, in both directions", () => {
    const proofs: [Extends<RunEvent, EngineEvent>, Extends<EngineEvent, RunEvent>] = [true, true]
    expect(proofs).toEqual([true, true])
  })

  it("know the same fields, those that may be absent included", () => {
    type Wire = AllRequired<RunEvent>
    type Engine = AllRequired<EngineEvent>
    const proofs: [Extends<Wire, Engine>, Extends<Engine, Wire>] = [true, true]
    expect(proofs).toEqual([true, true])
  })
})

type Extends<A, B> = [A] extends [B] ? true : false
/** With every optional field made necessary, so that one which only one side knows does not pass. */
type AllRequired<T> = T extends string | number | boolean | null
  ? Unbranded<T>
  : T extends readonly (infer Item)[]
    ? readonly AllRequired<Item>[]
    : { [K in keyof T]-?: AllRequired<Exclude<T[K], undefined>> }

type Unbranded<T> = string extends T ? string : number extends T ? number : T

describe("what a real run emits", () => {
  it.each(cases)("is accepted, unchanged: %s", async (_, make) => {
    const { events } = await make()
    expect(events.length).toBeGreaterThan(0)
    for (const event of events) expect(parseEvent(event)).toEqual(event)
  })

  it.each(cases)("is accepted after the wire: %s", async (_, make) => {
    const { events } = await make()
    for (const event of events) expect(parseEvent(JSON.parse(JSON.stringify(event)))).toEqual(event)
  })

  it("is every event that there is a schema for", async () => {
    const seen = new Set((await recorded).flatMap(({ events }) => events.map(({ type }) => type)))
    const known = schemas.map(({ type }) => type)
    expect([...seen].sort()).toEqual([...known].sort())
  })
})

describe("an event that poses as the engine's", () => {
  const sample = async (type: RunEvent["type"]) => {
    const events = (await recorded).flatMap((run) => run.events)
    return structuredClone(events.find((event) => event.type === type)) as unknown as Record<string, unknown>
  }

  it("stays custom, whatever name a handler gives it", async () => {
    const { events } = await realRun("live events")
    const named = events.filter((event) => event.type === "custom" && event.name === "run.finished")
    expect(named).toHaveLength(1)
    expect(events.filter(({ type }) => type === "run.finished")).toHaveLength(1)
  })

  it("is refused with a field more", async () => {
    for (const { type } of schemas) {
      const event = await sample(type)
      expect(refusal({ ...event, extra: 1 })).toContain("extra")
    }
  })

  it("is refused with a field less", async () => {
    for (const { type, shape } of schemas) {
      const event = await sample(type)
      for (const [field, schema] of Object.entries(shape)) {
        if (schema.safeParse(undefined).success) continue
        const { [field]: _, ...rest } = event
        expect(refusal(rest), `${type} without ${field}`).toContain(field)
      }
    }
  })

  it("is refused with the reason in words", async () => {
    const event = await sample("output")
    expect(refusal({ ...event, node: 1 })).toMatch(/node: .*expected string, received number/)
    expect(refusal({ ...event, extra: 1 })).toMatch(/Unrecognized key: "extra"/)
  })

  it("is refused under the name of another", async () => {
    const event = await sample("custom")
    expect(refusal({ ...event, type: "run.finished" })).toContain("status")
    expect(refusal({ ...event, type: "nonsense" })).toContain("type")
  })

  it.each([
    ["a number of its own before the first", { seq: 0 }, "seq"],
    ["half a number", { seq: 1.5 }, "seq"],
    ["a time that is none", { at: Number.NaN }, "at: is NaN"],
    ["a path of other things", { path: [1] }, "path[0]"],
    ["a path deeper than workflows go", { path: Array(501).fill("a#1") }, "path"],
    ["a task before the first", { task: 0 }, "task"],
    ["a value that is no JSON", { value: { list: [1, () => 1] } }, "value.list[1]"],
    ["a class", { value: { when: new Date(0) } }, "value.when"],
    [
      "a key that changes prototypes",
      { value: JSON.parse('{"a":{"__proto__":{"x":1}}}') },
      "value.a.__proto__",
    ],
    ["a prototype for itself", JSON.parse('{"__proto__":{"x":1}}'), "__proto__"],
  ])("is refused with %s", async (_, change, place) => {
    const event = { ...(await sample("output")) }
    for (const [key, value] of Object.entries(change))
      Object.defineProperty(event, key, { value, enumerable: true })
    expect(refusal(event)).toContain(place)
  })

  it("is refused with wrong things inside", async () => {
    const finished = await sample("task.finished")
    expect(refusal({ ...finished, sends: [{ value: 1, route: { nodes: ["a"], also: 1 } }] })).toContain(
      "sends[0].route",
    )
    const usage = await sample("usage.recorded")
    expect(refusal({ ...usage, usage: { usd: -1 } })).toContain("usage.usd")
    expect(refusal({ ...usage, usage: { coins: 1 } })).toContain("coins")
    const failed = await sample("task.failed")
    expect(refusal({ ...failed, error: { code: "A", message: "b", cause: { code: "C" } } })).toContain(
      "error.cause.message",
    )
    const escalated = await sample("request.escalated")
    const { request } = escalated as { request: object }
    expect(refusal({ ...escalated, request: { ...request, escalate: [{ timeout: 1 }] } })).toContain(
      "request.escalate[0].to",
    )
    expect(
      refusal({ ...escalated, request: { ...request, escalate: [{ to: "a", timeout: -1 }] } }),
    ).toContain("request.escalate[0].timeout")
    expect(refusal({ ...escalated, request: { ...request, to: 1 } })).toContain("request.to")
    const forked = await sample("run.forked")
    expect(refusal({ ...forked, from: { runId: "r", seq: 0 } })).toContain("from.seq")
    expect(refusal({ ...forked, from: { seq: 1 } })).toContain("from.runId")
    expect(refusal({ ...forked, state: { a: () => 1 } })).toContain("state.a")
    expect(refusal({ ...forked, later: "soon" })).toContain("later")
    const parked = await sample("task.parked")
    expect(refusal({ ...parked, wait: { kind: "timer" } })).toContain("wait.until")
    expect(refusal({ ...parked, wait: { kind: "weather" } })).toContain("wait.kind")
  })

  it("is refused when its write does not fit its reducer", async () => {
    const written = await sample("state.written")
    expect(refusal({ ...written, reducer: "append", value: "text" })).toContain(
      'value: "append" needs a list',
    )
    expect(refusal({ ...written, reducer: "longest" })).toContain("reducer: is not a built-in reducer")
  })

  it("is refused without a stack overflow, however deep or round it is", async () => {
    const failed = await sample("task.failed")
    let error: Record<string, unknown> = { code: "A", message: "a" }
    const round: Record<string, unknown> = { ...error }
    round.cause = round
    for (let i = 0; i < 100_000; i++) error = { code: "A", message: "a", cause: error }
    expect(refusal({ ...failed, error })).toContain("deeper than")
    expect(refusal({ ...failed, error: round })).toContain("cyclic")
  })

  it.each([[undefined], [null], [1], ["run.started"], [[]], [{}]])("is refused when it is %j", (value) => {
    expect(refusal(value)).toMatch(/^This is not an event of a run/)
  })

  function refusal(value: unknown): string {
    try {
      parseEvent(value)
    } catch (error) {
      expect(error).toMatchObject({ code: "EVENT_INVALID" })
      return (error as Error).message
    }
    throw new Error("it was accepted")
  }
})

describe("the schema of JSON", () => {
  it("takes plain data, as it is", () => {
    const value = { list: [1, "a", null, true, { nested: {} }], absent: undefined }
    expect(json.parse(value)).toBe(value)
  })

  it("refuses everything else, by itself too", () => {
    for (const value of [
      undefined,
      Number.POSITIVE_INFINITY,
      () => 1,
      1n,
      new Map(),
      JSON.parse('{"__proto__":1}'),
    ]) {
      expect(json.safeParse(value).success).toBe(false)
    }
  })

  it("lets the events be published as JSON Schema", () => {
    expect(z.toJSONSchema(runEvent)).toMatchObject({ oneOf: expect.any(Array) })
  })
})
