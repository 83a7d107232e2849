/** A reply in JSON fits the schema that was asked for (3, see offline-model.ts): for any schema that has a value. */
import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"
import { expect, test } from "vitest"
import { fillIn, system, user } from "./asking.test-support.ts"
import { fitsFormat } from "./formats.ts"
import { schemas } from "./random-schema.test-support.ts"

const FORMATS = ["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "duration"]

function validator(schema: object) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true })
  for (const format of FORMATS) ajv.addFormat(format, (value: string) => fitsFormat(format, value))
  return ajv.compile(schema)
}

const PROMPTS = [
  [user("What does it cost to send order ABC-1234 to Berlin by 2024-05-06?")],
  [user("")],
  [
    system("You are a router."),
    user(
      "Context:\n[1] guide.md\nShipping takes 3 days. It costs 7.50 euro.\n\nQuestion: how long does shipping take?",
    ),
  ],
]

test("any schema is filled in with JSON that a validator accepts, and the same each time", async () => {
  await fc.assert(
    fc.asyncProperty(schemas, fc.constantFrom(...PROMPTS), async (schema, prompt) => {
      const value = await fillIn(prompt, schema)
      const check = validator(schema)
      expect({ valid: check(value), errors: check.errors, value }).toMatchObject({ valid: true })
      expect(await fillIn(prompt, schema)).toEqual(value)
    }),
    { numRuns: 200 },
  )
})
