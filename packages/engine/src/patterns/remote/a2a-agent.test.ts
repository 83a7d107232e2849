import type { ServerResponse } from "node:http"
import { afterEach, describe, expect, test } from "vitest"
import { dyingStore } from "../../runtime/journal/thread.test-support.ts"
import { memoryStore } from "../../stores/index.ts"
import { telemetry } from "../../telemetry/index.ts"
import { recorder } from "../../telemetry/recorder.test-support.ts"
import { a2aAgent } from "./a2a-agent.ts"
import type { A2aAgentOptions } from "./a2a-client.ts"
import { type A2aScript, type A2aServer, a2aServer } from "./a2a-server.test-support.ts"
import { gatedClock, quickClock } from "./quick-clock.test-support.ts"

const servers: A2aServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function remote(script: A2aScript, options: Partial<A2aAgentOptions> = {}) {
  const server = await a2aServer(script)
  servers.push(server)
  const agent = a2aAgent({ url: server.url, name: "remote", token: "s3cr3t-token", ...options })
  const run = (text = "Why?") => agent.run(text, { clock: quickClock() })
  const methods = () => server.calls.map(({ method }) => method)
  return { server, agent, run, methods }
}

const working = [{ state: "submitted" }, { state: "working" }, { state: "completed", artifact: "Because." }]

describe.each([
  ["1", ["SendMessage", "GetTask", "GetTask"]],
  ["0", ["message/send", "tasks/get", "tasks/get"]],
] as const)("version %s", (version, expected) => {
  test("an immediate answer is the answer", async () => {
    const { server, run } = await remote({ version, reply: "hello" })
    expect((await run("Hi")).outputs).toEqual(["hello"])
    const message = server.calls[0]?.params.message
    expect(message).toMatchObject(
      version === "1"
        ? { role: "ROLE_USER", parts: [{ text: "Hi" }] }
        : { kind: "message", role: "user", parts: [{ kind: "text", text: "Hi" }] },
    )
    const post = server.asked.at(-1)
    expect(post?.headers.authorization).toBe("Bearer s3cr3t-token")
    expect(post?.headers["a2a-version"]).toBe(version === "1" ? "1.0" : undefined)
  })

  test("a task is polled until it ends; its artifacts are the answer", async () => {
    const { run, methods } = await remote({ version, reply: working })
    expect((await run()).outputs).toEqual(["Because."])
    expect(methods()).toEqual(expected)
  })

  test("a stream is followed and forwarded to observers", async () => {
    const reply = [
      { state: "working", artifact: "Be" },
      { state: "working", artifact: "cause." },
      { state: "completed" },
    ]
    const { agent, methods } = await remote({ version, streams: true, reply })
    const run = agent.stream("Why?", { clock: quickClock() })
    const deltas: unknown[] = []
    for await (const event of run) if (event.type === "model.delta") deltas.push([event.text, event.offset])
    expect((await run).outputs).toEqual(["Because."])
    expect(deltas).toEqual([
      ["Be", 0],
      ["cause.", 2],
    ])
    expect(methods()).toEqual([version === "1" ? "SendStreamingMessage" : "message/stream"])
  })

  test("a stream may begin with an update of its task instead of the task", async () => {
    const about = { taskId: "t7", contextId: "c7" }
    const status = (state: string) => ({ ...about, status: { state } })
    const update =
      version === "1"
        ? (state: string) => ({ statusUpdate: status(`TASK_STATE_${state.toUpperCase()}`) })
        : (state: string) => ({ kind: "status-update", final: state === "completed", ...status(state) })
    const artifact = { ...about, artifact: { artifactId: "a", parts: [{ text: "Because." }] } }
    const piece = version === "1" ? { artifactUpdate: artifact } : { kind: "artifact-update", ...artifact }
    const { run, methods } = await remote({
      version,
      streams: true,
      instead: (_, response) => eventStream(response, [update("working"), piece, update("completed")]),
    })
    expect((await run()).outputs).toEqual(["Because."])
    expect(methods()).toHaveLength(1)
  })

  test("after a broken stream the client subscribes again, sees the end, and fetches the whole task", async () => {
    const { agent, methods } = await remote({
      version,
      streams: true,
      subscribes: true,
      reply: [
        { state: "working", artifact: "Be" },
        { state: "completed", artifact: "cause." },
      ],
      instead: (method, response) => /stream/i.test(method) && breakOff(response, version),
    })
    const run = agent.stream("Why?", { clock: quickClock() })
    const deltas: unknown[] = []
    for await (const event of run) if (event.type === "model.delta") deltas.push([event.text, event.offset])
    expect((await run).outputs).toEqual(["Because."])
    expect(deltas).toEqual([
      ["Be", 0],
      ["cause.", 2],
    ])
    expect(methods()).toEqual(
      version === "1"
        ? ["SendStreamingMessage", "SubscribeToTask", "GetTask"]
        : ["message/stream", "tasks/resubscribe", "tasks/get"],
    )
  })

  test("when the agent asks a question, a person answers and the same task continues", async () => {
    const reply = [
      { state: "input-required", note: "Which one?" },
      { state: "completed", note: "The red one." },
    ]
    const { server, run } = await remote({ version, reply }, { to: "ada" })
    const running = run()
    const [request] = (await running).requests
    expect(request).toMatchObject({ prompt: "Which one?", to: "ada", data: { agent: "remote" } })
    await running.respond(request?.id ?? "", "red")
    expect((await running.result).outputs).toEqual(["The red one."])
    const message = server.calls[1]?.params.message
    expect(message).toMatchObject({ taskId: "t1", contextId: "c1" })
    const ids = server.calls.map(({ params }) => (params.message as { messageId: string }).messageId)
    expect(new Set(ids).size).toBe(2)
  })
})

