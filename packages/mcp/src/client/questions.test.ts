/** What servers ask during a call, in both revisions: of a person, of the agent's model, of the options. */
import { memoryStore, Runtime, type Store, workflow } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { type Model, scriptedModel } from "@superstep/engine/models"
import { describe, expect, onTestFinished, test } from "vitest"
import { type McpToolsetOptions, mcpToolset } from "./mcp-toolset.ts"
import { questionerOnHttp } from "./questioner.test-support.ts"

const REVISIONS = ["2025-11-25", "2026-07-28"] as const

/** A process with an agent that calls one tool of the server. */
function process({
  store,
  model,
  url,
  ...options
}: { store: Store; model: Model; url: string } & McpToolsetOptions) {
  const toolset = mcpToolset({ name: "shop", url }, options)
  const buyer = agent({ name: "buyer", model, tools: [toolset] })
  const shopping = workflow("shopping").chain(buyer).build()
  const runtime = new Runtime({ store, workflows: [shopping] })
  const end = async () => {
    await runtime.close()
    await toolset.close()
  }
  onTestFinished(end)
  return { runtime, workflow: shopping, end }
}

const calling = (tool: string) => scriptedModel([{ tool_calls: [{ name: tool, args: {} }] }, "Done."])

/** What the model read as the result of its tool. */
function resultSeen(model: ReturnType<typeof calling>): string {
  return JSON.stringify(model.calls.at(-1)?.options.prompt.at(-1))
}

describe.each(REVISIONS)("a server of revision %s", (revision) => {
  test("Q1 asks a person: the question is a request with the server's form, and its answer is checked", async () => {
    const { url } = await questionerOnHttp()
    const model = calling("order")
    const { runtime, workflow: shopping } = process({ store: memoryStore(), model, url, revision })
    const { runId, requests } = await runtime.start(shopping, "Buy a ring.").result
    expect(requests).toMatchObject([
      {
        prompt: 'The MCP server "shop" asks: Which size?',
        data: { kind: "mcp-elicitation", server: "shop", tool: "order" },
        schema: { properties: { size: { type: "integer", minimum: 1, maximum: 9, title: "Size" } } },
      },
    ])
    const request = requests[0]?.id ?? ""
    for (const invalid of [
      { size: 12 },
      { note: "no size" },
      { size: 3, other: 1 },
      "3",
      { decline: false },
    ]) {
      await expect(runtime.respond(runId, request, invalid)).rejects.toMatchObject({
        code: "REQUEST_INVALID",
      })
    }
    await runtime.respond(runId, request, { size: 3, note: "gold" })
    expect(await runtime.get(runId).result).toMatchObject({ status: "completed", outputs: ["Done."] })
    expect(resultSeen(model)).toContain('ordered {\\"size\\":3,\\"note\\":\\"gold\\"}')
  })

  test("Q1 learns that the person declined", async () => {
    const { url } = await questionerOnHttp()
    const model = calling("order")
    const { runtime, workflow: shopping } = process({ store: memoryStore(), model, url, revision })
    const { runId, requests } = await runtime.start(shopping, "Buy a ring.").result
    await runtime.respond(runId, requests[0]?.id ?? "", { decline: true })
    expect(await runtime.get(runId).result).toMatchObject({ status: "completed" })
    expect(resultSeen(model)).toContain("declined")
  })

  test("Q2 a question survives the process that asked it, and nobody is asked twice", async () => {
    let orders = 0
    const { url } = await questionerOnHttp({ onOrder: () => orders++ })
    const store = memoryStore()
    const model = calling("order")
    const first = process({ store, model, url, revision })
    const { runId, requests } = await first.runtime.start(first.workflow, "Buy a ring.").result
    await first.end()
    const second = process({ store, model, url, revision })
    await second.runtime.respond(runId, requests[0]?.id ?? "", { size: 4 })
    expect(await second.runtime.get(runId).result).toMatchObject({ status: "completed", outputs: ["Done."] })
    expect(resultSeen(model)).toContain('ordered {\\"size\\":4}')
    expect(await second.runtime.requests({ runId, outcome: ["answered"] })).toHaveLength(1)
    // An earlier revision cannot continue a call: it is made again.
    expect(orders).toBe(revision === "2026-07-28" ? 1 : 2)
  })

  test("uses the agent's model once a person approved it, and the use counts against the run's budget", async () => {
    const { url } = await questionerOnHttp()
    const model = scriptedModel([
      { tool_calls: [{ name: "summarize", args: {} }], usage: { input: 10, output: 1 } },
      { text: "A story.", usage: { input: 5, output: 2 } },
      "Done.",
    ])
    const { runtime, workflow: shopping } = process({
      store: memoryStore(),
      model,
      url,
      revision,
      sampling: true,
    })
    const { runId, requests } = await runtime.start(shopping, "Summarize.").result
    expect(requests).toMatchObject([
      {
        prompt: 'Allow the MCP server "shop" to use the model of "buyer"?',
        data: {
          kind: "mcp-sampling",
          messages: [{ role: "user", text: "Summarize: long story" }],
          instructions: "Be brief.",
          maxTokens: 1_000,
        },
      },
    ])
    await runtime.respond(runId, requests[0]?.id ?? "", { approve: true })
    const { status, usage } = await runtime.get(runId).result
    expect(status).toBe("completed")
    expect(usage).toMatchObject({ modelCalls: 3, iterations: 2 })
    expect(JSON.stringify(model.calls[1]?.options.prompt)).toContain("Be brief.")
    expect(JSON.stringify(model.calls[1]?.options)).not.toContain('Summarize."')
    expect(resultSeen(model as never)).toContain("A story.")
  })

  test("may not use the model when a person denies it, and when it is not allowed at all", async () => {
    const { url } = await questionerOnHttp()
    const model = calling("summarize")
    const { runtime, workflow: shopping } = process({
      store: memoryStore(),
      model,
      url,
      revision,
      sampling: true,
    })
    const { runId, requests } = await runtime.start(shopping, "Summarize.").result
    await runtime.respond(runId, requests[0]?.id ?? "", { approve: false, reason: "too dear" })
    expect(await runtime.get(runId).result).toMatchObject({ status: "completed", usage: { modelCalls: 2 } })
    expect(resultSeen(model)).toContain("too dear")
    const refused = calling("summarize")
    const other = process({ store: memoryStore(), model: refused, url, revision })
    const { status, usage } = await other.runtime.start(other.workflow, "Summarize.").result
    expect({ status, modelCalls: usage.modelCalls }).toEqual({ status: "completed", modelCalls: 2 })
    expect(resultSeen(refused)).toMatch(/error-text/)
  })

  test("may not use the model past the budget of the run", async () => {
    const { url } = await questionerOnHttp()
    const call = { name: "summarize", args: {} }
    const model = scriptedModel([{ tool_calls: [call, call] }, "A story.", "Another one.", "Done."])
    const sampling = { approval: "never" as const }
    const store = memoryStore()
    const { runtime, workflow: shopping } = process({ store, model, url, revision, sampling })
    const run = runtime.start(shopping, "Summarize.", { budget: { modelCalls: 2 } })
    expect(await run.result).toMatchObject({ status: "limit", error: { code: "BUDGET_EXCEEDED" } })
    expect(model.calls).toHaveLength(2)
  })

  test("gets the folders of the options as roots, and no others", async () => {
    const { url } = await questionerOnHttp()
    const model = calling("folders")
    const { runtime, workflow: shopping } = process({
      store: memoryStore(),
      model,
      url,
      revision,
      roots: ["/work space"],
    })
    await runtime.start(shopping, "Look.").result
    expect(resultSeen(model)).toContain("file:///work%20space")
  })

  test("Q4 cannot make a person open anything but a web page", async () => {
    const { url } = await questionerOnHttp()
    const model = calling("visit")
    const { runtime, workflow: shopping } = process({ store: memoryStore(), model, url, revision })
    const { status } = await runtime.start(shopping, "Pay.").result
    expect(status).toBe("completed")
    expect(resultSeen(model)).toContain("not a web page")
  })
})

