import type { ServerResponse } from "node:http"
import { SpanKind } from "@opentelemetry/api"
import { afterEach, describe, expect, test } from "vitest"
import { dyingStore } from "../../runtime/journal/thread.test-support.ts"
import { memoryStore } from "../../stores/index.ts"
import { telemetry } from "../../telemetry/index.ts"
import { recorder } from "../../telemetry/recorder.test-support.ts"
import { sequential } from "../teams/index.ts"
import { type FoundryAgentOptions, foundryAgent } from "./foundry-agent.ts"
import { type FoundryScript, type FoundryServer, foundryServer } from "./foundry-server.test-support.ts"
import { quickClock } from "./quick-clock.test-support.ts"

const servers: FoundryServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function foundry(script: FoundryScript = {}, options: Partial<FoundryAgentOptions> = {}) {
  const server = await foundryServer(script)
  servers.push(server)
  const agent = foundryAgent({
    endpoint: server.endpoint,
    agentId: "asst_1",
    token: async () => "s3cr3t-token",
    name: "expert",
    ...options,
  })
  const asked = () =>
    server.asked.map(
      ({ method, url }) => `${method} ${url.replace("/api/projects/p", "").replace(/\?.*/, "")}`,
    )
  return { server, agent, asked }
}

describe("an agent of Azure AI Foundry", () => {
  test("continues the run's trace; without telemetry it receives none", async () => {
    const { tracer, meter, span } = recorder()
    const traced = { clock: quickClock(), telemetry: telemetry({ tracer, meter }), runId: "r" }
    const { server, agent } = await foundry()
    await agent.run("Why?", traced)
    const call = span("invoke_agent expert")
    const { traceId, spanId } = call.spanContext()
    const sent = new Set(server.asked.map(({ headers }) => headers.traceparent))
    expect(sent).toEqual(new Set([`00-${traceId}-${spanId}-01`]))
    expect(call.kind).toBe(SpanKind.CLIENT)
    expect(call.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "azure.ai.foundry",
      "server.address": "127.0.0.1",
      "superstep.run.id": "r",
    })
    // Off means that nothing is sent.
    const { server: plain, agent: untraced } = await foundry()
    await untraced.run("Why?", { clock: quickClock() })
    expect(new Set(plain.asked.map(({ headers }) => headers.traceparent))).toEqual(new Set([undefined]))
  })

  test("creates a thread, a message and a run, which is polled until it ends; its messages are the answer", async () => {
    const { server, agent, asked } = await foundry({}, { instructions: "Be brief." })
    const { outputs, usage } = await agent.run("Why?", { clock: quickClock() })
    expect(outputs).toEqual(["Answer to: Why?"])
    expect(asked()).toEqual([
      "POST /threads",
      "POST /threads/thread_1/messages",
      "POST /threads/thread_1/runs",
      "GET /threads/thread_1/runs/run_1",
      "GET /threads/thread_1/runs/run_1",
      "GET /threads/thread_1/runs/run_1",
      "GET /threads/thread_1/messages",
    ])
    expect(server.asked[0]?.headers.authorization).toBe("Bearer s3cr3t-token")
    expect(server.asked[0]?.url).toContain("api-version=v1")
    expect(JSON.parse(server.asked[2]?.body ?? "")).toEqual({
      assistant_id: "asst_1",
      additional_instructions: "Be brief.",
    })
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 5, modelCalls: 1 })
  })

  test("accepts a conversation, and is a member of a team", async () => {
    const { server, agent } = await foundry()
    const messages = [
      { role: "user", content: "One" },
      { role: "assistant", content: "Uno" },
      { role: "user", content: "Two" },
    ]
    expect((await agent.run({ messages }, { clock: quickClock() })).outputs).toEqual(["Answer to: Two"])
    expect(server.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"])
    const { agent: other } = await foundry()
    const team = sequential([other])
    expect((await team.run("Why?", { clock: quickClock() })).outputs).toEqual(["Answer to: Why?"])
  })

  test("receives a long conversation in full, although a thread starts with at most 32 messages", async () => {
    const { server, agent, asked } = await foundry()
    const said = Array.from({ length: 35 }, (_, i) => ({
      role: i % 2 === 0 ? "user" : "assistant",
      content: `m${i}`,
    }))
    expect((await agent.run({ messages: said }, { clock: quickClock() })).outputs).toEqual(["Answer to: m34"])
    expect(server.messages.slice(0, 35).map(({ role }) => role)).toEqual(said.map(({ role }) => role))
    expect(asked().filter((one) => one === "POST /threads/thread_1/messages")).toHaveLength(3)
  })

  test("returns all messages when there is more than one page of them", async () => {
    const { agent, asked } = await foundry({ says: 230 })
    const [answer] = (await agent.run("Why?", { clock: quickClock() })).outputs as string[]
    expect(answer?.split("\n\n")).toEqual(Array.from({ length: 230 }, (_, i) => `part ${i + 1}`))
    expect(asked().filter((one) => one === "GET /threads/thread_1/messages")).toHaveLength(3)
  })

  test("is cancelled there when the run is cancelled here", async () => {
    const { server, agent } = await foundry({ status: () => "in_progress" })
    const run = agent.run("Why?", { clock: quickClock() })
    const cancelled = server.seen("POST", /\/runs\/run_1\/cancel$/)
    await server.seen("GET", /\/runs\/run_1$/)
    await run.cancel("enough")
    expect((await run.result).status).toBe("cancelled")
    await cancelled
  })

  test("is cancelled when it takes too long or asks for something unavailable", async () => {
    const { server, agent } = await foundry({ status: () => "queued" }, { timeout: 5_000 })
    const cancelled = server.seen("POST", /\/cancel$/)
    const { error } = await agent.run("Why?", { clock: quickClock() }).result
    expect(error).toMatchObject({ code: "REMOTE_TIME_UP" })
    await cancelled
    const other = await foundry({ status: () => "requires_action" })
    const otherCancelled = other.server.seen("POST", /\/cancel$/)
    expect((await other.agent.run("Why?").result).error).toMatchObject({ code: "REMOTE_NEEDS_ACTION" })
    await otherCancelled
  })

  test("a run that fails there fails here, with the reason", async () => {
    const error = { code: "rate_limit_exceeded", message: "too much" }
    const { agent } = await foundry({ status: () => "failed", error })
    expect((await agent.run("Why?").result).error).toMatchObject({
      code: "REMOTE_FAILED",
      message: 'The run run_1 of agent "expert" ended with status failed: too much.',
    })
  })

  test.each([
    ["expired", {}, "ended with status expired."],
    ["cancelled", {}, "ended with status cancelled."],
    ["incomplete", { incomplete: { reason: "max_completion_tokens" } }, "incomplete: max_completion_tokens."],
  ])("a run that is %s fails here, and is no longer cancelled", async (status, script, text) => {
    const { agent, asked } = await foundry({ status: () => status, ...script })
    const { error } = await agent.run("Why?").result
    expect(error).toMatchObject({ code: "REMOTE_FAILED", message: expect.stringContaining(text) })
    expect(asked().filter((one) => one.includes("cancel"))).toEqual([])
  })
})

