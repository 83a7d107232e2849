import { expect, test } from "vitest"
import { assistant, generate, say, system, used, user } from "./asking.test-support.ts"

const DOCS = `[1] handbook.md
# Returns
You can return any item within 30 days of delivery. Refunds are paid within 5 days. Sale items cannot be returned.
# Shipping
Shipping to Germany takes 3 working days and costs 4.90 euro. We ship with DHL.

[2] about.md
Acme was founded in 1987 by Mary Jones in Oslo. It has 240 employees.`

const ask = (question: string) =>
  say([system("Answer from the context."), user(`${DOCS}\n\nQuestion: ${question}`)])

test.each([
  ["Who founded Acme?", "Acme was founded in 1987 by Mary Jones in Oslo. [2]\n\nSources:\n[2] about.md"],
  [
    "When was the company founded?",
    "Acme was founded in 1987 by Mary Jones in Oslo. [2]\n\nSources:\n[2] about.md",
  ],
  [
    "What does shipping cost?",
    "Shipping to Germany takes 3 working days and costs 4.90 euro. [1]\n\nSources:\n[1] handbook.md",
  ],
  ["Can I return sale items?", "Sale items cannot be returned. [1]\n\nSources:\n[1] handbook.md"],
  ["How many employees are there?", "It has 240 employees. [2]\n\nSources:\n[2] about.md"],
])(
  "a question is answered with the matching sentence of the context, and its number: %s",
  async (question, expected) => {
    expect(await ask(question)).toBe(expected)
  },
)

test("instructions that come with a question are not quoted", async () => {
  const documents = '<document index="1">\n[1] a.md\nWe ship with DHL.\n</document>'
  const instructions = "Instructions: Cite the documents that ship you the answer, for example [1]."
  const asked = await say(`Question: Who ships it?\n\nContext:\n${documents}\n\n${instructions}`)
  expect(asked).toBe("We ship with DHL. [1]\n\nSources:\n[1] a.md")
})

test("a heading applies to the sentences below it", async () => {
  expect(await ask("How long do I have to return something?")).toMatch(
    /^You can return any item within 30 days of delivery\. \[1\]/,
  )
})

test("cited sources are parts of the reply too: URLs and documents", async () => {
  const text =
    "Source: https://example.com/tea\nTea comes from China.\n\nSource: coffee.md\nCoffee comes from Ethiopia and tea does not.\n\nQuestion: where does tea come from?"
  const { content } = await generate(text)
  expect(content.slice(1)).toEqual([
    { type: "source", sourceType: "url", id: "1", url: "https://example.com/tea" },
    { type: "source", sourceType: "document", id: "2", mediaType: "text/plain", title: "coffee.md" },
  ])
})

test.each([
  [
    "tags",
    `<documents><document index="3"><source>a.txt</source><document_content>Blue whales eat krill.</document_content></document><document index="4"><source>b.txt</source><document_content>Lions eat meat.</document_content></document></documents>\nWhat do whales eat?`,
    "Blue whales eat krill. [3]\n\nSources:\n[3] a.txt",
  ],
  [
    "attributes",
    `<file path="src/a.md">Blue whales eat krill.</file>\nWhat do whales eat?`,
    "Blue whales eat krill. [1]\n\nSources:\n[1] src/a.md",
  ],
  [
    "brackets",
    "[a.txt]\nBlue whales eat krill.\n[b.txt]\nLions eat meat.\n\nWhat do whales eat?",
    "Blue whales eat krill. [1]\n\nSources:\n[1] a.txt",
  ],
  [
    "scores",
    "[1] a.txt (score 0.91): Blue whales eat krill.\n[2] b.txt (score 0.3): Lions eat meat.\n\nWhat do whales eat?",
    "Blue whales eat krill. [1]\n\nSources:\n[1] a.txt",
  ],
  [
    "in place",
    "Context: Blue whales eat krill (source: a.txt). Lions eat meat.\n\nQuestion: What do whales eat?",
    "Blue whales eat krill. [1]\n\nSources:\n[1] a.txt",
  ],
  [
    "labels",
    "Context: Blue whales eat krill. Lions eat meat.\n\nQuestion: What do whales eat?",
    "Blue whales eat krill.",
  ],
  [
    "JSON",
    JSON.stringify({ question: "What do whales eat?", context: "Blue whales eat krill. Lions eat meat." }),
    "Blue whales eat krill.",
  ],
])("context is found in every form: %s", async (_, text, expected) => {
  expect(await say(text)).toBe(expected)
})

test("prior step outputs are quoted with the sources that they cite themselves", async () => {
  const prompt = `--- Prior Step Outputs ---

[gen (agent: generator)]:
Tea is a drink made of leaves.
It came from China. [1]

Sources:
[1] tea.md

[par/b (agent: x)]:
Coffee is brewed from beans.

--- End Prior Step Outputs ---

Write a short report.`
  expect(await say(prompt)).toBe(
    "Tea is a drink made of leaves.\nIt came from China. [1]\nCoffee is brewed from beans.\n\nSources:\n[1] tea.md",
  )
})

test("facts in the instructions are quoted, commands are not", async () => {
  const instructions = system(
    "You are a shop assistant. Be kind. The shop opens at 9 am. Always say when we open.",
  )
  expect(await say([instructions, user("When do you open?")])).toBe("The shop opens at 9 am.")
})

