/** Questions of runs as forms for the user of the client, in both revisions, with the official client. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { node, type OpenRequest, type Workflow, workflow } from "@superstep/engine"
import { describe, expect, onTestFinished, test } from "vitest"
import { z } from "zod"
import { answerOf, formOf } from "./forms.ts"
import { serveMcp } from "./serve-mcp.ts"
import { approval } from "./workflows.test-support.ts"

type Era = "2025-11-25" | "2026-07-28"
type Reply = { action: "accept" | "decline" | "cancel"; content?: Record<string, string | number | boolean> }

interface Shown {
  readonly message: string
  readonly requestedSchema: { readonly properties: Readonly<Record<string, unknown>> }
}

/** A client that shows forms: `reply` is its user. */
async function clientWith(era: Era, served: Workflow, reply?: (form: Shown) => Reply): Promise<Client> {
  const mcp = serveMcp({ workflows: [served] }, { transport: "http" })
  const http = createServer((request, response) => mcp.handle(request, response))
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      capabilities: reply === undefined ? {} : { elicitation: { form: {} } },
      ...(era === "2026-07-28" && { versionNegotiation: { mode: { pin: era } } }),
    },
  )
  if (reply !== undefined) {
    client.setRequestHandler("elicitation/create", ({ params }) => reply(params as unknown as Shown))
  }
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(url))
  expect(client.getNegotiatedProtocolVersion()).toBe(era)
  onTestFinished(async () => {
    await client.close()
    await mcp.close()
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  return client
}

const wizard = workflow("wizard")
  .chain(
    node("ask", async (item: string, ctx) => {
      const { size, gift } = await ctx.ask({
        prompt: `Which ${item}?`,
        schema: z.object({ size: z.number().min(1).max(9), gift: z.boolean().optional() }),
      })
      const name = await ctx.ask<string>("For whom?")
      return `${item} ${size} for ${name}${gift ? ", wrapped" : ""}`
    }),
  )
  .build()

describe.each<Era>(["2025-11-25", "2026-07-28"])("a client of %s", (era) => {
  test("R2 that shows forms gets each question as one, and one result for the whole run", async () => {
    const forms: Shown[] = []
    const replies: Reply[] = [
      { action: "accept", content: { size: 3, gift: true } },
      { action: "accept", content: { answer: "Ada" } },
    ]
    const client = await clientWith(era, wizard, (form) => {
      forms.push(form)
      return replies[forms.length - 1] as Reply
    })
    const messages: (string | undefined)[] = []
    const result = await client.callTool(
      { name: "wizard", arguments: { input: "ring" } },
      { onprogress: ({ message }) => void messages.push(message) },
    )
    expect(result.structuredContent).toMatchObject({
      status: "completed",
      outputs: ["ring 3 for Ada, wrapped"],
    })
    expect(forms[0]).toMatchObject({
      message: "Which ring?",
      requestedSchema: {
        properties: { size: { type: "number", minimum: 1, maximum: 9 }, gift: { type: "boolean" } },
        required: ["size"],
      },
    })
    expect(forms[1]).toMatchObject({
      message: "For whom?",
      requestedSchema: { properties: { answer: { type: "string" } } },
    })
    expect(messages).toContain("ask asks: For whom?")
    expect(messages.at(-1)).toBe("ask finished")
  })

  test("R2 whose user sends an invalid answer is asked again, with the reason", async () => {
    const messages: string[] = []
    const client = await clientWith(era, wizard, ({ message }) => {
      messages.push(message)
      const size = messages.length === 1 ? 12 : 5
      return { action: "accept", content: message.includes("For whom?") ? { answer: "Bob" } : { size } }
    })
    const result = await client.callTool({ name: "wizard", arguments: { input: "ring" } })
    expect(result.structuredContent).toMatchObject({ outputs: ["ring 5 for Bob"] })
    expect(messages[1]).toMatch(/size[\s\S]*Which ring\?/)
  })

  test.each<Reply["action"]>(["decline", "cancel"])(
    "R2 whose user chooses %s leaves the run waiting",
    async (action) => {
      const client = await clientWith(era, approval, () => ({ action }))
      const { structuredContent, isError } = await client.callTool({
        name: "approval",
        arguments: { input: "x" },
      })
      expect(isError).toBeUndefined()
      expect(structuredContent).toMatchObject({ status: "waiting", requests: [{ prompt: "Do it?" }] })
      const run = (structuredContent as { runId: string }).runId
      const done = await client.callTool({ name: "answer_run", arguments: { run, answer: true } })
      expect(done.structuredContent).toMatchObject({ status: "completed", outputs: ["did x"] })
    },
  )

  test("R2 that shows no forms gets the question as the result", async () => {
    const client = await clientWith(era, approval)
    const result = await client.callTool({ name: "approval", arguments: { input: "x" } })
    expect(result.structuredContent).toMatchObject({ status: "waiting", requests: [{ prompt: "Do it?" }] })
    expect(JSON.stringify(result.content)).toContain("answer_run")
  })
})

const asked = (schema?: unknown) => ({ id: "q", prompt: "Well?", schema }) as unknown as OpenRequest

test.each([
  [{ type: "boolean" }, { answer: { type: "boolean" } }, { answer: true }, true],
  [{ enum: ["a", "b"] }, { answer: { type: "string", enum: ["a", "b"] } }, { answer: "b" }, "b"],
  [
    { type: "object", properties: { at: { type: "string", format: "date", pattern: "^2" } } },
    { at: { type: "string", format: "date" } },
    { at: "2026-01-01" },
    { at: "2026-01-01" },
  ],
])("the form of %j has fields of the protocol only", (schema, properties, content, answer) => {
  expect(formOf(asked(schema)).requestedSchema.properties).toEqual(properties)
  expect(answerOf(asked(schema), content)).toEqual(answer)
})

test.each([
  { type: "array", items: { type: "string" } },
  { type: "object", properties: { who: { type: "object", properties: { name: { type: "string" } } } } },
  { anyOf: [{ type: "string" }, { type: "null" }] },
  true,
])("the form of %j has one field, for JSON", (schema) => {
  const { answer } = formOf(asked(schema)).requestedSchema.properties
  expect(answer).toMatchObject({ type: "string", title: "JSON" })
  expect(answerOf(asked(schema), { answer: '["x"]' })).toEqual(["x"])
  expect(answerOf(asked(schema), { answer: "no JSON" })).toBe("no JSON")
})
