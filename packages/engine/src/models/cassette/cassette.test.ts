import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  APICallError,
  type LanguageModelV3CallOptions,
  type LanguageModelV3StreamPart,
} from "@ai-sdk/provider"
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { callModel } from "../call/call-model.ts"
import { apiError, drivenModel, FINISH, textDelta } from "../call/driven-model.test-support.ts"
import type { Message, Model } from "../model.ts"
import type { Script } from "../script/script.ts"
import { scriptedModel } from "../script/scripted-model.ts"
import { addRecording, type CassetteOptions, cassette, repairCassette, startCassette } from "./cassette.ts"
import type { Recording } from "./recording-finder.ts"

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cassette-"))
  file = join(folder, "deep", "talk.jsonl")
})
afterEach(() => rmSync(folder, { recursive: true }))

function user(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

function by(agent: string, ordinal: number, text = "continue"): LanguageModelV3CallOptions {
  return {
    prompt: [{ role: "system", content: "be brief" }, user(text)],
    providerOptions: { superstep: { agent, ordinal } },
  }
}

/** A model that must not be called. */
const nobody = (): Model => expect.unreachable("the model must not be called")

const replay = (options: CassetteOptions = {}) => cassette(file, nobody, { mode: "replay", ...options })

async function record(script: Script, ...calls: LanguageModelV3CallOptions[]): Promise<void> {
  const model = cassette(file, scriptedModel(script), { mode: "record" })
  for (const call of calls) await Promise.resolve(model.doGenerate(call)).catch(() => undefined)
}

async function replyText(model: Model, call: LanguageModelV3CallOptions): Promise<string> {
  const { content } = await model.doGenerate(call)
  return content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`)).join("")
}

function failure(work: PromiseLike<unknown>): Promise<Error & Record<string, unknown>> {
  return Promise.resolve(work).then(
    () => expect.unreachable("it should have failed"),
    (error) => error,
  )
}

async function partsOf(
  stream: ReadableStream<LanguageModelV3StreamPart>,
): Promise<LanguageModelV3StreamPart[]> {
  const parts: LanguageModelV3StreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

describe("a cassette", () => {
  test("replays recordings without the model, under the model's name", async () => {
    const script = {
      w: [{ text: "one", usage: { input: 3, output: 1 } }, { tool_calls: [{ name: "t", args: { a: 1 } }] }],
    }
    await record(script, by("w", 0), by("w", 1))
    const whole = scriptedModel(script)
    const model = replay()
    expect(await model.doGenerate(by("w", 0))).toEqual(await whole.doGenerate(by("w", 0)))
    expect(await model.doGenerate(by("w", 1))).toEqual(await whole.doGenerate(by("w", 1)))
    expect(model).toMatchObject({ provider: "scripted", modelId: "script" })
  })

  test("replays streams piece by piece, including times and bytes", async () => {
    const { model, called } = drivenModel()
    const taped = cassette(file, model, { mode: "record" })
    const live = taped.doStream(by("w", 0))
    const timestamp = new Date(0)
    const image = { type: "file", mediaType: "image/png", data: "AAAA" } as const
    const sent: LanguageModelV3StreamPart[] = [
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "r1", timestamp, modelId: "m1" },
      textDelta("one"),
      textDelta(" two"),
      { ...image, data: new Uint8Array([0, 0, 0]) },
      FINISH,
    ]
    const driven = await called(1)
    driven.send(...sent, { type: "raw", rawValue: "bytes" })
    driven.end()
    expect(await partsOf((await live).stream)).toHaveLength(7)
    const again = await partsOf((await replay().doStream(by("w", 0))).stream)
    expect(again).toEqual(sent.map((part) => (part.type === "file" ? image : part)))
  })

  test("a recorded stream can be replayed as a complete reply, and vice versa", async () => {
    const taped = cassette(file, scriptedModel(["as a stream", "as a whole"]), { mode: "record" })
    await partsOf((await taped.doStream(by("w", 0))).stream)
    await taped.doGenerate(by("w", 1))
    const model = replay()
    expect(await replyText(model, by("w", 0))).toBe("as a stream")
    const parts = await partsOf((await model.doStream(by("w", 1))).stream)
    expect(parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("")).toBe("as a whole")
  })

  test("passes a stream on as it arrives: recording does not delay it", async () => {
    const { model, called } = drivenModel()
    const live = cassette(file, model).doStream(by("w", 0))
    const driven = await called(1)
    driven.send(textDelta("early"))
    const reader = (await live).stream.getReader()
    expect((await reader.read()).value).toEqual(textDelta("early"))
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(2)
    driven.send(FINISH)
    driven.end()
  })

  test("answers callModel like the model, including token counts", async () => {
    const call = { prompt: [user("hello")], caller: { agent: "a", ordinal: 0 } }
    const signal = new AbortController().signal
    const script = [{ reasoning: "hm", text: "one two", usage: { input: 9, output: 2 } }]
    const first = await callModel([cassette(file, scriptedModel(script))], call, {
      signal,
      onDelta: () => undefined,
    })
    const deltas: string[] = []
    const second = await callModel([replay()], call, { signal, onDelta: ({ text }) => deltas.push(text) })
    expect(second).toEqual(first)
    expect(deltas).toEqual(["h", "m", "one ", "two"])
  })
})

describe("failures", () => {
  test("are replayed with the same retryability", async () => {
    const { model, called } = drivenModel()
    const taped = cassette(file, model, { mode: "record" })
    const first = failure(taped.doGenerate(by("w", 0)))
    const headers = { "retry-after": "7", "set-cookie": "session=1" }
    ;(await called(1)).fail(
      apiError(429, "slow down", { responseHeaders: headers, data: { error: { type: "rate_limit" } } }),
    )
    await first
    const second = failure(taped.doGenerate(by("w", 0)))
    ;(await called(2)).fail(
      Object.assign(new TypeError("fetch failed"), {
        cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }),
      }),
    )
    await second
    const third = taped.doGenerate(by("w", 0))
    ;(await called(3)).answer("at last")
    await third

    const again = replay()
    const limit = await failure(again.doGenerate(by("w", 0)))
    expect(APICallError.isInstance(limit)).toBe(true)
    expect(limit).toMatchObject({ message: "slow down", statusCode: 429, isRetryable: true })
    expect(limit).toMatchObject({
      responseHeaders: { "retry-after": "7" },
      data: { error: { type: "rate_limit" } },
    })
    const network = await failure(again.doGenerate(by("w", 0)))
    expect(network).toMatchObject({
      name: "TypeError",
      message: "fetch failed",
      cause: { code: "ECONNREFUSED" },
    })
    expect(await replyText(again, by("w", 0))).toBe("at last")
  })

  test("an interrupted stream fails at the same position", async () => {
    const { model, called } = drivenModel()
    const live = cassette(file, model, { mode: "record" }).doStream(by("w", 0))
    const driven = await called(1)
    driven.send(textDelta("half a"))
    const reader = (await live).stream.getReader()
    await reader.read()
    driven.end(new Error("socket hang up"))
    await expect(reader.read()).rejects.toThrow("socket hang up")

    const again = (await replay().doStream(by("w", 0))).stream.getReader()
    expect((await again.read()).value).toEqual(textDelta("half a"))
    await expect(again.read()).rejects.toThrow("socket hang up")
    await expect(replay().doGenerate(by("w", 0))).rejects.toThrow("socket hang up")
  })

  test("an error within a stream is recorded, even if its reader cancels", async () => {
    const { model, called } = drivenModel()
    const call = { prompt: [user("hello")], caller: { agent: "a", ordinal: 0 } }
    const options = { signal: new AbortController().signal, onDelta: () => undefined, retry: { attempts: 1 } }
    const live = failure(callModel([cassette(file, model)], call, options))
    const driven = await called(1)
    driven.send(textDelta("a"), { type: "error", error: apiError(400, "not like this") })
    const first = await live
    expect(await failure(callModel([replay()], call, options))).toMatchObject({
      code: "MODEL_FAILED",
      message: first.message,
    })
    await expect(replay().doGenerate(by("a", 0))).rejects.toMatchObject({ code: "CASSETTE_MISS" })
  })

  test("a call that its caller stopped is not recorded", async () => {
    const { model, called } = drivenModel()
    const taped = cassette(file, model, { mode: "record" })
    const stop = new AbortController()
    const whole = failure(taped.doGenerate({ ...by("w", 0), abortSignal: stop.signal }))
    const half = taped.doStream({ ...by("w", 0), abortSignal: stop.signal })
    const driven = await called(2)
    driven.send(textDelta("half"))
    const reader = (await half).stream.getReader()
    await reader.read()
    stop.abort()
    ;(await called(1)).fail(new Error("aborted"))
    await whole
    driven.end(new Error("aborted"))
    await failure(reader.read())
    await failure(taped.doGenerate({ ...by("w", 0), abortSignal: stop.signal }))
    expect(readFileSync(file, "utf8")).toBe('{"cassette":1}\n')
  })

  test("errors of the engine are not recorded", async () => {
    await record([], by("w", 0))
    expect(readFileSync(file, "utf8")).toBe('{"cassette":1}\n')
  })
})

describe("strict", () => {
  test("each agent has its own order", async () => {
    await record({ a: ["a1", "a2"], b: ["b1"] }, by("a", 0), by("b", 0), by("a", 1))
    const model = replay()
    expect(await replyText(model, by("b", 0))).toBe("b1")
    expect(await replyText(model, by("a", 0))).toBe("a1")
    expect(await replyText(model, by("a", 1))).toBe("a2")
  })

  test("a process that resumes a run resumes the cassette", async () => {
    await record(
      { a: ["1", { error: { code: 500 } }, "2", "3"] },
      by("a", 0),
      by("a", 1),
      by("a", 1),
      by("a", 2),
    )
    expect(await replyText(replay(), by("a", 2))).toBe("3")
    const model = replay()
    expect(await failure(model.doGenerate(by("a", 1)))).toMatchObject({ statusCode: 500 })
    expect(await replyText(model, by("a", 1))).toBe("2")
  })

  test("calls are replayed in the order in which they were made, not in which they ended", async () => {
    const { model, called } = drivenModel()
    const taped = cassette(file, model)
    const both = [taped.doGenerate(by("a", 0, "first")), taped.doGenerate(by("a", 0, "second"))]
    ;(await called(2)).answer("2")
    await both[1]
    ;(await called(1)).answer("1")
    await both[0]
    const again = replay()
    expect(await replyText(again, by("a", 0, "first"))).toBe("1")
    expect(await replyText(again, by("a", 0, "second"))).toBe("2")
  })

  const tool = (name: string, description: string) =>
    ({ type: "function", name, description, inputSchema: {} }) as const

  test.each<[string, Partial<LanguageModelV3CallOptions>, string]>([
    [
      "a different message",
      { prompt: [{ role: "system", content: "be brief" }, user("stop")] },
      'message 2 was "continue" (user) and is "stop" (user)',
    ],
    [
      "an additional message",
      { prompt: [...by("a", 0).prompt, user("and?")] },
      'message 3 is new: "and?" (user)',
    ],
    [
      "a missing message",
      { prompt: [{ role: "system", content: "be brief" }] },
      'message 2 is gone: "continue" (user)',
    ],
    ["another setting", { temperature: 0.5 }, "temperature was not set and is 0.5"],
    ["another tool", { tools: [tool("search", "new")] }, 'tool "search" is new'],
    [
      "another schema",
      { responseFormat: { type: "json", schema: { type: "string" } } },
      "responseFormat was not set and is",
    ],
  ])("%s is a miss that reports the difference", async (_, changed, why) => {
    await record({ a: ["x"] }, by("a", 0))
    const error = await failure(replay().doGenerate({ ...by("a", 0), ...changed }))
    expect(error).toMatchObject({ code: "CASSETTE_MISS", retryable: false, fatal: true })
    expect(error.message).toContain(`has no reply for call 1 of agent "a". Call 1 on it differs: ${why}`)
    expect(error.message).toContain('Record it again with mode: "record", or use match: "lenient".')
  })

  test("a difference deep in a long message is shown with its context", async () => {
    const long = "word ".repeat(100)
    await record({ a: ["x"] }, by("a", 0, `${long}cats`))
    const error = await failure(replay().doGenerate(by("a", 0, `${long}dogs`)))
    expect(error.message).toMatch(/was "…[\w ]{0,30}cats" \(user\) and is "…[\w ]{0,30}dogs"/)
  })

  test("differences between machines are ignored", async () => {
    await record({ a: ["x"] }, { ...by("a", 0), headers: { "x-trace": "1" } })
    const { signal } = new AbortController()
    const call = {
      ...by("a", 0),
      headers: { "x-trace": "2" },
      abortSignal: signal,
      temperature: undefined as unknown as number,
    }
    expect(await replyText(replay(), call)).toBe("x")
  })

  test("a call after the last is a miss, compared with the closest one", async () => {
    await record({ a: ["x"] }, by("a", 0))
    const model = replay()
    await model.doGenerate(by("a", 0))
    const error = await failure(model.doGenerate(by("a", 1, "more")))
    expect(error.message).toContain(
      'It has 1 of 1 calls by this caller; compared with the closest one, message 2 was "continue"',
    )
    expect((await failure(replay().doGenerate(by("b", 0)))).message).toContain(
      "It has 0 of 1 calls by this caller",
    )
  })

  test("an aborted call is not answered, and uses no recording", async () => {
    await record({ a: ["x"] }, by("a", 0))
    const model = replay()
    await failure(model.doGenerate({ ...by("a", 0), abortSignal: AbortSignal.abort() }))
    expect(await replyText(model, by("a", 0))).toBe("x")
  })
})

describe("lenient", () => {
  const lenient = () => replay({ match: "lenient" })

  test("uses the same agent's call with the same ordinal if the text has changed", async () => {
    await record({ a: ["1", "2"] }, by("a", 0, "on Monday"), by("a", 1, "on Tuesday"))
    const model = lenient()
    expect(await replyText(model, by("a", 1, "on Friday"))).toBe("2")
    expect(await replyText(model, by("a", 0, "on Sunday"))).toBe("1")
  })

  test("uses the call with the same question if the ordinal has changed", async () => {
    await record({ a: ["1", "2"] }, by("a", 0, "cats?"), by("a", 1, "dogs?"))
    expect(await replyText(lenient(), by("b", 7, "dogs?"))).toBe("2")
  })

  test("uses an identical request first, and a failed call before its retry", async () => {
    const script = { a: ["other", { error: { code: 500 } }, "mine"] }
    await record(script, by("a", 0, "x"), by("a", 1, "y"), by("a", 1, "y"))
    const model = lenient()
    expect(await failure(model.doGenerate(by("a", 1, "y")))).toMatchObject({ statusCode: 500 })
    expect(await replyText(model, by("a", 1, "y"))).toBe("mine")
    expect(await replyText(model, by("a", 0, "y"))).toBe("mine")
  })

  test("repeats a reply as often as needed", async () => {
    await record({ a: ["1"] }, by("a", 0))
    const model = lenient()
    expect([await replyText(model, by("a", 0)), await replyText(model, by("a", 0))]).toEqual(["1", "1"])
  })

  test("no match is a miss", async () => {
    await record({ a: ["1"] }, by("a", 0, "cats?"))
    const error = await failure(lenient().doGenerate(by("b", 3, "dogs?")))
    expect(error).toMatchObject({ code: "CASSETTE_MISS" })
    expect(error.message).not.toContain("lenient")
  })

  test("calls of unnamed callers are counted", async () => {
    const call = (text: string) => ({ prompt: [user(text)] })
    await record(["1", "2"], call("a"), call("b"))
    const model = lenient()
    expect([await replyText(model, call("x")), await replyText(model, call("y"))]).toEqual(["1", "2"])
  })
})

describe("auto", () => {
  test("replays what is there and records what comes after", async () => {
    await record({ a: ["1"] }, by("a", 0))
    const live = scriptedModel({ a: ["never", "2", "3"] })
    const model = cassette(file, live)
    expect([
      await replyText(model, by("a", 0)),
      await replyText(model, by("a", 1)),
      await replyText(model, by("a", 2)),
    ]).toEqual(["1", "2", "3"])
    expect(live.calls).toHaveLength(2)
    const again = replay()
    expect([
      await replyText(again, by("a", 0)),
      await replyText(again, by("a", 1)),
      await replyText(again, by("a", 2)),
    ]).toEqual(["1", "2", "3"])
  })

  test("does not replace the recording of another request", async () => {
    await record({ a: ["1", "2"] }, by("a", 0), by("a", 1))
    const live = scriptedModel(["new"])
    await expect(cassette(file, live).doGenerate(by("a", 0, "changed"))).rejects.toMatchObject({
      code: "CASSETTE_MISS",
    })
    expect(live.calls).toHaveLength(0)
  })

  test("creates the model only when it is needed", async () => {
    await record({ a: ["1"] }, by("a", 0))
    let made = 0
    const model = cassette(file, async () => {
      made++
      return scriptedModel({ a: ["never", "2"] })
    })
    await model.doGenerate(by("a", 0))
    expect(made).toBe(0)
    expect(await replyText(model, by("a", 1))).toBe("2")
    expect(made).toBe(1)
  })

  test("repairs a line that a dying process left incomplete", async () => {
    await record({ a: ["1"] }, by("a", 0))
    appendFileSync(file, '{"call":1,"agent":"a","mod')
    expect(await replyText(replay(), by("a", 0))).toBe("1")
    await cassette(file, scriptedModel({ a: ["never", "2"] })).doGenerate(by("a", 1))
    const model = replay()
    expect([await replyText(model, by("a", 0)), await replyText(model, by("a", 1))]).toEqual(["1", "2"])
  })
})

describe("the file", () => {
  test("can be shared by models, each with its own recordings", async () => {
    const of = (as: string, text: string) => cassette(file, scriptedModel([text], { as }), { mode: "record" })
    const [large, small] = [of("acme/large", "L"), of("acme/small", "S")]
    await small.doGenerate(by("a", 0))
    await large.doGenerate(by("a", 0))
    const again = (as: string) => cassette(file, scriptedModel([], { as }), { mode: "replay" })
    expect(await replyText(again("acme/large"), by("a", 0))).toBe("L")
    expect(await replyText(again("acme/small"), by("a", 0))).toBe("S")
  })

  test("is overwritten when it is recorded", async () => {
    await record({ a: ["old"] }, by("a", 0))
    await record({ a: ["new"] }, by("a", 0))
    expect(await replyText(replay(), by("a", 0))).toBe("new")
  })

  test.each([
    ["that is missing", undefined, "CASSETTE_MISSING", 'Record it once with mode: "record"'],
    ["that is empty", "", "CASSETTE_MISSING", "There is no cassette"],
    ["of a later version", '{"cassette":2}\n', "CASSETTE_VERSION", "has version 2"],
    ["that is something else", "hello\n", "CASSETTE_UNREADABLE", "Line 1"],
    ["with a line that is no call", '{"cassette":1}\n{"call":0}\n', "CASSETTE_UNREADABLE", "Line 2"],
    ["with a line that is no JSON", '{"cassette":1}\n{"call\n', "CASSETTE_UNREADABLE", "Line 2"],
  ])("a file %s is rejected before the first call", (_, text, code, why) => {
    file = join(folder, "talk.jsonl")
    if (text !== undefined) writeFileSync(file, text)
    expect(() => replay()).toThrow(expect.objectContaining({ code, message: expect.stringContaining(why) }))
  })

  test("that cannot be read or written is reported, with the reason", () => {
    file = folder
    expect(() => replay()).toThrow(expect.objectContaining({ code: "CASSETTE_UNREADABLE" }))
    expect(() => cassette(file, nobody, { mode: "record" })).toThrow(
      expect.objectContaining({ code: "CASSETTE_UNWRITABLE" }),
    )
  })

  test("an unknown mode or match is rejected", () => {
    expect(() => replay({ mode: "rewind" as "auto" })).toThrow(
      'The mode of a cassette must be record, replay, auto, not "rewind".',
    )
    expect(() => replay({ match: "loose" as "strict" })).toThrow(
      expect.objectContaining({ code: "CASSETTE_INVALID" }),
    )
  })
})

const noModes = process.platform === "win32"
const umask = process.umask()
const mode = (path: string) => statSync(path).mode & 0o777

afterEach(() => {
  process.umask(umask)
  vi.restoreAllMocks()
})

function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-cassette-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "calls.jsonl")
}

describe.skipIf(noModes)("the file of a cassette (needs file modes: not on Windows)", () => {
  test("is private to its owner, whatever the umask", () => {
    process.umask(0)
    const file = freshFile()
    startCassette(file)
    addRecording(file, { call: 1 } as Recording)
    expect(mode(file)).toBe(0o600)
  })

  test.each([startCassette, repairCassette])(
    "that others can read is made private before it is written, with a warning: $name",
    (write) => {
      const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
      const file = freshFile()
      writeFileSync(file, '{"cassette":1}\n')
      chmodSync(file, 0o644)
      write(file)
      expect(mode(file)).toBe(0o600)
      expect(warnings.mock.calls).toEqual([
        [
          `${file} was readable by other users: its mode was 0644 and is now 0600.`,
          expect.objectContaining({ code: "FILE_PERMISSIONS" }),
        ],
      ])
    },
  )
})
