import { Ajv } from "ajv"
import { expect, test } from "vitest"
import { z } from "zod"
import { jsonSchemaFor } from "./json-schema-for.ts"

interface Step {
  readonly name: string
  readonly steps?: readonly Step[] | undefined
}

const step: z.ZodType<Step> = z
  .strictObject({
    name: z.string().describe("What it is called."),
    steps: z.array(z.lazy(() => step)).optional(),
  })
  .meta({ id: "step", description: "One step." })

const schema = z.strictObject({
  times: z.int().default(1).describe("How often."),
  env: z.record(z.string(), z.string()).optional(),
  first: step,
})

test("a JSON Schema for editors has its name, the descriptions, and no noise", () => {
  const made = jsonSchemaFor(schema, { id: "https://example.org/steps.json", title: "Steps" })
  expect(made).toEqual({
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "https://example.org/steps.json",
    title: "Steps",
    type: "object",
    properties: {
      times: { type: "integer", default: 1, description: "How often." },
      env: { type: "object", additionalProperties: { type: "string" } },
      first: { $ref: "#/definitions/step" },
    },
    required: ["first"],
    additionalProperties: false,
    definitions: {
      step: {
        type: "object",
        description: "One step.",
        properties: {
          name: { type: "string", description: "What it is called." },
          steps: { type: "array", items: { $ref: "#/definitions/step" } },
        },
        required: ["name"],
        additionalProperties: false,
      },
    },
  })
})

test("the JSON Schema accepts what the validator accepts", () => {
  const check = new Ajv().compile(
    jsonSchemaFor(schema, { id: "https://example.org/steps.json", title: "Steps" }),
  )
  for (const value of [
    { first: { name: "a" } },
    { times: 2, env: { A: "b" }, first: { name: "a", steps: [{ name: "b" }] } },
    { first: { name: "a", steps: [{ nam: "b" }] } },
    { times: 1.5, first: { name: "a" } },
    { first: { name: 1 } },
    {},
  ]) {
    expect(check(value)).toBe(schema.safeParse(value).success)
  }
})