function eventStream(response: ServerResponse, results: readonly object[]): true {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const result of results) {
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`)
  }
  response.end()
  return true
}

/** Begins with the task, and breaks. */
function breakOff(response: ServerResponse, version: "0" | "1" = "1"): true {
  const task = { id: "t1", contextId: "c1" }
  const result =
    version === "1"
      ? { task: { ...task, status: { state: "TASK_STATE_WORKING" } } }
      : { kind: "task", ...task, status: { state: "working" } }
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`, () => response.destroy())
  return true
}

/** A server that sends nothing, and records whether the client has disconnected. */
function leaving() {
  let gone: () => void = () => undefined
  const left = new Promise<void>((resolve) => {
    gone = resolve
  })
  return { left, gone }
}

describe("a task", () => {
  test("that fails remotely fails here, with its message", async () => {
    const { run } = await remote({ reply: [{ state: "failed", note: "no idea" }] })
    expect((await run().result).error).toMatchObject({
      code: "REMOTE_FAILED",
      message: 'The task t1 of agent "remote" ended with status failed: no idea.',
    })
  })

  test("is cancelled there when the run is cancelled here, or when it takes too long", async () => {
    const { server, run } = await remote({ reply: [{ state: "working" }] })
    const cancelled = server.seen("CancelTask")
    const running = run()
    await server.seen("GetTask")
    await running.cancel("enough")
    await cancelled
    const { server: slow, run: wait } = await remote({ reply: [{ state: "working" }] }, { timeout: 5_000 })
    const timedOut = slow.seen("CancelTask")
    expect((await wait().result).error).toMatchObject({ code: "REMOTE_TIME_UP" })
    await timedOut
  })

  test("that only needs a sign-in waits for that, even without a message", async () => {
    const { run, methods } = await remote({
      reply: [{ state: "auth-required" }, { state: "auth-required" }, { state: "completed", note: "In." }],
    })
    const running = run()
    const [request] = (await running).requests
    expect(request?.prompt).toBe('"remote" needs you to sign in or to grant access.')
    await running.respond(request?.id ?? "", "")
    expect((await running).outputs).toEqual(["In."])
    expect(methods()).toEqual(["SendMessage", "GetTask", "GetTask"])
  })

  test("is cancelled there if its answer is unreadable", async () => {
    const { server: odd, run: runOdd } = await remote({
      reply: [{ state: "working" }],
      instead(method, response) {
        if (method !== "GetTask") return false
        response.writeHead(200).end("hm")
        return true
      },
    })
    const cancelledToo = odd.seen("CancelTask")
    expect((await runOdd().result).error).toMatchObject({ code: "REMOTE_INVALID" })
    await cancelledToo
  })

  test("is cancelled there when polling fails after all attempts", async () => {
    let looks = 0
    const { server, run } = await remote(
      {
        reply: [{ state: "working" }],
        instead(method, response) {
          if (method !== "GetTask") return false
          looks++
          response.writeHead(503).end("busy")
          return true
        },
      },
      { pollEvery: 10 },
    )
    const cancelled = server.seen("CancelTask")
    expect((await run().result).error).toMatchObject({ code: "REMOTE_STATUS_503" })
    await cancelled
    expect(looks).toBe(18)
    expect(server.calls.filter(({ method }) => method === "CancelTask")).toHaveLength(1)
  })

  test("is cancelled there if the run is cancelled while a person is asked, and not if it failed there", async () => {
    const { server, run } = await remote({ reply: [{ state: "input-required", note: "Which?" }] })
    const running = run()
    expect((await running).requests).toHaveLength(1)
    const cancelled = server.seen("CancelTask")
    await running.cancel("enough")
    await cancelled
    const { run: runBad, methods } = await remote({ reply: [{ state: "working" }, { state: "rejected" }] })
    expect((await runBad().result).error).toMatchObject({ code: "REMOTE_FAILED" })
    expect(methods()).toEqual(["SendMessage", "GetTask"])
  })

  test("is polled again after an internal error there, and abandoned when it is unknown", async () => {
    const failing = (code: number, times: number): A2aScript => {
      let left = times
      return {
        reply: working,
        instead(method, response) {
          if (method !== "GetTask" || left-- <= 0) return false
          response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code, message: "oh" } }))
          return true
        },
      }
    }
    const { run } = await remote(failing(-32603, 3))
    expect((await run()).outputs).toEqual(["Because."])
    const { run: lost } = await remote(failing(-32001, 1))
    expect((await lost().result).error).toMatchObject({
      code: "REMOTE_REFUSED",
      message: "The agent answered with error -32001: oh",
    })
  })

  test("whose stream breaks off, and that does not support subscribing again, is polled", async () => {
    const { run, methods } = await remote({
      streams: true,
      reply: [{ state: "working" }, { state: "completed", artifact: "Because." }],
      instead: (method, response) => method === "SendStreamingMessage" && breakOff(response),
    })
    expect((await run()).outputs).toEqual(["Because."])
    expect(methods()).toEqual(["SendStreamingMessage", "SubscribeToTask", "GetTask", "GetTask"])
  })

  test.each([true, false])(
    "whose stream sends nothing in time is abandoned: no connection stays open (headers: %s)",
    async (isBegun) => {
      const { left, gone } = leaving()
      const clock = gatedClock(500)
      const { agent } = await remote(
        {
          streams: true,
          instead(_, response) {
            response.on("close", gone)
            if (isBegun) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
            if (isBegun) clock.endNextWaits()
            else clock.endWaits()
            return true
          },
        },
        { requestTimeout: 500 },
      )
      expect((await agent.run("Why?", { clock }).result).error).toMatchObject({ code: "REMOTE_TIMEOUT" })
      await left
    },
  )

  test("whose stream does not end in time is cancelled, and the connection is closed", async () => {
    const { left, gone } = leaving()
    const { server, run } = await remote(
      {
        streams: true,
        reply: [{ state: "working" }],
        instead(method, response) {
          if (method !== "SendStreamingMessage") return false
          response.on("close", gone)
          const result = { task: { id: "t1", status: { state: "TASK_STATE_WORKING" } } }
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`)
          return true
        },
      },
      { timeout: 5_000 },
    )
    const cancelled = server.seen("CancelTask")
    expect((await run().result).error).toMatchObject({ code: "REMOTE_TIME_UP" })
    await Promise.all([left, cancelled])
  })

  test("continues in another process by its id, and is not sent again", async () => {
    let isHeld = true
    const { server, agent, methods } = await remote({
      reply: working,
      instead: (method, response) => {
        if (method !== "GetTask" || !isHeld) return false
        isHeld = false
        response.on("close", () => undefined)
        return true
      },
    })
    const store = memoryStore()
    void agent.run("Why?", { store, runId: "r", clock: quickClock() }).result.catch(() => undefined)
    await server.seen("GetTask")
    const second = agent.resume("r", { store, takeOver: true, clock: quickClock() })
    expect((await second).outputs).toEqual(["Because."])
    expect(methods().filter((one) => one === "SendMessage")).toHaveLength(1)
    expect(methods()).not.toContain("CancelTask")
  })

  test.each([false, true])(
    "exists once, wherever the process crashes: a repeated message has the same id (streams: %s)",
    async (streams) => {
      let deaths = 0
      for (let writes = 1; ; writes++) {
        const { server, agent, methods } = await remote({ streams, reply: working })
        const store = memoryStore()
        const first = agent.run("Why?", { store: dyingStore(store, writes), runId: "r", clock: quickClock() })
        const isDead = await first.result.then(
          () => false,
          () => true,
        )
        const run = agent.resume("r", { store, takeOver: true, clock: quickClock() })
        expect((await run.result).outputs, `dead after ${writes} writes`).toEqual(["Because."])
        const sent = server.calls.flatMap(({ params }) => params.message ?? []) as { messageId: string }[]
        expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(1)
        expect(methods()).not.toContain("CancelTask")
        if (!isDead) break
        deaths++
      }
      // Card, began, send, task.
      expect(deaths).toBeGreaterThanOrEqual(4)
    },
  )

  test("that streams is subscribed to again in another process, and not sent again", async () => {
    const { server, agent, methods } = await remote({
      streams: true,
      subscribes: true,
      reply: working,
      instead(method, response) {
        if (method !== "SendStreamingMessage") return false
        const result = { task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } } }
        response.writeHead(200, { "content-type": "text/event-stream" })
        const piece = { artifactUpdate: { artifact: { artifactId: "a", parts: [{ text: "Be" }] } } }
        for (const one of [result, piece]) {
          response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: one })}\n\n`)
        }
        return true
      },
    })
    const store = memoryStore()
    const first = agent.stream("Why?", { store, runId: "r", clock: quickClock() })
    void first.result.catch(() => undefined)
    for await (const event of first) if (event.type === "model.delta") break
    const second = agent.resume("r", { store, takeOver: true, clock: quickClock() })
    expect((await second).outputs).toEqual(["Because."])
    expect(methods()).toEqual(["SendStreamingMessage", "SubscribeToTask", "GetTask"])
    expect(server.calls.at(-1)?.params).toMatchObject({ id: "t1" })
  })
})

