/** The size of prompts is bounded, including the newest turn and tool results, and calls keep their results (F1 to F3). */
import fc from "fast-check"
import { describe, expect, inject, test } from "vitest"
import { memoryStore } from "../index.ts"
import { apiError } from "../models/call/driven-model.test-support.ts"
import { estimateInput, type Message } from "../models/index.ts"
import { tool } from "../tools/index.ts"
import { cutMiddle, fitMessages, withinBounds } from "./fit-messages.ts"
import { chooseMessages } from "./history-policy.ts"
import {
  agent,
  conversation,
  type HistoryPolicy,
  lastItems,
  summarise,
  tokenWindow,
  validHistory,
} from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const HUGE = `BEGINNING ${'0123456789\n"quoted" '.repeat(27_000)} END`
/** Tool results are recorded up to 100,000 characters. */
const RECORDED = HUGE.slice(-90_000)
const dump = tool({ name: "dump", description: "Dumps.", run: () => HUGE })

function call(id: string, input: object = {}): Message {
  const part = { type: "tool-call" as const, toolCallId: id, toolName: "dump", input }
  const thought = { type: "reasoning" as const, text: "signed", providerOptions: { a: { signature: "s" } } }
  return { role: "assistant", content: [thought, part] }
}

function result(id: string, value: string): Message {
  const output = { type: "text" as const, value }
  return { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "dump", output }] }
}

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

/** The largest prompt that the model received, in characters and in tokens. */
function largest(model: ReturnType<typeof pureModel>) {
  const sizes = model.calls.map(({ prompt }) => JSON.stringify(prompt).length)
  return {
    characters: Math.max(...sizes),
    tokens: Math.max(...model.calls.map(({ prompt }) => estimateInput({ prompt }))),
  }
}

describe("a prompt is bounded even if one tool result has 500 KB", () => {
  const policies: [string, HistoryPolicy, number][] = [
    ["tokenWindow(8000)", tokenWindow(8_000), 8_000],
    ["tokenWindow with a cap", tokenWindow(8_000, { toolResultTokens: 500 }), 700],
    ["lastItems with a cap", lastItems(10, { toolResultTokens: 500 }), 700],
    ["summarise by tokens", summarise({ tokens: 8_000 }), 8_000],
  ]
  test.each(policies)("%s", async (_, history, most) => {
    expect(HUGE.length).toBeGreaterThan(500_000)
    const model = pureModel((last, turn) => (turn === 0 ? { calls: [{ name: "dump" }] } : last))
    await agent({ name: "x", model, tools: [dump], history }).run("go")
    expect(model.calls).toHaveLength(2)
    expect(largest(model).tokens).toBeLessThanOrEqual(most)
    expect(largest(model).characters).toBeLessThan(most * 4 * 1.2)
    // The beginning and the end are included, with a note that something is missing.
    const seen = chooseMessages(history, [user("go"), call("1"), result("1", HUGE)])
    expect(estimateInput({ prompt: [...seen] })).toBeLessThanOrEqual(most)
    expect(JSON.stringify(seen)).toMatch(/BEGINNING.*characters left out.*END/s)
  })

  test("the conversation itself stays complete", async () => {
    const model = pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "dump" }] } : "done"))
    const tools = [tool({ name: "dump", description: "Dumps.", run: () => RECORDED })]
    const x = agent({ name: "x", model, tools, history: tokenWindow(1_000), messages: conversation() })
    const { state } = await x.run("go")
    expect(JSON.stringify(state.messages)).toContain(JSON.stringify(RECORDED).slice(1, -1))
  })

  test("and so is one with a last user message or arguments of that length", () => {
    const asked = fitMessages([user("old"), user(HUGE)], 1_000)
    expect(estimateInput({ prompt: [...asked] })).toBeLessThanOrEqual(1_000)
    const wrote = fitMessages([user("go"), call("1", { path: "a", content: HUGE }), result("1", "ok")], 1_000)
    expect(estimateInput({ prompt: [...wrote] })).toBeLessThanOrEqual(1_000)
    expect(wrote).toHaveLength(3)
    expect(JSON.stringify(wrote[1])).toContain('"path":"a"')
    expect(JSON.stringify(wrote[1])).toContain('"signature":"s"')
  })
})

