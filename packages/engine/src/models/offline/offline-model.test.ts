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

test("each reply states that it is not from a language model, and so does the notice", async () => {
  const metadata = { offline: { offline: true, note: "not a language model" } }
  expect(await generate("Hello")).toMatchObject({ providerMetadata: metadata })
  expect((await streamed("Hello")).at(-1)).toMatchObject({ type: "finish", providerMetadata: metadata })
  expect(OFFLINE_NOTICE).toContain("not a language model")
})

test("it reports no tokens: the engine estimates them", async () => {
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

test("a limit on the output is respected and reported", async () => {
  const reply = await generate("What is the capital of France?", { maxOutputTokens: 5 })
  expect(reply.finishReason.unified).toBe("length")
  expect(reply.content[0]).toMatchObject({ text: expect.stringMatching(/^.{1,20}$/) })
})

test("provider tools are reported as unsupported", async () => {
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
    { numRuns: 80 },
  )
})

test("the empty prompt gets a reply", async () => {
  expect(await say([])).toMatch(/^I am the offline stand-in/)
})

const LONG = 30_000
const filled = (piece: string) => piece.repeat(Math.ceil(LONG / piece.length))

/** Inputs that would take a careless pattern minutes. The bound is for a busy machine; each takes a few milliseconds. */
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
  ["only capital letters", filled("A")],
  ["digits", filled("1")],
  ["sums", filled("1+(")],
  ["colons", filled("https://a:")],
  ["sources", `\nSources:\n${filled("[1] a\n")}x`],
])("30 KB of %s are answered at once", async (_, body) => {
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

const tools = [
  offer("get_weather", "Current weather of a city", { city: text }),
  offer("read_file", "Reads a file", { path: text }),
  offer("write_file", "Writes a file", { path: text, content: text }),
  offer("web_search", "Searches the web", { query: text, limit: { type: "integer" } }, ["query"]),
  offer("calculate", "Evaluates an arithmetic expression", { expression: text }),
  offer("think", "Use this to think about the question step by step.", { thought: text }),
]

test.each([
  ["What's the weather in New York?", ["get_weather", { city: "New York" }]],
  ["Read notes/todo.md and src/a.ts", ["read_file", { path: "notes/todo.md" }]],
  ["Write the file a.md", ["write_file", { path: "a.md", content: "Write the file a.md" }]],
  ['Search the web for "green tea" with limit 5', ["web_search", { query: "green tea", limit: 5 }]],
])(
  "a tool that the request names is called, with arguments from the request: %s",
  async (request, expected) => {
    expect(await calls(request, tools)).toEqual([expected])
  },
)

test.each([
  "Read the file",
  "Tell me a joke",
  "What do you think about life?",
  "Is it going to rain in Paris?",
  "Hello",
  "",
])("no tool is called that the request does not name, nor one without its arguments: %s", async (request) => {
  expect(await calls(request, tools)).toEqual([])
})

test("a call is not repeated (1); its result is the answer", async () => {
  const prompt = [
    user("What's the weather in Paris?"),
    ...used("get_weather", { city: "Paris" }, "Sunny, 21 °C"),
  ]
  expect(await calls(prompt, tools)).toEqual([])
  expect(await say(prompt, { tools })).toBe("Sunny, 21 °C")
})

test("the second requested call follows the first", async () => {
  const prompt = [
    user("What's the weather in Paris, and read notes.md"),
    ...used("get_weather", { city: "Paris" }, "Sunny"),
  ]
  expect(await calls([prompt[0] as never], tools)).toHaveLength(1)
  const [first] = await calls([prompt[0] as never], tools)
  const next = await calls(
    first?.[0] === "get_weather"
      ? prompt
      : [prompt[0] as never, ...used("read_file", { path: "notes.md" }, "Buy tea.")],
    tools,
  )
  expect([first?.[0], next[0]?.[0]].sort()).toEqual(["get_weather", "read_file"])
})

test("a new message may request the same call again", async () => {
  const prompt = [
    user("What's the weather in Paris?"),
    ...used("get_weather", { city: "Paris" }, "Sunny"),
    user("And the weather in Paris now?"),
  ]
  expect(await calls(prompt, tools)).toEqual([["get_weather", { city: "Paris" }]])
})

test("a loop ends: every round makes a new call or answers", async () => {
  const prompt = [user("Read a.md, b.md and c.md, search the web for tea, and tell the weather in Rome")]
  const made = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const { content } = await generate(prompt, { tools })
    const called = content.filter((part) => part.type === "tool-call")
    if (called.length === 0) break
    for (const { toolName, toolCallId, input } of called) {
      expect(made).not.toContain(`${toolName} ${input}`)
      made.add(`${toolName} ${input}`)
      prompt.push(...used(toolName, JSON.parse(input), `Result of ${toolName}.`, toolCallId))
    }
  }
  expect([...made].map((call) => call.split(" ")[0]).sort()).toEqual([
    "get_weather",
    "read_file",
    "read_file",
    "read_file",
    "web_search",
  ])
})

test("toolChoice is respected", async () => {
  expect(await calls("Hello", tools, { type: "required" })).toHaveLength(1)
  expect(await calls("Hello", tools, { type: "tool", toolName: "web_search" })).toEqual([
    ["web_search", { query: "Hello" }],
  ])
  expect(await calls("What's the weather in Paris?", tools, { type: "none" })).toEqual([])
})

const route = offer(
  "route",
  "Where to go next. billing: invoices and refunds; tech: crashes and login problems; sales: new orders",
  {
    next: { type: "string", enum: ["billing", "tech", "sales"] },
  },
)

test.each([
  ["A question for billing", "billing"],
  ["There are login problems", "tech"],
])(
  "a route is chosen if the request has its name, or two words of its description: %s",
  async (request, next) => {
    expect(await calls(request, [route])).toEqual([["route", { next }]])
  },
)

const handoffs = [
  offer(
    "handoff_to_billing",
    'Hands the conversation over to the agent "billing", who answers from here on. Payments and invoices.',
  ),
  offer(
    "handoff_to_tech",
    'Hands the conversation over to the agent "tech", who answers from here on. Fixes bugs.',
  ),
]

test("a hand-off goes to the agent that the request names, and to none otherwise", async () => {
  const desk = system("You are the receptionist.")
  expect(await calls([desk, user("Is an invoice paid for all payments?")], handoffs)).toEqual([
    ["handoff_to_billing", {}],
  ])
  expect(await calls([desk, user("Ask tech about it")], handoffs)).toEqual([["handoff_to_tech", {}]])
  expect(await calls([desk, user("Hello")], handoffs)).toEqual([])
})

test("the agent that took over keeps the conversation, and still uses its own tools", async () => {
  const back = offer(
    "handoff_to_reception",
    'Hands the conversation over to the agent "reception". Greets people, billing and tech requests.',
  )
  const refund = offer("refund_charge", "Refunds a charge")
  const prompt = [
    system("You handle billing, charges and refunds."),
    user("I was charged twice, refund it"),
    ...used("handoff_to_billing", {}, "Handed over."),
  ]
  expect(await calls(prompt, [back, refund])).toEqual([["refund_charge", {}]])
})

test("a task is delegated to the matching sub-agent", async () => {
  const transfer = offer(
    "transfer_task",
    "Gives a task to another agent and returns its answer. Agents:\n- poet: writes poems and songs\n- coder: writes programs",
    {
      agent: { type: "string", enum: ["poet", "coder"] },
      task: text,
      expected_output: text,
    },
  )
  expect(await calls("Let the coder write a program that sorts", [transfer])).toMatchObject([
    ["transfer_task", { agent: "coder", task: "Let the coder write a program that sorts" }],
  ])
})

test("ids of calls are unique in their conversation, and deterministic", async () => {
  const ids = async (prompt: Parameters<typeof generate>[0]) =>
    (await generate(prompt, { tools })).content.flatMap((part) =>
      part.type === "tool-call" ? [part.toolCallId] : [],
    )
  const [first = ""] = await ids("What's the weather in Paris?")
  expect(await ids("What's the weather in Paris?")).toEqual([first])
  const again = [...used("get_weather", {}, "", first).slice(0, 2), user("What's the weather in Paris?")]
  expect(await ids(again)).not.toContain(first)
})
