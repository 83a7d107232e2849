/** The client against agents built with the official SDK, 1.x and 0.3, streamed and polled. */
import { SpanKind } from "@opentelemetry/api"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { dyingStore } from "../../runtime/journal/thread.test-support.ts"
import { memoryStore } from "../../stores/index.ts"
import { telemetry } from "../../telemetry/index.ts"
import { idOf, parentOf, recorder } from "../../telemetry/recorder.test-support.ts"
import { a2aAgent } from "./a2a-agent.ts"
import type { A2aAgentOptions } from "./a2a-client.ts"
import { quickClock } from "./quick-clock.test-support.ts"
import { type SdkAgent, type SdkTurn, type SdkVersion, sdkAgent } from "./sdk-agent.test-support.ts"

const servers: SdkAgent[] = []
// The SDK logs refused requests and lost connections.
beforeEach(() => {
  for (const method of ["error", "warn"] as const)
    vi.spyOn(console, method).mockImplementation(() => undefined)
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const server of servers.splice(0)) await server.close()
})

interface Kind {
  readonly version: SdkVersion
  readonly streams: boolean
}

async function remote(
  kind: Kind,
  act: (turn: SdkTurn) => void | Promise<void>,
  options: Partial<A2aAgentOptions> = {},
) {
  const server = await sdkAgent({ ...kind, act })
  servers.push(server)
  const agent = a2aAgent({ url: server.url, name: "remote", ...options })
  const sends = () => server.calls.filter(({ method }) => /send|stream/i.test(method))
  const cancels = () => server.methods().filter((method) => /cancel/i.test(method))
  return { server, agent, sends, cancels, run: (text = "Why?") => agent.run(text, { clock: quickClock() }) }
}

function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

async function firstDelta(run: AsyncIterable<{ readonly type: string }>): Promise<void> {
  for await (const { type } of run) if (type === "model.delta") return
}

const kinds: Kind[] = [
  { version: "1.x", streams: true },
  { version: "1.x", streams: false },
  { version: "0.3", streams: true },
  { version: "0.3", streams: false },
]

