/** What goes wrong between here and a provider, over real HTTP and with the real packages. */
import { inspect } from "node:util"
import { SuperstepError, toErrorData } from "@superstep/engine/core"
import {
  callModel,
  type Model,
  type ModelCall,
  type ReplyDelta,
  resolveModel,
} from "@superstep/engine/models"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type ModelServer, modelServer, type ServedReply } from "./model-server.ts"
import { type ObservedClock, observedClock } from "./observed-clock.ts"
import {
  brokenStream,
  DONE,
  ends,
  event,
  garbage,
  hangUp,
  refused,
  says,
  silence,
  slowFirstByte,
  stream,
  stuckStream,
  text,
  toolPiece,
  used,
  wrongShape,
} from "./openai-replies.ts"

const KEY = "k9f8e7d6c5b4a39281706f5e4d3c2b1a"
const call: ModelCall = {
  prompt: [{ role: "user", content: [{ type: "text", text: "Hello?" }] }],
  caller: { agent: "greeter", ordinal: 0 },
}

let server: ModelServer
let clock: ObservedClock
let deltas: ReplyDelta[]
let controller: AbortController

beforeEach(async () => {
  server = await modelServer()
  clock = observedClock()
  deltas = []
  controller = new AbortController()
})
afterEach(() => server.close())

function named(provider: string, model = "m1"): Promise<Model> {
  const env = { MY_KEY: KEY }
  return resolveModel({ provider, model, baseUrl: `${server.url}/v1`, tokenKey: "MY_KEY" }, { env })
}

const retry = { attempts: 3, delay: 100 }
const options = () => ({ signal: controller.signal, clock, retry, random: () => 0 })
const onDelta = (delta: ReplyDelta) => void deltas.push(delta)

/** What someone who follows the deltas has on the screen. */
const screen = () =>
  deltas
    .filter(({ kind }) => kind === "text")
    .reduce((shown, { text, offset }) => shown.slice(0, offset) + text, "")

const whole = stream(says("Half"), says(" past nine."), ends("stop"), used, DONE)