describe("after a crash", () => {
  test("another process continues with the running run, which is not cancelled", async () => {
    const held: ServerResponse[] = []
    const { server, agent } = await foundry({
      instead(method, path, response) {
        if (method !== "GET" || !/run_1$/.test(path) || held.length > 0) return false
        held.push(response)
        return true
      },
    })
    const store = memoryStore()
    const first = agent.run("Why?", { store, runId: "r", clock: quickClock() })
    await server.seen("GET", /\/runs\/run_1$/)
    const second = agent.resume("r", { store, takeOver: true, clock: quickClock() })
    expect((await second).outputs).toEqual(["Answer to: Why?"])
    held[0]?.destroy()
    await expect(first.result).rejects.toMatchObject({ code: "RUN_TAKEN" })
    expect(server.runs).toHaveLength(1)
    expect(server.asked.filter(({ url }) => url.includes("/cancel"))).toEqual([])
  })

  test("wherever the process crashes, there is one question and one run, and the answer is the same", async () => {
    let deaths = 0
    for (let writes = 1; ; writes++) {
      const { server, agent, asked } = await foundry()
      const store = memoryStore()
      const first = agent.run("Why?", {
        store: dyingStore(store, writes),
        runId: "r",
        clock: quickClock(),
      })
      const isDead = await first.result.then(
        () => false,
        () => true,
      )
      const run = agent.resume("r", { store, takeOver: true, clock: quickClock() })
      expect((await run.result).outputs, `dead after ${writes} writes`).toEqual(["Answer to: Why?"])
      expect(server.runs).toHaveLength(1)
      expect(server.messages.map(({ role }) => role)).toEqual(["user", "assistant"])
      expect(asked().filter((one) => one.includes("cancel"))).toEqual([])
      if (!isDead) break
      deaths++
    }
    // Began, thread, message, run, each started and done, answer.
    expect(deaths).toBeGreaterThanOrEqual(7)
  })

  test("a remote object whose creation response was lost is found, not created again", async () => {
    let lost = 0
    const { server, agent } = await foundry({
      instead(method, path, response) {
        if (method !== "POST" || !/\/(messages|runs)$/.test(path) || lost === 2) return false
        lost++
        if (path.endsWith("runs"))
          server.runs.push({ id: "run_1", assistant_id: "asst_1", status: "queued", polls: 0 })
        else {
          const { role, content: value, metadata } = JSON.parse(server.asked.at(-1)?.body ?? "")
          const content = [{ type: "text", text: { value } }]
          server.messages.push({ id: "msg_lost", role, content, run_id: null, metadata })
        }
        response.destroy()
        return true
      },
    })
    // More than a page of messages comes before the question.
    const before = Array.from({ length: 24 }, (_, i) => ({
      role: i % 2 === 0 ? "user" : "assistant",
      content: "Why?",
    }))
    const messages = [...before, { role: "user", content: "Why?" }]
    expect((await agent.run({ messages }, { clock: quickClock() })).outputs).toEqual(["Answer to: Why?"])
    expect(lost).toBe(2)
    expect(server.runs).toHaveLength(1)
    expect(server.messages).toHaveLength(26)
    expect(server.messages.slice(24).map(({ role }) => role)).toEqual(["user", "assistant"])
  })
})

