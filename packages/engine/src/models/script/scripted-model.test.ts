import {
  APICallError,
  type LanguageModelV3CallOptions,
  type LanguageModelV3StreamPart,
} from "@ai-sdk/provider"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isSuperstepError } from "../../core/index.ts"
import { manualClock } from "../../testing/manual-clock.ts"
import { callModel } from "../call/call-model.ts"
import type { Message, Model } from "../model.ts"
import type { Script } from "./script.ts"
import { scriptedModel } from "./scripted-model.ts"

function user(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

/** A call like that of an agent. */
function by(agent: string, ordinal: number, text = "continue"): LanguageModelV3CallOptions {
  return { prompt: [user(text)], providerOptions: { superstep: { agent, ordinal } } }
}

const plain: LanguageModelV3CallOptions = { prompt: [user("hello")] }

async function replyText(model: Model, call: LanguageModelV3CallOptions = plain): Promise<string> {
  const { content } = await model.doGenerate(call)
  return content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`)).join("")
}

async function streamed(
  model: Model,
  call: LanguageModelV3CallOptions = plain,
): Promise<LanguageModelV3StreamPart[]> {
  const parts: LanguageModelV3StreamPart[] = []
  for await (const part of (await model.doStream(call)).stream) parts.push(part)
  return parts
}

function failure(work: PromiseLike<unknown>): Promise<Error & { code?: string }> {
  return Promise.resolve(work).then(
    () => expect.unreachable("it should have failed"),
    (error) => error,
  )
}

describe("the replies of a script", () => {
  test("are used in order, from texts, values and tool calls", async () => {
    const model = scriptedModel([
      "first",
      { json: { a: [1, null] } },
      { text: "let me look", tool_calls: [{ name: "search", args: { q: "x" } }, { name: "now" }] },
    ])
    expect(await replyText(model)).toBe("first")
    expect(await replyText(model)).toBe('{"a":[1,null]}')
    expect(await model.doGenerate(plain)).toMatchObject({
      finishReason: { unified: "tool-calls" },
      content: [
        { type: "text", text: "let me look" },
        { type: "tool-call", toolName: "search", input: '{"q":"x"}' },
        { type: "tool-call", toolName: "now", input: "{}" },
      ],
    })
  })

  test("every tool call has a unique deterministic id, unless the script sets one", async () => {
    const script: Script = [{ tool_calls: [{ name: "a" }, { name: "b", id: "mine" }], repeat: 2 }]
    const ids = async () => {
      const model = scriptedModel(script)
      const contents = [await model.doGenerate(by("é b/c", 0)), await model.doGenerate(by("é b/c", 1))]
      return contents.flatMap(({ content }) =>
        content.map((part) => part.type === "tool-call" && part.toolCallId),
      )
    }
    const first = await ids()
    expect(new Set(first).size).toBe(3)
    expect(first).toContain("mine")
    expect(first.every((id) => /^[\w-]{1,64}$/.test(String(id)))).toBe(true)
    expect(await ids()).toEqual(first)
  })

  test("arguments as text are passed on unchanged, JSON or not", async () => {
    const model = scriptedModel([{ tool_calls: [{ name: "a", args: '{"q": ' }] }])
    expect((await model.doGenerate(plain)).content).toMatchObject([{ input: '{"q": ' }])
  })

  test("tokens are those of the script, or estimated if it has none", async () => {
    const model = scriptedModel([{ text: "a", usage: { input: 7, output: 3 } }, "b"])
    const call = { prompt: [user("hello")], caller: { agent: "", ordinal: 0 } }
    const options = { signal: new AbortController().signal }
    const known = (await callModel([model], call, options)).usage
    expect(known).toMatchObject({ inputTokens: 7, outputTokens: 3 })
    expect(known.estimatedCalls).toBeUndefined()
    expect((await callModel([model], call, options)).usage).toMatchObject({
      outputTokens: 1,
      estimatedCalls: 1,
    })
  })

  test("it can have the name of another model", () => {
    expect(scriptedModel([], { as: "openai/gpt-5" })).toMatchObject({ provider: "openai", modelId: "gpt-5" })
    expect(scriptedModel([])).toMatchObject({ provider: "scripted", modelId: "script" })
  })

  test("its calls and the number of remaining replies can be inspected", async () => {
    const model = scriptedModel({ writer: ["a", { text: "b", repeat: 3 }] })
    expect(model.left("writer")).toBe(4)
    await replyText(model, by("writer", 0, "write!"))
    expect(model.calls).toMatchObject([{ agent: "writer", ordinal: 0, prompt: [user("write!")] }])
    expect(model.left("writer")).toBe(3)
    expect(model.left("nobody")).toBe(0)
  })
})

describe("agents", () => {
  test("each have their own replies, in any order", async () => {
    const model = scriptedModel({ writer: ["w1", "w2"], critic: ["c1"], "*": ["other"] })
    expect(await replyText(model, by("critic", 0))).toBe("c1")
    expect(await replyText(model, by("writer", 0))).toBe("w1")
    expect(await replyText(model, by("planner", 0))).toBe("other")
    expect(await replyText(model, by("writer", 1))).toBe("w2")
  })

  test("share a plain list in the order of their calls", async () => {
    const model = scriptedModel(["1", "2", "3"])
    expect(await replyText(model, by("a", 0))).toBe("1")
    expect(await replyText(model, by("b", 0))).toBe("2")
    expect(await replyText(model, by("a", 1))).toBe("3")
  })

  test("that call at once get their replies in the order of the calls, not of the delays", async () => {
    const clock = manualClock()
    const model = scriptedModel([{ text: "slow", delay: 50 }, "fast"], { clock })
    const both = Promise.all([replyText(model), replyText(model)])
    await clock.advance(50)
    expect(await both).toEqual(["slow", "fast"])
  })

  test("without a script of their own fail, and the error names those that have one", async () => {
    const error = await failure(replyText(scriptedModel({ writer: ["w"] }), by("critic", 0)))
    expect(error).toMatchObject({ code: "SCRIPT_EXHAUSTED", retryable: false, fatal: true })
    expect(error.message).toContain('no entries for agent "critic"; it has some for agent "writer"')
  })
})

describe("a script without a matching entry", () => {
  test("fails the call when it is exhausted, with the caller, the number of calls and the last message", async () => {
    const model = scriptedModel({ writer: ["one"] })
    await replyText(model, by("writer", 0))
    const error = await failure(replyText(model, by("writer", 1, "and   now\nthis?")))
    expect(error).toMatchObject({ code: "SCRIPT_EXHAUSTED", retryable: false, fatal: true })
    expect(error.message).toBe(
      'The script has 1 reply for agent "writer", but call 2 was made. Add an entry, or set repeat: true on the last one. ' +
        'The last message was "and now this?" (user).',
    )
  })

  test("fails a call whose last message does not match, and keeps the entry", async () => {
    const model = scriptedModel({ writer: [{ text: "sunny", when: "weather" }] })
    const error = await failure(replyText(model, by("writer", 0, "what time is it?")))
    expect(error).toMatchObject({ code: "SCRIPT_MISMATCH", retryable: false, fatal: true })
    expect(error.message).toContain(
      'Entry 1 of the script for agent "writer" expects a last message with "weather"',
    )
    expect(error.message).toContain('"what time is it?" (user)')
    expect(await replyText(model, by("writer", 0, "the weather?"))).toBe("sunny")
  })

  test("fails callModel with the same error: no retry, no wrapping, no fallback", async () => {
    const [empty, other] = [scriptedModel([]), scriptedModel(["fallback"])]
    const call = { prompt: [user("hello")], caller: { agent: "a", ordinal: 0 } }
    const error = await failure(callModel([empty, other], call, { signal: new AbortController().signal }))
    expect(isSuperstepError(error, "SCRIPT_EXHAUSTED")).toBe(true)
    expect([empty.calls.length, other.calls.length]).toEqual([1, 0])
  })
})

describe("when", () => {
  test.each<[string | RegExp, string, boolean]>([
    ["weather", "the weather here", true],
    ["weather", "the Weather here", false],
    ["/weather/i", "the Weather here", true],
    [/^w\w+r$/, "weather", true],
    ["/a|b", "say /a|b", true],
    ["/", "either/or", true],
    [".*", "anything", false],
  ])("%s on %j: %s", async (when, text, fits) => {
    const call = replyText(scriptedModel([{ text: "yes", when }]), { prompt: [user("weather"), user(text)] })
    if (fits) expect(await call).toBe("yes")
    else expect(await failure(call)).toMatchObject({ code: "SCRIPT_MISMATCH" })
  })

  test("a stateful pattern becomes stateless", async () => {
    const model = scriptedModel([{ text: "yes", when: /hello/gy, repeat: true }])
    expect([await replyText(model), await replyText(model), await replyText(model)]).toEqual([
      "yes",
      "yes",
      "yes",
    ])
  })

  test("matches tool results too", async () => {
    const result: Message = {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "1",
          toolName: "t",
          output: { type: "json", value: { sky: "blue" } },
        },
      ],
    }
    expect(
      await replyText(scriptedModel([{ text: "ok", when: '"sky":"blue"' }]), { prompt: [user("x"), result] }),
    ).toBe("ok")
  })

  test("an empty prompt has no message to match", async () => {
    const error = await failure(replyText(scriptedModel([{ text: "x", when: "a" }]), { prompt: [] }))
    expect(error.message).toContain("it was none")
  })
})

describe("repeat", () => {
  test("a number is how often, true is forever", async () => {
    const model = scriptedModel(["a", { text: "b", repeat: 2 }, { text: "c", repeat: true }])
    const replies: string[] = []
    for (let n = 0; n < 6; n++) replies.push(await replyText(model))
    expect(replies).toEqual(["a", "b", "b", "c", "c", "c"])
    expect(model.left()).toBe(Number.POSITIVE_INFINITY)
  })
})

describe("errors", () => {
  test("look like a provider's: by status, or as the script defines", async () => {
    const model = scriptedModel([
      { error: { code: 429, message: "slow down" } },
      { error: { code: "overloaded", retryable: true } },
      { error: { message: "no" } },
      { error: { code: 500, retryable: false } },
    ])
    const errors = [
      await failure(replyText(model)),
      await failure(streamed(model)),
      await failure(replyText(model)),
      await failure(replyText(model)),
    ]
    expect(errors.every((error) => APICallError.isInstance(error))).toBe(true)
    expect(errors).toMatchObject([
      { message: "slow down", code: "429", statusCode: 429, isRetryable: true },
      { code: "overloaded", isRetryable: true },
      { message: "no", isRetryable: false },
      { statusCode: 500, isRetryable: false },
    ])
  })

  test("that are retryable are retried, and the next entry answers", async () => {
    const clock = manualClock()
    const model = scriptedModel({ a: [{ error: { code: 429 }, repeat: 2 }, "done"] }, { clock })
    const call = { prompt: [user("hello")], caller: { agent: "a", ordinal: 0 } }
    const reply = callModel([model], call, {
      signal: new AbortController().signal,
      clock,
      retry: { delay: 10 },
    })
    await clock.advance(100)
    expect((await reply).content).toEqual([{ type: "text", text: "done" }])
  })
})

describe("delay", () => {
  test("uses the clock, for complete replies and for streams", async () => {
    const clock = manualClock()
    const model = scriptedModel(
      [
        { text: "a", delay: 100 },
        { text: "b", delay: 100 },
      ],
      { clock },
    )
    let done = 0
    void replyText(model).then(() => done++)
    void streamed(model).then(() => done++)
    await clock.advance(99)
    expect(done).toBe(0)
    await clock.advance(1)
    expect(done).toBe(2)
  })

  test("ends at once when the call is stopped, and leaves no timer", async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const reply = failure(
      replyText(scriptedModel([{ text: "a", delay: 100 }], { clock }), {
        ...plain,
        abortSignal: stop.signal,
      }),
    )
    stop.abort()
    expect(await reply).toMatchObject({ code: "CANCELLED" })
    expect(clock.pending).toBe(0)
  })

  test("a call that was stopped before it was made uses no entry", async () => {
    const model = scriptedModel(["a"])
    await failure(replyText(model, { ...plain, abortSignal: AbortSignal.abort(new Error("stopped")) }))
    expect(await replyText(model)).toBe("a")
  })

  test("a stream that is stopped half-way fails", async () => {
    const stop = new AbortController()
    const { stream } = await scriptedModel(["one two three"]).doStream({ ...plain, abortSignal: stop.signal })
    const reader = stream.getReader()
    await reader.read()
    stop.abort(new Error("enough"))
    await expect(reader.read()).rejects.toThrow("enough")
  })
})

describe("a new process", () => {
  const script: Script = {
    a: [
      "1",
      { error: { code: 503 } },
      { error: { code: 429 }, repeat: 2 },
      "2",
      { text: "3", repeat: 2 },
      "5",
    ],
  }

  test.each([
    [0, "1"],
    [2, "3"],
    [3, "3"],
    [4, "5"],
  ])("continues after %i answers with %j", async (ordinal, reply) => {
    expect(await replyText(scriptedModel(script), by("a", ordinal))).toBe(reply)
  })

  test("fails a call again that had failed before, because failed calls are not recorded", async () => {
    const model = scriptedModel(script)
    for (const status of [503, 429, 429]) {
      expect(await failure(replyText(model, by("a", 1)))).toMatchObject({ statusCode: status })
    }
    expect(await replyText(model, by("a", 1))).toBe("2")
    expect(await replyText(model, by("a", 2))).toBe("3")
  })

  test("is exhausted at the same call as the old one", async () => {
    const error = await failure(replyText(scriptedModel(script), by("a", 5)))
    expect(error).toMatchObject({ code: "SCRIPT_EXHAUSTED" })
    expect(await replyText(scriptedModel([{ text: "again", repeat: true }]), by("a", 1_000))).toBe("again")
    const endless = scriptedModel([{ error: { code: 500 }, repeat: true }])
    expect(await failure(replyText(endless, by("a", 7)))).toMatchObject({ statusCode: 500 })
  })

  test("for any script, a process that takes over after any call gets the same remaining replies", async () => {
    const entry = fc.oneof(
      fc.string(),
      fc.record({ error: fc.constant({ code: 500 }), repeat: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ text: fc.string(), repeat: fc.integer({ min: 1, max: 3 }) }),
    )
    /** The answers from a call on; failed attempts are retried. */
    const rest = async (list: Script, from: number) => {
      const model = scriptedModel(list)
      const answers: string[] = []
      for (let attempt = 0; attempt < 100; attempt++) {
        try {
          answers.push(await replyText(model, by("a", from + answers.length)))
        } catch (error) {
          if (isSuperstepError(error)) break
        }
      }
      return answers
    }
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), fc.nat(20), async (list, after) => {
        const all = await rest(list, 0)
        const from = Math.min(after, all.length)
        expect(await rest(list, from)).toEqual(all.slice(from))
      }),
      { numRuns: 50 },
    )
  })
})

describe("a stream", () => {
  test("sends text, reasoning and arguments in pieces, and ends like the complete reply", async () => {
    const entry = {
      reasoning: "hm, well",
      text: "one two three",
      tool_calls: [{ name: "t", args: { query: "a b c" } }],
      usage: { input: 1, output: 2 },
    }
    const parts = await streamed(scriptedModel([entry]))
    const whole = await scriptedModel([entry]).doGenerate(plain)
    const joined = (type: string) =>
      parts.flatMap((part) => (part.type === type && "delta" in part ? [part.delta] : []))
    expect(joined("text-delta")).toEqual(["one ", "two ", "three"])
    expect(joined("reasoning-delta").join("")).toBe("hm, well")
    expect(joined("tool-input-delta").length).toBeGreaterThan(1)
    expect(joined("tool-input-delta").join("")).toBe('{"query":"a b c"}')
    expect(parts.at(-2)).toEqual(whole.content.at(-1))
    expect(parts.at(-1)).toEqual({ type: "finish", finishReason: whole.finishReason, usage: whole.usage })
  })

  test("through callModel any text is the same in pieces, and no character is split", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 80 }), fc.nat(3), async (text, times) => {
        const long = text.repeat(times + 1)
        const call = { prompt: [user("hello")], caller: { agent: "a", ordinal: 0 } }
        const deltas: string[] = []
        const reply = await callModel([scriptedModel([long])], call, {
          signal: new AbortController().signal,
          onDelta: (delta) => deltas.push(delta.text),
        })
        expect(deltas.join("")).toBe(long)
        expect(reply.content.map((part) => (part.type === "text" ? part.text : ""))).toEqual(
          long === "" ? [] : [long],
        )
        if ([...long].length > 1) expect(deltas.length).toBeGreaterThan(1)
        expect(deltas.every((delta) => !/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(delta))).toBe(true)
      }),
      { numRuns: 50 },
    )
  })
})

describe("a script with unused entries", () => {
  const asked = (model: ReturnType<typeof scriptedModel>, agent: string) =>
    model.doGenerate({
      prompt: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      providerOptions: { superstep: { agent } },
    })

  test("is reported with the remaining entries and their agents", async () => {
    const model = scriptedModel({ a: ["1", "2", { text: "3", repeat: 2 }], b: ["1"], c: [] })
    await asked(model, "a")
    expect(() => model.assertUsed()).toThrow(
      'The script has unused entries: 3 replies for agent "a" from entry 2 on; 1 reply for agent "b" from entry 1 on.',
    )
    await asked(model, "b")
    for (let i = 0; i < 3; i++) await asked(model, "a")
    model.assertUsed()
  })

  test("has a last entry that repeats forever and must be used once", async () => {
    const model = scriptedModel(["1", { text: "2", repeat: true }])
    await asked(model, "x")
    expect(() => model.assertUsed()).toThrow(/from entry 2 on/)
    await asked(model, "x")
    model.assertUsed()
  })
})