describe.each(kinds)("an agent of the SDK $version (streams: $streams)", (kind) => {
  const methods = (current: string, old: string) => (kind.version === "1.x" ? current : old)

  test("answers with a message, or with the artifacts of a task, piece by piece", async () => {
    const { run } = await remote(kind, ({ text, message }) => message(`${text} Because.`))
    expect((await run()).outputs).toEqual(["Why? Because."])

    const { agent } = await remote(kind, ({ task, status, artifact }) => {
      task()
      status("working")
      artifact("Be")
      artifact("cause.", true)
      status("completed")
    })
    const running = agent.stream("Why?", { clock: quickClock() })
    let shown = ""
    for await (const event of running) {
      if (event.type === "model.delta") shown = shown.slice(0, event.offset) + event.text
    }
    expect((await running).outputs).toEqual(["Because."])
    if (kind.streams) expect(shown).toBe("Because.")
  })

  test("asks several questions, and a person answers each once", async () => {
    const { run, sends, cancels } = await remote(
      kind,
      ({ number, text, task, status }) => {
        task()
        if (number === 1) status("input-required", "Which colour?")
        else if (number === 2) status("input-required", "Which size?")
        else status("completed", `${text}, then.`)
      },
      { to: "ada" },
    )
    const running = run()
    const prompts: string[] = []
    for (const answer of ["red", "large"]) {
      const [request, ...others] = (await running).requests
      expect(others).toEqual([])
      expect(request).toMatchObject({ to: "ada", data: { agent: "remote", state: "input-required" } })
      prompts.push(request?.prompt ?? "")
      await running.respond(request?.id ?? "", answer)
    }
    expect((await running).outputs).toEqual(["large, then."])
    expect(prompts).toEqual(["Which colour?", "Which size?"])
    expect(new Set(sends().map(({ messageId }) => messageId)).size).toBe(3)
    expect(sends()).toHaveLength(3)
    expect(cancels()).toEqual([])
  })

  test("that asks and then works silently is not asked about its old question", async () => {
    const { open, opened } = gate()
    const { server, run, sends } = await remote(kind, async ({ number, task, status }) => {
      task()
      if (number === 1) return status("input-required", "Which one?")
      await opened
      status("completed", "The red one.")
    })
    const running = run()
    const [request] = (await running).requests
    await running.respond(request?.id ?? "", "red")
    // It still has the status that was answered.
    if (!kind.streams) await server.seen(methods("GetTask", "tasks/get"))
    open()
    expect((await running).outputs).toEqual(["The red one."])
    expect(sends()).toHaveLength(2)
  })

  test("that needs a sign-in waits for that person; it is neither cancelled nor sent anything", async () => {
    const { open, opened } = gate()
    const { run, sends, cancels } = await remote(kind, async ({ task, status }) => {
      task()
      status("auth-required", "Sign in at https://id.example/device.")
      await opened
      status("completed", "Booked.")
    })
    const running = run()
    const [request] = (await running).requests
    expect(request).toMatchObject({
      prompt: "Sign in at https://id.example/device.",
      data: { agent: "remote", state: "auth-required" },
    })
    expect(cancels()).toEqual([])
    open()
    await running.respond(request?.id ?? "", true)
    expect((await running).outputs).toEqual(["Booked."])
    expect(sends()).toHaveLength(1)
    expect(cancels()).toEqual([])
  })

  test("that needs a message from the person receives the person's answer", async () => {
    const { run, sends } = await remote(kind, ({ number, text, task, status }) => {
      task()
      if (number === 1) status("auth-required", "Which account?")
      else status("completed", `Booked for ${text}.`)
    })
    const running = run()
    const [request] = (await running).requests
    await running.respond(request?.id ?? "", "ada")
    expect((await running).outputs).toEqual(["Booked for ada."])
    expect(sends()).toHaveLength(2)
  })

  test.each(["failed", "rejected"])("whose task is %s fails the run, with the reason", async (state) => {
    const { run, sends, cancels } = await remote(kind, ({ task, status }) => {
      task()
      status(state, "no idea")
    })
    const { error } = await run().result
    expect(error).toMatchObject({ code: "REMOTE_FAILED" })
    expect(error?.message).toMatch(
      new RegExp(`^The task .+ of agent "remote" ended with status ${state}: no idea\\.$`),
    )
    expect(sends()).toHaveLength(1)
    expect(cancels()).toEqual([])
  })

  // If an agent of 0.3 throws while it is polled, its end is not visible: the SDK stores the failure under an unknown id.
  if (kind.version === "1.x" || kind.streams) {
    test("that throws fails the run", async () => {
      const { run } = await remote(kind, ({ task }) => {
        task()
        throw new Error("out of memory")
      })
      expect((await run().result).error).toMatchObject({
        code: "REMOTE_FAILED",
        message: expect.stringContaining("Agent execution error: out of memory"),
      })
    })
  }

  test("is cancelled when the run is cancelled while it works", async () => {
    const { open, opened } = gate()
    const { server, agent } = await remote(kind, async ({ task, artifact }) => {
      task()
      artifact("Be")
      await opened
    })
    const running = agent.stream("Why?", { clock: quickClock() })
    const isAtWork = kind.streams ? firstDelta(running) : server.seen(methods("GetTask", "tasks/get"))
    await isAtWork
    await running.cancel("enough")
    await server.seen(methods("CancelTask", "tasks/cancel"))
    open()
  })

  test("is cancelled when the run is cancelled while a person is asked", async () => {
    const { server, run } = await remote(kind, ({ task, status }) => {
      task()
      status("input-required", "Which?")
    })
    const running = run()
    expect((await running).requests).toHaveLength(1)
    await running.cancel("enough")
    await server.seen(methods("CancelTask", "tasks/cancel"))
  })

  test("sends large artifacts up to the limit; one above it is refused, and its task cancelled", async () => {
    const size = 40_000
    const act = async ({ task, status, artifact }: SdkTurn) => {
      task()
      status("working")
      for (let i = 0; i < 30; i++) artifact("x".repeat(size), i > 0)
      if (!limited) return status("completed")
      await opened
    }
    const { open, opened } = gate()
    let limited = false
    const { run } = await remote(kind, act)
    expect(String((await run()).outputs[0])).toHaveLength(30 * size)
    limited = true
    const { server, run: refused } = await remote(kind, act, { maxBytes: 1_000_000 })
    expect((await refused().result).error).toMatchObject({ code: "REMOTE_TOO_LARGE" })
    await server.seen(methods("CancelTask", "tasks/cancel"))
    open()
  })

  test("receives each message once, wherever the process crashes", async () => {
    let deaths = 0
    for (let writes = 1; ; writes++) {
      const turns: string[] = []
      const { server, agent, sends, cancels } = await remote(kind, ({ number, text, task, status }) => {
        turns.push(`${number} ${text}`)
        task()
        if (number === 1) status("input-required", "Which one?")
        else status("completed", `The ${text} one.`)
      })
      const store = memoryStore()
      const dying = dyingStore(store, writes)
      const alive = async (store: typeof dying, isFirst: boolean) => {
        const options = { store, clock: quickClock() }
        const run = isFirst
          ? agent.run("Why?", { ...options, runId: "r" })
          : agent.resume("r", { ...options, takeOver: true })
        const result = await run
        const [request] = result.requests
        if (request !== undefined) await run.respond(request.id, "red")
        return await run.result
      }
      const isDead = await alive(dying, true).then(
        () => false,
        () => true,
      )
      const { outputs } = await alive(store, false)
      expect(outputs, `dead after ${writes} writes`).toEqual(["The red one."])
      // The second message is never repeated. The first may be, with the same id, where tasks cannot be listed.
      expect(turns.filter((turn) => turn === "2 red")).toHaveLength(1)
      if (kind.version === "1.x") expect(turns).toEqual(["1 Why?", "2 red"])
      expect(new Set(sends().map(({ messageId }) => messageId)).size).toBe(2)
      expect(cancels()).toEqual([])
      await server.close()
      servers.splice(servers.indexOf(server), 1)
      if (!isDead) break
      deaths++
    }
    expect(deaths).toBeGreaterThanOrEqual(6)
  })

  test("continues the run's trace: the call is a span, and the agent receives it", async () => {
    const { tracer, meter, span } = recorder()
    const received: unknown[] = []
    const { server, agent } = await remote(
      kind,
      ({ headers, message }) => {
        received.push(headers.traceparent)
        message("Because.")
      },
      { description: "Knows why." },
    )
    await agent.run("Why?", { telemetry: telemetry({ tracer, meter }), runId: "r" })
    const call = span("invoke_agent remote")
    const { traceId, spanId } = call.spanContext()
    expect(received).toEqual([`00-${traceId}-${spanId}-01`])
    expect(call.kind).toBe(SpanKind.CLIENT)
    expect(parentOf(call)).toBe(idOf(span("executor.process ask")))
    expect(call.attributes).toEqual({
      "workflow.name": "remote",
      "superstep.run.id": "r",
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "remote",
      "gen_ai.agent.description": "Knows why.",
      "gen_ai.provider.name": "a2a",
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(server.url).port),
    })
  })
})

test.each(["1.x", "0.3"] as const)(
  "a broken stream of the SDK %s is subscribed to again, and its end is noticed even if the new one misses it",
  async (version) => {
    const { open, opened } = gate()
    const kind = { version, streams: true }
    const act = async ({ task, artifact, status }: SdkTurn) => {
      task()
      artifact("Be")
      await opened
      artifact("cause.", true)
      status("completed")
    }
    const { server, agent, sends, cancels } = await remote(kind, act, { pollEvery: 100 })
    const running = agent.stream("Why?", { clock: quickClock() })
    const again = version === "1.x" ? "SubscribeToTask" : "tasks/resubscribe"
    // 0.3 may publish what follows before the subscriber listens, and then never ends the stream.
    void server.seen(again).then(open)
    for await (const event of running) {
      if (event.type === "model.delta" && !server.methods().includes(again)) server.breakConnections()
    }
    expect((await running).outputs).toEqual(["Because."])
    expect(sends()).toHaveLength(1)
    expect(cancels()).toEqual([])
  },
)