test("old tool results are cleared, and results that the model has not seen stay", () => {
  const long = "x".repeat(400)
  const messages = [
    user("go"),
    call("1"),
    result("1", long),
    call("2"),
    result("2", long),
    call("3"),
    result("3", long),
  ]
  const values = (list: readonly Message[]) =>
    list.flatMap((message) =>
      message.role === "tool"
        ? message.content.map((part) =>
            part.type === "tool-result" ? (part.output as { value: string }).value : "",
          )
        : [],
    )
  const cleared = values(withinBounds(messages, { keepToolResults: 2 }))
  expect(cleared[0]).toMatch(/removed to save space/)
  expect(cleared.slice(1)).toEqual([long, long])
  const none = values(withinBounds(messages, { keepToolResults: 0 }))
  expect(none[2]).toBe(long)
  expect(none.slice(0, 2)).toEqual([cleared[0], cleared[0]])
  expect(withinBounds(messages, { keepToolResults: 3 })).toEqual(messages)
})

test("a cut keeps both ends, and never splits a character", () => {
  for (const text of ["a".repeat(9_999), "漢字".repeat(5_000), "😀".repeat(5_000), '\n"'.repeat(9_999)]) {
    const cut = cutMiddle(text, 100)
    expect(estimateInput({ prompt: [user(cut)] })).toBeLessThanOrEqual(110)
    expect(cut.startsWith(text.slice(0, 2))).toBe(true)
    expect(cut.endsWith(text.slice(-2))).toBe(true)
    expect(Buffer.from(cut).toString()).toBe(cut)
  }
  expect(cutMiddle("short", 100)).toBe("short")
})

test("a conversation that was cut stays valid and within its tokens", () => {
  const texts = fc.string({ maxLength: 30 }).chain((text) => fc.nat(400).map((n) => `t${text}`.repeat(n + 1)))
  const turn = fc.tuple(fc.nat(3), texts, texts)
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 400, max: 4_000 }),
      (turns, tokens) => {
        const messages: Message[] = [user("first")]
        turns.forEach(([calls, said, value], i) => {
          if (calls === 0)
            messages.push({ role: "assistant", content: [{ type: "text", text: said }] }, user(value))
          else {
            const ids = Array.from({ length: calls }, (_, n) => `${i}-${n}`)
            const parts = ids.map((id) => ({
              type: "tool-call" as const,
              toolCallId: id,
              toolName: "dump",
              input: { said },
            }))
            messages.push({ role: "assistant", content: parts })
            const content = ids.flatMap(
              (id) => (result(id, value) as Extract<Message, { role: "tool" }>).content,
            )
            messages.push({ role: "tool", content })
          }
        })
        for (const policy of [
          tokenWindow(tokens),
          tokenWindow(tokens, { keepToolResults: 1, toolResultTokens: 60 }),
        ]) {
          const { toolResultTokens, keepToolResults } = policy
          const fitted = fitMessages(withinBounds(messages, { toolResultTokens, keepToolResults }), tokens)
          expect(validHistory(fitted)).toEqual(fitted)
          // Nothing is cut to less than 50 tokens, and a call has some of its own.
          expect(estimateInput({ prompt: [...fitted] })).toBeLessThanOrEqual(Math.max(tokens, 1_000))
          expect(fitted.some(({ role }) => role === "user")).toBe(true)
        }
      },
    ),
    { seed: inject("seed") as number },
  )
})

