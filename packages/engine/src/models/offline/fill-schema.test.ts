import { expect, test } from "vitest"
import { assistant, fillIn, say, system, text, used, user } from "./asking.test-support.ts"

const object = (properties: object, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
})

const ABOUT =
  "[1] about.md\nAcme was founded in 1987 by Mary Jones in Oslo. It has 240 employees. Write to info@acme.example.\n\nQuestion: "

test.each([
  ["The feedback is positive", "positive"],
  ["A negative one: it broke after a day", "negative"],
  ["It is a phone", "neutral"],
])("an enum gets the value that the request names, else a neutral one: %s", async (request, sentiment) => {
  const schema = object({ sentiment: { enum: ["negative", "positive", "neutral"] } })
  expect(await fillIn([system("Classify the sentiment."), user(request)], schema)).toEqual({ sentiment })
})

test("labels are matched by their descriptions in the instructions", async () => {
  const schema = object({ next: { type: "string", enum: ["alpha", "beta"] } })
  const instructions = system("Choose who is next.\n- alpha: questions on ships\n- beta: questions on trains")
  expect(await fillIn([instructions, user("When does the train leave?")], schema)).toEqual({ next: "beta" })
})

test("fields are filled in from the context by their kind", async () => {
  const schema = object({
    founder: text,
    founded_year: { type: "integer" },
    employees: { type: "integer" },
    email: { type: "string", format: "email" },
    sources: { type: "array", items: text },
  })
  expect(await fillIn(`${ABOUT}Who founded Acme?`, schema)).toEqual({
    founder: "Mary Jones",
    founded_year: 1987,
    employees: 240,
    email: "info@acme.example",
    sources: ["about.md"],
  })
})

test("an answer field has the text answer", async () => {
  const value = await fillIn(`${ABOUT}Who founded Acme?`, object({ answer: text }))
  expect(value).toEqual({ answer: "Acme was founded in 1987 by Mary Jones in Oslo. [1]" })
})

test("verdicts end the work: results are sufficient, reviews are accepted", async () => {
  const gaps = object({
    research_complete: { type: "boolean" },
    outstanding_gaps: { type: "array", items: text },
  })
  expect(await fillIn(`${ABOUT}Who founded Acme?`, gaps)).toEqual({
    research_complete: true,
    outstanding_gaps: [],
  })
  expect(await fillIn("Who founded Acme?", gaps)).toEqual({ research_complete: false, outstanding_gaps: [] })
  const review = object({ decision: { enum: ["revise", "accept"] } })
  expect(await fillIn("Review the answer: tea is hot", review)).toEqual({ decision: "accept" })
  const ledger = object({
    is_request_satisfied: { type: "boolean" },
    is_in_loop: { type: "boolean" },
    is_progress_being_made: { type: "boolean" },
  })
  const said = [user("Write a poem"), assistant("Roses are red.")]
  expect(await fillIn(said, ledger)).toEqual({
    is_request_satisfied: true,
    is_in_loop: false,
    is_progress_being_made: true,
  })
})

test("booleans are read from the request", async () => {
  const schema = object({ is_urgent: { type: "boolean" } })
  expect(await fillIn("This is urgent: the server is down", schema)).toEqual({ is_urgent: true })
  expect(await fillIn("This is not urgent", schema)).toEqual({ is_urgent: false })
  expect(await fillIn("A question on tea", schema)).toEqual({ is_urgent: false })
})

test("an optional field is omitted unless the request mentions it", async () => {
  const schema = object({ query: text, limit: { type: "integer" }, url: text }, ["query"])
  expect(await fillIn("Find tea", schema)).toEqual({ query: "Find tea" })
  expect(await fillIn("Find tea on https://t.example/x with limit 3", schema)).toMatchObject({
    limit: 3,
    url: "https://t.example/x",
  })
})

test("a string with a pattern is searched for in the context before it is invented", async () => {
  const schema = object({ order: { type: "string", pattern: "^[A-Z]{2}-\\d{3}$" } })
  expect(await fillIn("Where is my order XY-123?", schema)).toEqual({ order: "XY-123" })
  expect(await fillIn("Where is my order?", schema)).toEqual({
    order: expect.stringMatching(/^[A-Z]{2}-\d{3}$/),
  })
})

test("keys of Object.prototype are keys like any other", async () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"const":1},"toString":{"const":2}},"required":["__proto__","toString"]}',
  )
  expect(await say("Hi", { responseFormat: { type: "json", schema } })).toBe('{"__proto__":1,"toString":2}')
})

test("an unsatisfiable schema still gets a value", async () => {
  for (const schema of [
    false,
    { type: "string", enum: [] },
    { allOf: [{ type: "string" }, { type: "number" }] },
    { $ref: "#/nowhere" },
    { $ref: "#" },
    { type: "array", items: false, minItems: 2 },
    { type: "object", required: ["a"], properties: { a: { $ref: "#" } } },
  ]) {
    await expect(fillIn("Hi", schema)).resolves.toBeDefined()
  }
})

test("JSON without a schema is an object with the answer", async () => {
  expect(await say(`${ABOUT}Who founded Acme?`, { responseFormat: { type: "json" } })).toMatch(
    /^\{"answer":"Acme was founded/,
  )
})

test("missing values are taken from earlier messages", async () => {
  const schema = object({ city: { enum: ["Rome", "Oslo"] } })
  const prompt = [
    user("Is it Oslo?"),
    assistant("Yes"),
    user(
      "Your answer does not match the schema: it is not JSON. Answer again, with JSON that matches the schema and nothing else.",
    ),
  ]
  expect(await fillIn(prompt, schema)).toEqual({ city: "Oslo" })
})

test("after tool calls the JSON comes from their results", async () => {
  const prompt = [
    user("How many employees has Acme?"),
    ...used("lookup", { name: "Acme" }, "Acme has 240 employees."),
  ]
  expect(await fillIn(prompt, object({ employees: { type: "integer" } }))).toEqual({ employees: 240 })
})