describe("bad answers", () => {
  const answering = (status: number, body: string) => (_: string, __: string, response: ServerResponse) => {
    response.writeHead(status).end(body)
    return true
  }

  test("not JSON, the wrong shape, too large, a refusal that repeats the token: each is a clear error", async () => {
    const errorOf = async (status: number, body: string, options = {}) => {
      const { agent } = await foundry({ instead: answering(status, body) }, options)
      return (await agent.run("Why?", { clock: quickClock() }).result).error
    }
    expect(await errorOf(200, "<html>")).toMatchObject({
      code: "REMOTE_INVALID",
      message: expect.stringContaining("did not answer with JSON: <html>"),
    })
    expect(await errorOf(200, "{}")).toMatchObject({ code: "REMOTE_INVALID" })
    expect(await errorOf(200, "x".repeat(101), { maxBytes: 100 })).toMatchObject({ code: "REMOTE_TOO_LARGE" })
    const refused = await errorOf(401, "no: s3cr3t-token")
    expect(refused).toMatchObject({ code: "REMOTE_STATUS_401" })
    expect(refused?.message).toContain("no: [secret]")
    expect(await errorOf(302, "")).toMatchObject({ code: "REMOTE_STATUS_302" })
  })

  test("a poll that fails for a while does not end the run; a request that hangs is abandoned and retried", async () => {
    let bad = 0
    const { agent } = await foundry({
      instead(method, path, response) {
        if (method !== "GET" || !/run_1$/.test(path) || bad === 3) return false
        bad++
        response.writeHead(503).end("busy")
        return true
      },
    })
    expect((await agent.run("Why?", { clock: quickClock() })).outputs).toEqual(["Answer to: Why?"])
    const { agent: silent, server } = await foundry({ instead: () => true }, { requestTimeout: 500 })
    expect((await silent.run("Why?", { clock: quickClock() }).result).error).toMatchObject({
      code: "REMOTE_TIMEOUT",
    })
    expect(server.asked.length).toBeLessThanOrEqual(3)
    await server.close()
    expect((await silent.run("Why?", { clock: quickClock() }).result).error?.code).toMatch(
      /REMOTE_(UNREACHABLE|TIMEOUT)/,
    )
  })
})

test("an endpoint that is not a URL is rejected", () => {
  const made = (endpoint: string) => () => foundryAgent({ endpoint, agentId: "asst_1", token: "t" })
  expect(made("shop")).toThrow('Agent "asst_1": endpoint must be a URL such as https://agents.example')
})