describe("a card", () => {
  test("is also fetched from the old address", async () => {
    const { run } = await remote({ version: "0", reply: "hello", cardPath: "/.well-known/agent.json" })
    expect((await run()).outputs).toEqual(["hello"])
  })

  test("that names another endpoint is not used, unless the user names it", async () => {
    const card = { supportedInterfaces: [{ url: "http://evil.example/rpc", protocolBinding: "JSONRPC" }] }
    const { run } = await remote({ card })
    expect((await run().result).error).toMatchObject({
      code: "REMOTE_ELSEWHERE",
      message: expect.stringContaining("http://evil.example/rpc"),
    })
    const { server } = await remote({ card, reply: "hello" })
    const direct = a2aAgent({ url: server.url, endpoint: `${server.url}/rpc` })
    expect(direct.name).toBe("127.0.0.1")
    expect((await direct.run("Hi")).outputs).toEqual(["hello"])
  })

  test("without JSON-RPC, that is invalid, or that is missing, is a clear error", async () => {
    const grpc = { supportedInterfaces: [{ url: "http://127.0.0.1", protocolBinding: "GRPC" }] }
    expect((await (await remote({ card: grpc })).run().result).error?.code).toBe("REMOTE_UNSUPPORTED")
    expect((await (await remote({ card: { capabilities: 3 } })).run().result).error?.code).toBe(
      "REMOTE_INVALID",
    )
    const { run } = await remote({ cardPath: "/elsewhere" })
    expect((await run().result).error).toMatchObject({
      code: "REMOTE_NO_CARD",
      message: expect.stringContaining("or the agent's URL as endpoint"),
    })
  })

  test("is found with a path and a query; every request names the tenant", async () => {
    const { server } = await remote({ reply: working, cardPath: "/team/.well-known/agent-card.json?key=k1" })
    server.card = (place) => ({
      supportedInterfaces: [
        { url: place, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "acme" },
      ],
    })
    const agent = a2aAgent({ url: `${server.url}/team/?key=k1` })
    expect((await agent.run("Why?", { clock: quickClock() })).outputs).toEqual(["Because."])
    expect(server.calls.map(({ params }) => params.tenant)).toEqual(["acme", "acme", "acme"])
  })

  test("that requires credentials is an error with advice", async () => {
    const { agent } = await remote({ cardStatus: 401 })
    expect((await agent.run("Hi").result).error).toMatchObject({
      code: "REMOTE_STATUS_401",
      message: expect.stringContaining("Pass a token or headers that it accepts."),
    })
  })
})

