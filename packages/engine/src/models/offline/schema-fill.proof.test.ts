/** A JSON reply matches the requested schema (3, see offline-model.ts), for any satisfiable schema. */
import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"
import { expect, inject, test } from "vitest"
import { z } from "zod"
import { fillIn, system, user } from "./asking.test-support.ts"
import { schemas } from "./random-schema.test-support.ts"

const FORMATS: Readonly<Record<string, z.ZodType>> = {
  date: z.iso.date(),
  "date-time": z.iso.datetime({ offset: true }),
  time: z.string().regex(/^\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/),
  email: z.email(),
  uri: z.url(),
  uuid: z.uuid(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  hostname: z.hostname(),
  duration: z.iso.duration(),
}

function validator(schema: object) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true })
  for (const [name, format] of Object.entries(FORMATS)) {
    ajv.addFormat(name, (value: string) => format.safeParse(value).success)
  }
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

test("any schema is filled in with JSON that a validator accepts, and the same each time", {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(schemas, fc.constantFrom(...PROMPTS), async (schema, prompt) => {
      const value = await fillIn(prompt, schema)
      const check = validator(schema)
      expect({ valid: check(value), errors: check.errors, value }).toMatchObject({ valid: true })
      expect(await fillIn(prompt, schema)).toEqual(value)
    }),
    { numRuns: inject("isProof") ? 500 : 40 },
  )
})
