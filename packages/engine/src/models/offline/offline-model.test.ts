import fc from "fast-check"
import { expect, test } from "vitest"
import { calls, fillIn, generate, offer, say, system, text, used, user } from "./asking.test-support.ts"
import { OFFLINE_NOTICE, offlineModel } from "./offline-model.ts"

const weather = offer("get_weather", "Current weather of a city", { city: text })

async function streamed(prompt: Parameters<typeof generate>[0], options = {}) {
  const messages = typeof prompt === "string" ? [user(prompt)] : [...prompt]
  const { stream } = await offlineModel().doStream({ prompt: messages, ...options })
  const parts = []
  for await (const part of stream) parts.push(part)
  return parts
}

test("each reply says that it is not from a language model, and so does the notice", async () => {
  const metadata = { offline: { offline: true, note: "not a language model" } }
  expect(await generate("Hello")).toMatchObject({ providerMetadata: metadata })
  expect((await streamed("Hello")).at(-1)).toMatchObject({ type: "finish", providerMetadata: metadata })
  expect(OFFLINE_NOTICE).toContain("not a language model")
})

test("it claims no tokens: what it did not count, others estimate", async () => {
  const { usage } = await generate("Hello")
  expect([usage.inputTokens.total, usage.outputTokens.total]).toEqual([undefined, undefined])
})

test("a stream has the same text as the reply, in several pieces", async () => {
  const prompt = "Context: Whales eat krill. Lions eat meat.\n\nQuestion: What do whales eat?"
  const deltas = (await streamed(prompt)).flatMap((part) => (part.type === "text-delta" ? [part.delta] : []))
  expect(deltas.length).toBeGreaterThan(1)
  expect(deltas.join("")).toBe(await say(prompt))
})

test("the arguments of a tool call come in pieces, then whole", async () => {
  const parts = await streamed("What's the weather in San Francisco?", { tools: [weather] })
  const call = parts.find((part) => part.type === "tool-call")
  const pieces = parts.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []))
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.join("")).toBe(call?.input)
  expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls" } })
})

test("an abort ends it before and during its reply", async () => {
  const stop = new AbortController()
  const { stream } = await offlineModel().doStream({ prompt: [user("Hello")], abortSignal: stop.signal })
  const reader = stream.getReader()
  await reader.read()
  stop.abort(new Error("enough"))
  await expect(reader.read()).rejects.toThrow("enough")
  await expect(generate("Hello", { abortSignal: stop.signal })).rejects.toThrow("enough")
})

test("a limit on the output is kept, and said", async () => {
  const reply = await generate("What is the capital of France?", { maxOutputTokens: 5 })
  expect(reply.finishReason.unified).toBe("length")
  expect(reply.content[0]).toMatchObject({ text: expect.stringMatching(/^.{1,20}$/) })
})

test("a tool of some provider is not for it, which it says", async () => {
  const reply = await offlineModel().doGenerate({
    prompt: [user("Search")],
    tools: [{ type: "provider", id: "x.search", name: "search", args: {} }],
  })
  expect(reply.warnings).toEqual([{ type: "unsupported", feature: "provider tool search" }])
})

test("any prompt gets a reply, and the same one each time", async () => {
  const line = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "[1] a.md",
      "Question:",
      "<context>",
      "</context>",
      "# Head",
      "Sources:",
      "[1] b.md",
      '{"a":',
      "--- Prior Step Outputs ---",
      "--- End Prior Step Outputs ---",
      "Is it?",
      "weather in Rome",
    ),
  )
  const body = fc.array(line, { maxLength: 12 }).map((lines) => lines.join("\n"))
  await fc.assert(
    fc.asyncProperty(body, body, body, async (instructions, said, result) => {
      const prompt = [system(instructions), user(said), ...used("get_weather", { path: said }, result)]
      const once = await generate(prompt, { tools: [weather] })
      expect(await generate(prompt, { tools: [weather] })).toEqual(once)
      expect(once.content.length).toBeGreaterThan(0)
      await calls(said, [weather], { type: "required" })
    }),
    { numRuns: 300 },
  )
})

test("the empty prompt gets a reply", async () => {
  expect(await say([])).toMatch(/^I am the offline stand-in/)
})

const LONG = 100_000
const filled = (piece: string) => piece.repeat(Math.ceil(LONG / piece.length))

/** What would take a careless pattern minutes. The bound is for a busy machine; by itself each takes a few milliseconds. */
test.each([
  ["prose", filled("The quick brown fox number 7 jumps over the lazy dog near Oslo. ")],
  ["lines", filled("Section speaks of a matter\nand of another: yes.\n")],
  ["unclosed tags", `</x>${filled("<document>")}`],
  ["opened blocks", filled("--- Prior Step Outputs ---\n")],
  ["rules", filled("=")],
  ["dots", filled(".")],
  ["slashes", filled("a/")],
  ["@ characters", filled("a@a.")],
  ["quotes", filled('"')],
  ["brackets", filled("[1] ")],
  ["spaces", filled(" ")],
  ["new lines", filled("\n")],
  ["capitals", filled("Aa ")],
  ["capital letters without end", filled("A")],
  ["digits", filled("1")],
  ["sums", filled("1+(")],
  ["colons", filled("https://a:")],
  ["sources", `\nSources:\n${filled("[1] a\n")}x`],
])("100 KB of %s are answered at once", async (_, body) => {
  const schema = {
    type: "object",
    properties: {
      answer: text,
      url: text,
      path: text,
      email: text,
      name: text,
      count: { type: "integer" },
      id: text,
      expression: text,
      city: text,
      date: text,
    },
    required: ["answer", "url", "path", "email", "name", "count", "id", "expression", "city", "date"],
  }
  for (const prompt of [
    [user(body)],
    [system(body), user("What is the weather near Oslo?")],
    [user("What is in a.md near Oslo?"), ...used("read_file", { path: "a.md" }, body)],
  ]) {
    const begun = process.cpuUsage()
    await say(prompt)
    await calls(prompt, [weather, offer("read_file", "Reads a file", { path: text })])
    await fillIn(prompt, schema)
    const { user: spent } = process.cpuUsage(begun)
    expect(spent / 1_000).toBeLessThan(1_500)
  }
})