test("an answer that is not valid A2A is a clear error: a JSON-RPC error, no result, an unknown state, a stream that is too large", async () => {
  const errorOf = async (body: string, script: A2aScript = {}, options = {}, type = "application/json") => {
    const { run } = await remote(
      {
        ...script,
        instead(_, response) {
          response.writeHead(200, { "content-type": type }).end(body)
          return true
        },
      },
      options,
    )
    return (await run().result).error
  }
  const rpc = (result: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, result })
  const refused = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32601, message: "no such method" },
  })
  expect(await errorOf(refused)).toMatchObject({
    code: "REMOTE_REFUSED",
    message: "The agent answered with error -32601: no such method",
  })
  const leaking = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32000, message: `refused s3cr3t-token ${"x".repeat(1_000)}` },
  })
  const leaked = (await errorOf(leaking))?.message ?? ""
  expect(leaked).toContain("error -32000: refused [secret] xxx")
  expect(leaked.length).toBeLessThan(400)
  expect((await errorOf("you sent s3cr3t-token"))?.message).toContain("you sent [secret]")
  expect((await errorOf("{}"))?.code).toBe("REMOTE_INVALID")
  expect((await errorOf("hm"))?.code).toBe("REMOTE_INVALID")
  expect((await errorOf(rpc({ task: { id: "t", status: { state: "dancing" } } })))?.message).toContain(
    "dancing",
  )
  expect((await errorOf(rpc([])))?.code).toBe("REMOTE_INVALID")
  const long = `data: ${rpc({ message: { parts: [{ text: "x".repeat(2_000) }] } })}\n\n`
  const streams = { streams: true }
  expect((await errorOf(long, streams, { maxBytes: 1_000 }, "text/event-stream"))?.code).toBe(
    "REMOTE_TOO_LARGE",
  )
  expect((await errorOf("", streams, {}, "text/event-stream"))?.code).toBe("REMOTE_INVALID")
})