test("text files of a message are context under their name; other files are ignored", async () => {
  const data = Buffer.from("The door code is 4711.").toString("base64")
  const { content } = await generate([
    {
      role: "user",
      content: [
        { type: "file", filename: "notes.txt", mediaType: "text/plain", data },
        { type: "file", mediaType: "image/png", data },
        { type: "text", text: "What is the door code?" },
      ],
    },
  ])
  expect(content[0]).toEqual({ type: "text", text: "The door code is 4711. [1]\n\nSources:\n[1] notes.txt" })
})

test("with nothing to quote, the reply has what the model is, the question, and advice", async () => {
  const text = await say("What is the capital of France?")
  expect(text).toMatch(/^I am the offline stand-in, not a language model/)
  expect(text).toContain("You asked about: capital, France.")
  expect(text).toContain("name a real model")
})

test("an answer without context is not quoted as knowledge by the next step", async () => {
  const first = await say("What is the capital of France?")
  const prompt = `--- Prior Step Outputs ---\n\n[a (agent: a)]:\n${first}\n\n--- End Prior Step Outputs ---\n\nWhat is the capital of France?`
  expect(await say(prompt)).toBe(first)
  expect(await say([user("Hi"), assistant(first), user("What is a language model?")])).toMatch(
    /^I am the offline stand-in/,
  )
})

test("context that does not answer is shown, and marked as such", async () => {
  expect(await ask("What is the capital of France?")).toMatch(
    /^The context does not answer this directly\. It says:\nYou can return/,
  )
})

test("a short tool result is the answer; of a long one, the matching part", async () => {
  const question = user("What is the weather in Paris?")
  expect(
    await say([question, ...used("get_weather", { city: "Paris" }, { temperature: 21, sky: "sunny" })]),
  ).toBe("temperature: 21, sky: sunny")
  const long = `${"Nothing of note happened there. ".repeat(60)}The weather in Paris is mild. ${"More of the same. ".repeat(60)}`
  expect(await say([question, ...used("read_file", { path: "report.md" }, long)])).toBe(
    "The weather in Paris is mild. [1]\n\nSources:\n[1] report.md",
  )
})

test("search results are quoted with their URLs", async () => {
  const results = {
    results: [
      {
        title: "Tea",
        url: "https://t.example/tea",
        snippet: "Tea was first drunk in China, long before it came to Europe.",
      },
      {
        title: "Rye",
        url: "https://t.example/rye",
        snippet: "Rye is a grass that is grown as a grain in colder places.",
      },
    ],
  }
  expect(
    await say([user("Where was tea first drunk?"), ...used("web_search", { query: "tea" }, results)]),
  ).toContain("[1] https://t.example/tea")
})

test("a failed tool is reported, not skipped", async () => {
  const [call, result] = used("get_weather", {}, "")
  const failed = {
    ...result,
    content: [
      {
        type: "tool-result",
        toolCallId: "c1",
        toolName: "get_weather",
        output: { type: "error-text", value: "no network" },
      },
    ],
  }
  expect(await say([user("Weather?"), call as never, failed as never])).toBe(
    "The tool get_weather failed: no network",
  )
})

test("languages without spaces are supported", async () => {
  expect(await say("Context: 东京是日本的首都。巴黎是法国的首都。\n\nQuestion: 法国的首都是哪里？")).toBe(
    "巴黎是法国的首都。",
  )
})

test("a question below the context is the request", async () => {
  const notes = "Notes: Storks winter in Africa and come back in March.\nThey build their nests on roofs."
  expect(await say(`${notes}\n\nWhere do storks build their nests?`)).toBe("They build their nests on roofs.")
})

test("the output of a step without an agent is context, with its source", async () => {
  const file = {
    path: "notes.md",
    text: "Storks winter in Africa.\nStorks build their nests on roofs.",
    lines: 2,
  }
  const prompt = `--- Prior Step Outputs ---

[notes]:
${JSON.stringify(file)}

--- End Prior Step Outputs ---

Where do storks build their nests?`
  expect(await say(prompt)).toBe("Storks build their nests on roofs. [1]\n\nSources:\n[1] notes.md")
})

const ROWS =
  "Source: Shop (postgresql)\n\nname | city | total\nBerg og Dal | Bergen | 12\nAlpin Haus | Innsbruck | 7\nVW ID. Buzz | Bergen | 3"

test("rows of a table are quoted with the names of their columns", async () => {
  expect(await say(`Question: In which city is Alpin Haus?\n\nContext:\n${ROWS}`)).toBe(
    "name: Alpin Haus, city: Innsbruck, total: 7 [1]\n\nSources:\n[1] Shop (postgresql)",
  )
})

test("rows are listed without a calculation, with a note", async () => {
  expect(await say(`Question: How many are in Bergen?\n\nContext:\n${ROWS}`)).toBe(
    "I list the rows that match; I do not count or calculate:\n" +
      "name: Berg og Dal, city: Bergen, total: 12 [1]\nname: VW ID. Buzz, city: Bergen, total: 3 [1]\n\n" +
      "Sources:\n[1] Shop (postgresql)",
  )
})

test("relationships of a graph are quoted one by one, under their source", async () => {
  const context =
    "[1] company/Person/0:1 (score 3.2)\nJonas Keller\nJonas Keller (Person) {role: test engineer}\n" +
    "Jonas Keller -[WORKS_ON]-> Aurora (Project) {aim: a tent that weighs less than two kilograms}\n" +
    "Jonas Keller -[REPORTS_TO]-> Sindre Haugen (Person) {role: chief engineer}"
  expect(await say(`Question: To whom does Jonas Keller report?\n\nContext:\n${context}`)).toMatch(
    /^Jonas Keller -\[REPORTS_TO\]-> Sindre Haugen \(Person\) \{role: chief engineer\} \[1\]\n/m,
  )
})