describe("summarise by tokens", () => {
  const long = (text: string) => `${text} ${"words ".repeat(200)}`
  const writer = () => pureModel(() => "What happened.")

  test("writes a summary when there are too many, and a later run of the thread continues from it", async () => {
    const model = pureModel((last) => long(`Re ${last.slice(6, 8)}`))
    const scribe = writer()
    const history = summarise({ tokens: 2_000, model: scribe })
    const x = agent({ name: "x", model, history, messages: conversation() })
    const store = memoryStore()
    const say = (text: string) => x.run(long(text), { store, thread: "t" })
    for (const text of ["a", "b", "c"]) await say(text)
    expect(scribe.calls).toHaveLength(0)
    await say("d")
    expect(scribe.calls).toHaveLength(1)
    // Another process: a run of the same thread does not summarise again.
    const later = agent({ name: "x", model, history, messages: conversation() })
    await later.run(long("e"), { store, thread: "t" })
    expect(scribe.calls).toHaveLength(1)
    expect(shown(model, 4)[0]).toBe("user: A summary of the conversation so far:\n\nWhat happened.")
    expect(largest(model).tokens).toBeLessThanOrEqual(2_000)
  })

  test("sends the summary model no more than fits", async () => {
    const scribe = writer()
    const model = pureModel(() => (model.calls.length < 4 ? { calls: [{ name: "dump" }] } : "done"))
    const history = summarise({ tokens: 2_000, model: scribe })
    await agent({ name: "x", model, tools: [dump], history }).run("go")
    expect(scribe.calls.length).toBeGreaterThan(0)
    expect(largest(scribe).tokens).toBeLessThanOrEqual(2_200)
    expect(largest(model).tokens).toBeLessThanOrEqual(2_000)
  })

  test("needs a number of messages or of tokens", () => {
    expect(() => summarise({})).toThrow(/set after, tokens, or both/)
    expect(() => summarise({ tokens: 0 })).toThrow(/at least 1/)
    expect(() => tokenWindow(100, { toolResultTokens: 0 })).toThrow(/toolResultTokens/)
    expect(() => lastItems(5, { keepToolResults: -1 })).toThrow(/keepToolResults/)
  })
})

describe("a prompt that is too long for the model", () => {
  /** Rejects longer prompts, like a provider. */
  const small = (most: number, model: ReturnType<typeof pureModel>) => {
    const { doGenerate } = model
    let refused = 0
    model.doGenerate = (options) => {
      if (estimateInput({ prompt: options.prompt }) <= most) return doGenerate(options)
      refused++
      return Promise.reject(
        apiError(400, "This model's maximum context length is 1000 tokens.", {
          data: { error: { code: "context_length_exceeded" } },
        }),
      )
    }
    return Object.assign(model, { refused: () => refused })
  }
  const text = "x".repeat(6_000)
  const grow = tool({ name: "grow", description: "Grows.", run: () => text })

  test("is shortened and sent once more; later prompts are short at once", async () => {
    const model = small(
      2_000,
      pureModel(() => (model.calls.length < 5 ? { calls: [{ name: "grow" }] } : "done")),
    )
    const x = agent({ name: "x", model, stream: false, tools: [grow], calling: { retry: { attempts: 1 } } })
    const { outputs, usage } = await x.run("go")
    expect(outputs).toEqual(["done"])
    expect(model.refused()).toBe(1)
    expect(usage.modelCalls).toBe(model.calls.length + 1)
  })

  test("fails after one retry if that does not help", async () => {
    const model = small(
      3,
      pureModel(() => "never"),
    )
    const { error } = await agent({ name: "x", model, stream: false }).run("go go go").result
    expect(error?.code).toBe("CONTEXT_OVERFLOW")
    expect(model.refused()).toBe(2)
  })

  test("is summarised if the agent summarises, and again the same way after a restart", async () => {
    const scribe = pureModel(() => "They talked.")
    const store = memoryStore()
    const ask = tool({
      name: "ask",
      description: "Asks.",
      durable: true,
      run: (_, { ctx }) => ctx.ask("ok?"),
    })
    const asking = small(
      2_000,
      pureModel(() => ({ calls: [{ name: scribe.calls.length === 0 ? "grow" : "ask" }] })),
    )
    const history = summarise({ after: 100, model: scribe })
    const x = agent({ name: "x", model: asking, stream: false, tools: [grow, ask], history })
    const first = await x.run("go", { store, runId: "r" }).result
    expect(first.status).toBe("waiting")
    const requests = asking.calls.length
    const [refused, summaries] = [asking.refused(), scribe.calls.length]
    expect([refused, summaries]).toEqual([1, 1])
    const again = x.resume("r", { store, takeOver: true })
    expect((await again.result).status).toBe("waiting")
    expect([asking.calls.length, asking.refused(), scribe.calls.length]).toEqual([
      requests,
      refused,
      summaries,
    ])
    await again.cancel()
  })
})