describe.each(["openai-compatible", "openai"])("%s", (provider) => {
  test("429 with Retry-After: the next request goes out when that time is over, not before", async () => {
    server.serve(refused(429, "Slow down", { "retry-after": "2" }), text("Hi!"))
    const reply = callModel([await named(provider)], call, options())
    await clock.timerOf(2_000)
    await clock.advance(1_999)
    expect(server.requests).toHaveLength(1)
    await clock.advance(1)
    expect((await reply).content).toEqual([{ type: "text", text: "Hi!" }])
  })

  test.each<[string, ServedReply]>([
    ["a server error", refused(500, "Oops")],
    ["garbage", garbage],
    ["JSON of another shape", wrongShape],
    ["a connection that is dropped", hangUp],
  ])("%s: tried again, and both requests count", async (_, bad) => {
    server.serve(bad, text("Hi!"))
    const reply = callModel([await named(provider)], call, options())
    await clock.timerOf(100)
    await clock.advance(100)
    expect(await reply).toMatchObject({ content: [{ type: "text", text: "Hi!" }], usage: { modelCalls: 2 } })
    expect(server.requests).toHaveLength(2)
  })

  test.each<[string, ServedReply]>([
    ["whose connection breaks", brokenStream(says("Half an ans"))],
    ["that ends early as if all were well", stream(says("Half an ans"))],
    [
      "that has garbage in it",
      stream(says("Half an ans"), event("{not json"), says("wer"), ends("stop"), DONE),
    ],
    [
      "that has an error in it",
      stream(says("Half an ans"), event({ error: { message: "Oops", type: "server_error", code: null } })),
    ],
    [
      "that has a piece of another shape",
      stream(says("Half an ans"), event({ choices: 5 }), ends("stop"), DONE),
    ],
  ])("a stream %s: tried again from the start, and no text is doubled", async (_, bad) => {
    server.serve(bad, whole)
    const reply = callModel([await named(provider)], call, { ...options(), onDelta })
    await clock.timerOf(100)
    expect(screen()).toBe("")
    await clock.advance(100)
    expect(await reply).toMatchObject({
      content: [{ type: "text", text: "Half past nine." }],
      finish: "stop",
      usage: { modelCalls: 2, estimatedCalls: 1 },
    })
    expect(screen()).toBe("Half past nine.")
  })

  test("a slow first byte: the socket is closed, and the next attempt gets its own time", async () => {
    server.serve(slowFirstByte, whole)
    const model = await named(provider)
    const reply = callModel([model], call, { ...options(), onDelta, firstTokenTimeout: 5_000 })
    const first = await server.requested(1)
    await clock.advance(5_000)
    await first.hungUp
    await clock.timerOf(100)
    await clock.advance(100)
    expect((await reply).content).toEqual([{ type: "text", text: "Half past nine." }])
  })

  test("a stream that gets stuck: given up after the idle time, and another model answers", async () => {
    server.serve(stuckStream(says("Half an ")), whole)
    const models = [await named(provider), await named(provider, "m2")]
    let begun!: () => void
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const reply = callModel(models, call, {
      ...options(),
      retry: { attempts: 1 },
      idleTimeout: 3_000,
      onDelta(delta) {
        onDelta(delta)
        begun()
      },
    })
    await hasBegun
    await clock.timerOf(3_000)
    await clock.advance(3_000)
    expect((await reply).model).toBe(`${provider}/m2`)
    expect(screen()).toBe("Half past nine.")
  })

  test.each<[string, boolean, ServedReply]>([
    ["before its first byte", false, silence],
    ["before the first byte of a stream", true, silence],
    ["in the middle of a stream", true, stuckStream(says("Half an "))],
  ])("an abort %s reaches the socket", async (_, isStream, stuck) => {
    server.serve(stuck)
    const reply = callModel([await named(provider)], call, { ...options(), ...(isStream ? { onDelta } : {}) })
    const request = await server.requested(1)
    controller.abort(new SuperstepError("CANCELLED", "The run was cancelled."))
    await expect(reply).rejects.toMatchObject({ code: "CANCELLED", message: "The run was cancelled." })
    await request.hungUp
    expect(server.requests).toHaveLength(1)
  })

  test("the time of the whole call reaches the socket too", async () => {
    server.serve(silence)
    const reply = callModel([await named(provider)], call, { ...options(), timeout: 9_000 })
    const request = await server.requested(1)
    const failed = expect(reply).rejects.toMatchObject({ code: "MODEL_TIMEOUT" })
    await clock.advance(9_000)
    await failed
    await request.hungUp
  })

  test("a key that the server repeats in its refusal is in no error, however it is printed", async () => {
    server.serve((response, request) => {
      const { authorization } = request.headers
      refused(401, `Bad credentials: ${authorization}`, { "x-echo": String(authorization) })(
        response,
        request,
      )
    })
    const error = await callModel([await named(provider)], call, options()).catch((reason) => reason)
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`)
    expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: false })
    expect(error.message).toContain(`${provider}/m1 refused the key (401): Bad credentials:`)
    expect(
      inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(toErrorData(error)),
    ).not.toContain(KEY)
  })

  test("who calls is not sent to the provider", async () => {
    server.serve(text("Hi!"))
    await callModel([await named(provider)], call, options())
    expect(JSON.stringify(server.requests[0]?.body)).not.toMatch(/superstep|greeter|ordinal/)
  })
})

test("arguments of a tool call that the stream broke off in the middle of are not in the reply", async () => {
  const opening = toolPiece(0, {
    id: "c1",
    type: "function",
    function: { name: "find", arguments: '{"q":"ha' },
  })
  const again = toolPiece(0, {
    id: "c2",
    type: "function",
    function: { name: "find", arguments: '{"q":"x"}' },
  })
  server.serve(brokenStream(opening), stream(again, ends("tool_calls"), used, DONE))
  const reply = callModel([await named("openai-compatible")], call, { ...options(), onDelta })
  await clock.timerOf(100)
  await clock.advance(100)
  expect((await reply).content).toEqual([{ type: "tool-call", id: "c2", name: "find", args: '{"q":"x"}' }])
  expect(deltas.at(-1)).toEqual({
    kind: "tool",
    text: '{"q":"x"}',
    offset: 0,
    tool: { id: "c2", name: "find" },
  })
})

test("an unreachable server is reported as such, with what to check", async () => {
  const model = await named("openai-compatible")
  await server.close()
  const error = await callModel([model], call, { ...options(), retry: { attempts: 1 } }).catch(
    (reason) => reason,
  )
  expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: true })
  expect(error.message).toMatch(/^openai-compatible\/m1 could not be reached: .*Check the network/)
  server = await modelServer()
})
