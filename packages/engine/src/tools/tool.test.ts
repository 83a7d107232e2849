import { describe, expect, test } from "vitest"
import { z } from "zod"
import type { Schema } from "../index.ts"
import type { Approval } from "./approval.ts"
import { callContext } from "./call-context.test-support.ts"
import { tool } from "./tool.ts"

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number().default(1) }),
  run: ({ a, b }) => a + b,
})
const base = { name: "t", description: "Does it.", run: () => null }

describe("a tool", () => {
  test("shows the model its schema, and checks arguments", async () => {
    expect(add.parameters).toMatchObject({
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number", default: 1 } },
      required: ["a"],
    })
    expect(add.parameters).not.toHaveProperty("$schema")
    const parsed = await add.parse({ a: 2 })
    expect(parsed).toEqual({ ok: true, args: { a: 2, b: 1 } })
    expect(add.run({ a: 2, b: 3 } as never, callContext())).toBe(5)
  })

  test("reports to the model which argument is invalid, and why", async () => {
    const parsed = await add.parse({ a: "two" })
    expect(parsed).toEqual({ ok: false, reason: expect.stringMatching(/^a: .*number/) })
  })

  test("accepts no arguments without an input schema", async () => {
    const ping = tool(base)
    expect(await ping.parse({})).toEqual({ ok: true, args: {} })
    expect(await ping.parse({ x: 1 })).toEqual({ ok: false, reason: '"x" is not a known property' })
    expect(await ping.parse([])).toMatchObject({ ok: false })
  })

  test("accepts a raw JSON Schema", async () => {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
    const one = tool({ ...base, input: { jsonSchema: schema } })
    expect(one.parameters).toEqual(schema)
    expect(await one.parse({ n: 1 })).toEqual({ ok: true, args: { n: 1 } })
    expect(await one.parse({ n: "1" })).toEqual({ ok: false, reason: "n: must be integer" })
  })

  test("rejects arguments that a schema accepts but a journal does not", async () => {
    const loose = tool({ ...base, input: z.looseObject({}) })
    const parsed = await loose.parse(JSON.parse('{ "a": { "__proto__": { "admin": true } } }'))
    expect(parsed).toEqual({ ok: false, reason: "a.__proto__ is a key that is not allowed" })
  })

  test("supports asynchronous schemas", async () => {
    const slow = tool({ ...base, input: z.object({ a: z.string().refine(async (a) => a !== "taken") }) })
    expect(await slow.parse({ a: "free" })).toMatchObject({ ok: true })
    expect(await slow.parse({ a: "taken" })).toMatchObject({ ok: false })
  })

  test("reports an error that its schema throws, synchronously or not, to the model instead of ending the agent", async () => {
    const thrower = (validate: Schema["~standard"]["validate"]): Schema => ({
      "~standard": { version: 1, vendor: "test", validate },
    })
    const parameters = { type: "object" }
    const now = tool({
      ...base,
      parameters,
      input: thrower(() => {
        throw new Error("boom")
      }),
    })
    const later = tool({ ...base, parameters, input: thrower(() => Promise.reject(new Error("boom"))) })
    for (const one of [now, later]) {
      expect(await one.parse({})).toEqual({ ok: false, reason: "they could not be checked: boom" })
    }
  })

  test("rejects invalid options", () => {
    const bare: Schema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } }
    const wrong: [object, RegExp][] = [
      [{ name: "" }, /Invalid tool name ""/],
      [{ name: "has space" }, /letters, digits/],
      [{ name: "x".repeat(65) }, /at most 64/],
      [{ name: undefined }, /Invalid tool name undefined/],
      [{ description: "  " }, /set a description/],
      [{ run: "echo" }, /set run\(args, call\)/],
      [{ timeout: 0 }, /timeout must be a number of milliseconds/],
      [{ timeout: Number.NaN }, /timeout must be a number of milliseconds/],
      [{ retry: { attempts: 0 } }, /retry.attempts/],
      [{ secret: "token" }, /secret must be a list/],
      [{ approval: "sometimes" }, /approval must be "always"/],
      [{ approval: { denny: ["*"] } }, /"denny" is none of them/],
      [{ approval: { deny: "*" } }, /approval.deny must be a list/],
      [{ input: z.string() }, /must be an object, not "string"/],
      [{ input: z.array(z.string()) }, /must be an object/],
      [{ input: bare }, /pass it as `parameters`/],
      [{ input: {} }, /Standard Schema/],
      [{ input: { jsonSchema: { type: "object", when: new Date(0) } } }, /not plain JSON/],
    ]
    for (const [given, message] of wrong) {
      expect(() => tool({ ...base, ...given } as never)).toThrow(message)
      expect(() => tool({ ...base, ...given } as never)).toThrow(
        expect.objectContaining({ code: "TOOL_INVALID" }),
      )
    }
  })

  test("infers the types of its arguments from the schema, and accepts a toolset's approval", () => {
    const handedOn: Approval | undefined = { deny: ["add"] }
    tool({
      ...base,
      input: z.object({ path: z.string() }),
      approval: (args) => (args.path.startsWith("/etc") ? "deny" : "allow"),
      run: ({ path }) => path.length,
    })
    const made = tool({ ...base, input: z.object({ path: z.string() }), approval: handedOn })
    expect(made.approval).toBe(handedOn)
  })
})

test("a tool whose schema has a pattern without a linear-time match is rejected with its position", () => {
  const schema = { type: "object", properties: { a: { type: "string", pattern: "(?<=x)y" } } }
  expect(() =>
    tool({ name: "t", description: "d", input: { jsonSchema: schema }, run: () => 1 }),
  ).toThrowError(
    expect.objectContaining({
      code: "TOOL_INVALID",
      message: expect.stringMatching(/^Tool "t": input\.jsonSchema\.properties\.a\.pattern: .*look-around/),
    }),
  )
})