test("Q2 a call of an earlier revision whose session is lost while a person thinks is made again", async () => {
  let orders = 0
  const { url, dropSessions } = await questionerOnHttp({ onOrder: () => orders++ })
  const model = calling("order")
  const { runtime, workflow: shopping } = process({
    store: memoryStore(),
    model,
    url,
    revision: "2025-11-25",
    reconnect: { delay: 1 },
  })
  const { runId, requests } = await runtime.start(shopping, "Buy a ring.").result
  await dropSessions()
  await runtime.respond(runId, requests[0]?.id ?? "", { size: 5 })
  expect(await runtime.get(runId).result).toMatchObject({ status: "completed" })
  expect(resultSeen(model)).toContain('ordered {\\"size\\":5}')
  expect(orders).toBe(2)
})

test("elicitation can be refused", async () => {
  const { url } = await questionerOnHttp()
  const model = calling("order")
  const { runtime, workflow: shopping } = process({ store: memoryStore(), model, url, elicitation: false })
  expect(await runtime.start(shopping, "Buy a ring.").result).toMatchObject({
    status: "completed",
    requests: [],
  })
})

test("calls of two runs at once are each asked for their own", async () => {
  const { url } = await questionerOnHttp()
  const script = () => [{ tool_calls: [{ name: "order", args: {} }] }, "Done."]
  const model = scriptedModel(
    [...script(), ...script()].toSorted((a, b) =>
      typeof a === typeof b ? 0 : typeof a === "string" ? 1 : -1,
    ) as never,
  )
  const { runtime, workflow: shopping } = process({
    store: memoryStore(),
    model,
    url,
    revision: "2025-11-25",
  })
  const runs = ["one", "two"].map((input) => runtime.start(shopping, input))
  const [one, two] = await Promise.all(runs.map((run) => run.result))
  expect([one?.requests.length, two?.requests.length]).toEqual([1, 1])
  await runtime.respond(two?.runId ?? "", two?.requests[0]?.id ?? "", { size: 2 })
  await runtime.get(two?.runId ?? "").result
  expect(JSON.stringify(model.calls.at(-1)?.options.prompt)).toMatch(/two.*size\\+":2/)
  await runtime.respond(one?.runId ?? "", one?.requests[0]?.id ?? "", { size: 1 })
  await runtime.get(one?.runId ?? "").result
  expect(JSON.stringify(model.calls.at(-1)?.options.prompt)).toMatch(/one.*size\\+":1/)
})

test.each([
  ["forever", "asks more than 20 times in one call"],
  ["flood", "asks 500 questions at once"],
])("a server that asks endlessly is stopped: %s", async (tool, reason) => {
  const { url } = await questionerOnHttp()
  const model = calling(tool)
  const store = memoryStore()
  const { runtime, workflow: shopping } = process({ store, model, url, roots: ["/work"] })
  expect(await runtime.start(shopping, "Ask.").result).toMatchObject({ status: "completed" })
  expect(resultSeen(model)).toContain(reason)
})
