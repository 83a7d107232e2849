import { describe, expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { scriptedModel } from "../../models/index.ts"
import { Runtime } from "../../service/index.ts"
import { memoryStore } from "../../stores/index.ts"
import type { Retriever } from "../ports.ts"
import { database } from "./goal.test-support.ts"
import { carriedOver, goalChat } from "./goal-chat.ts"

const notes: Retriever = {
  name: "notes",
  search: async (query) => [{ text: `About ${query}`, score: 1, source: "notes.md" }],
}

function chat(script: Parameters<typeof scriptedModel>[0]) {
  const model = scriptedModel(script)
  const named = (name: string) => agent({ name, model })
  const workflow = goalChat({
    name: "shop",
    triage: named("triage"),
    assistants: [named("desk")],
    reviewer: named("reviewer"),
    vector: notes,
    maxReviewPasses: 0,
  })
  const prompts = (name: string) =>
    model.calls.filter((call) => call.agent === name).map(({ prompt }) => JSON.stringify(prompt.at(-1)))
  return { workflow, prompts }
}

const TRIAGE = { json: { intents: ["ai_search"], confidence: 1, rationale: "x" } }

test("a follow-up is asked as a self-contained question, also after a restart", async () => {
  const store = memoryStore()
  const script = {
    triage: [TRIAGE, "How many lamps were sold in 2023?", TRIAGE],
    desk: ["Seven [1].", "Nine [1]."],
  }
  const { workflow, prompts } = chat(script)
  const first = new Runtime({ store, workflows: [workflow] })
  await first.stream(workflow, "How many lamps were sold in 2024?", { thread: "t" }).result
  await first.close()
  const second = new Runtime({ store, workflows: [workflow] })
  const { outputs, state } = await second.stream(workflow, "and in 2023?", { thread: "t" }).result
  await second.close()
  expect(outputs).toEqual(["Nine [1]."])
  const [, rewriting, triaging] = prompts("triage")
  expect(rewriting).toContain("Question: How many lamps were sold in 2024?")
  expect(rewriting).toContain("Answer: Seven [1].")
  expect(rewriting).toContain("Found in: notes")
  expect(rewriting).toContain("Message: and in 2023?")
  expect(triaging).toContain("Goal: How many lamps were sold in 2023?")
  expect(prompts("desk")[1]).toContain("About How many lamps were sold in 2023?")
  expect(state.conversation).toMatchObject([
    { question: "How many lamps were sold in 2024?", answer: "Seven [1]." },
    { question: "and in 2023?", standalone: "How many lamps were sold in 2023?", answer: "Nine [1]." },
  ])
  expect(state.sources).toMatchObject([{ number: 1, citedBy: ["desk"] }])
})

test("a thread does not see other threads", async () => {
  const { workflow, prompts } = chat({ triage: [TRIAGE, TRIAGE], desk: ["One.", "Two."] })
  const runtime = new Runtime({ store: memoryStore(), workflows: [workflow] })
  await runtime.stream(workflow, "How many lamps?", { thread: "a" }).result
  await runtime.stream(workflow, "and chairs?", { thread: "b" }).result
  await runtime.close()
  expect(prompts("triage")[1]).toContain("Goal: and chairs?")
})

test("a failed rewrite leaves the message unchanged", async () => {
  const failing = { error: { code: 400, message: "no" } }
  const { workflow, prompts } = chat({ triage: [TRIAGE, failing, TRIAGE], desk: ["One.", "Two."] })
  const runtime = new Runtime({ store: memoryStore(), workflows: [workflow] })
  await runtime.stream(workflow, "How many lamps?", { thread: "a" }).result
  const { outputs } = await runtime.stream(workflow, "and chairs?", { thread: "a" }).result
  await runtime.close()
  expect(outputs).toEqual(["Two."])
  expect(prompts("triage").at(-1)).toContain("Goal: and chairs?")
})

test("a follow-up queries the source of the last answer first, even if another matches its words better", async () => {
  const model = scriptedModel({
    triage: [TRIAGE, "How many were sold in 2023, in the shop?", TRIAGE],
    sql: ["SELECT 7", "SELECT 5"],
    desk: ["Seven [1].", "Five [1]."],
  })
  const named = (name: string) => agent({ name, model })
  const queried: string[] = []
  const made = (id: string) => ({
    ...database(id),
    async query() {
      queried.push(id)
      return { columns: ["n"], rows: [[7]], isTruncated: false }
    },
  })
  const both = [made("shop"), made("archive")]
  let asked = 0
  const workflow = goalChat({
    triage: named("triage"),
    assistants: [named("desk")],
    reviewer: named("reviewer"),
    sql: {
      agent: named("sql"),
      databases: {
        listDatabases: async () => both,
        // The second question would go to the archive.
        findBestDatabase: async () => ({
          database: both[asked++ === 0 ? 0 : 1] as (typeof both)[0],
          score: 1,
          reason: "x",
        }),
      },
    },
    maxReviewPasses: 0,
  })
  const runtime = new Runtime({ store: memoryStore(), workflows: [workflow] })
  await runtime.stream(workflow, "How many were sold in the shop in 2024?", { thread: "a" }).result
  await runtime.stream(workflow, "and in 2023?", { thread: "a" }).result
  await runtime.close()
  expect(queried).toEqual(["shop", "shop"])
})

describe("without a model, a follow-up is appended to the previous question", () => {
  test.each([
    ["How many lamps were sold in 2024?", "and in 2023?", "How many lamps were sold in 2023?"],
    ["How many pieces did Ann order?", "and Bob?", "How many pieces did Bob order?"],
    ["Did Ann and Bob order?", "and Cleo?", "Did Ann and Bob order Cleo?"],
    ["How many lamps are there?", "and in Berlin?", "How many lamps are there in Berlin?"],
    ["How many lamps are there?", "What about green ones?", "How many lamps are there green ones?"],
    ["How many lamps are there?", "only green", "How many lamps are there green?"],
    ["How many lamps are there?", "Who wrote the handbook of 2020?", "Who wrote the handbook of 2020?"],
    ["How many lamps are there?", "and?", "and?"],
  ])("%s / %s", (before, message, expected) => {
    expect(carriedOver(before, message)).toBe(expected)
  })
})
