import { afterEach, describe, expect, test } from "vitest"
import { memoryStore } from "../../stores/index.ts"
import { type A2aScript, type A2aServer, a2aServer } from "./a2a-server.test-support.ts"
import { type A2aAgentOptions, a2aAgent } from "./index.ts"
import { quickClock } from "./quick-clock.test-support.ts"

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
  test("an answer at once is the answer", async () => {
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

  test("a task is looked at until it is over; its artifacts are the answer", async () => {
    const { run, methods } = await remote({ version, reply: working })
    expect((await run()).outputs).toEqual(["Because."])
    expect(methods()).toEqual(expected)
  })

  test("a stream is followed, and told to those who watch", async () => {
    const reply = [
      { state: "working", artifact: "Be" },
      { state: "working", artifact: "cause." },
      { state: "completed" },
    ]
    const { agent, methods } = await remote({ version, streams: true, reply })
    const run = agent.stream("Why?", { clock: quickClock() })
    const told: unknown[] = []
    for await (const event of run) if (event.type === "model.delta") told.push([event.text, event.offset])
    expect((await run).outputs).toEqual(["Because."])
    expect(told).toEqual([
      ["Be", 0],
      ["cause.", 2],
    ])
    expect(methods()).toEqual([version === "1" ? "SendStreamingMessage" : "message/stream"])
  })

  test("when it asks back, a person answers, and the same task goes on", async () => {
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

describe("a task", () => {
  test("that fails there fails here, with what it says", async () => {
    const { run } = await remote({ reply: [{ state: "failed", note: "no idea" }] })
    expect((await run().result).error).toMatchObject({
      code: "REMOTE_FAILED",
      message: 'The task t1 of agent "remote" ended as failed: no idea.',
    })
    const { run: locked } = await remote({ reply: [{ state: "auth-required" }] })
    expect((await locked().result).error).toMatchObject({ code: "REMOTE_AUTH" })
  })

  test("is cancelled there when the run is cancelled here, or when it takes too long", async () => {
    const { server, run } = await remote({ reply: [{ state: "working" }] })
    const cancelled = server.seen("CancelTask")
    const running = run()
    await server.seen("GetTask")
    await running.cancel("enough")
    await cancelled
    const { server: slow, run: wait } = await remote({ reply: [{ state: "working" }] }, { timeout: 5_000 })
    const told = slow.seen("CancelTask")
    expect((await wait().result).error).toMatchObject({ code: "REMOTE_TIME_UP" })
    await told
  })

  test("whose stream breaks off is looked at", async () => {
    const { run, methods } = await remote({
      streams: true,
      reply: [{ state: "working" }, { state: "completed", artifact: "Because." }],
      instead(method, response) {
        if (method !== "SendStreamingMessage") return false
        const result = { task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } } }
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`, () =>
          response.destroy(),
        )
        return true
      },
    })
    expect((await run()).outputs).toEqual(["Because."])
    expect(methods()).toEqual(["SendStreamingMessage", "GetTask", "GetTask"])
  })

  test("goes on in another process by its id, and is not sent again", async () => {
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
})

describe("a card", () => {
  test("is looked for at the old place too", async () => {
    const { run } = await remote({ version: "0", reply: "hello", cardPath: "/.well-known/agent.json" })
    expect((await run()).outputs).toEqual(["hello"])
  })

  test("that names another place is not followed, unless the user names it", async () => {
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

  test("without JSON-RPC, or that is none, or is not there, is a clear error", async () => {
    const grpc = { supportedInterfaces: [{ url: "http://127.0.0.1", protocolBinding: "GRPC" }] }
    expect((await (await remote({ card: grpc })).run().result).error?.code).toBe("REMOTE_UNSUPPORTED")
    expect((await (await remote({ card: { capabilities: 3 } })).run().result).error?.code).toBe(
      "REMOTE_INVALID",
    )
    const { run } = await remote({ cardPath: "/elsewhere" })
    expect((await run().result).error?.code).toBe("REMOTE_STATUS_404")
  })
})

test("what is no A2A is a clear error: a JSON-RPC error, no result, an unknown state, a stream that is too large", async () => {
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