test("a trace that the user passes in headers is sent unchanged", async () => {
  const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`
  const { server, agent } = await remote({ reply: "hello" }, { headers: { Traceparent: traceparent } })
  const { tracer, meter } = recorder()
  await agent.run("Hi", { telemetry: telemetry({ tracer, meter }) })
  expect(server.asked.map(({ headers }) => headers.traceparent)).toEqual([traceparent, traceparent])
})

test("invalid addresses and numbers are rejected", () => {
  expect(() => a2aAgent({ url: "weather.example" })).toThrow(
    'Agent "a2a": url must be a URL such as https://agents.example, not "weather.example".',
  )
  expect(() => a2aAgent({ url: "file:///etc/passwd" })).toThrow("url must be a URL")
  expect(() => a2aAgent({ url: "https://a.example", endpoint: "/rpc" })).toThrow("endpoint must be a URL")
  expect(() => a2aAgent({ url: "https://me:pw@a.example", name: "a" })).toThrow(
    'Agent "a": url contains a password. Pass it as token, or in headers.',
  )
  expect(() => a2aAgent({ url: "https://me:pw@a.example" })).toThrow(/^Agent "a2a": url contains a password/)
  expect(() => a2aAgent({ url: "me:pw@a.example" })).toThrow(/^Agent "a2a": url must be a URL such as \S+\.$/)
  const poll = (pollEvery: number) => () => a2aAgent({ url: "https://a.example", name: "a", pollEvery })
  expect(poll(0)).toThrow('Agent "a": pollEvery must be a number of at least 1, not 0.')
  expect(poll(Number.NaN)).toThrow("not NaN")
})
