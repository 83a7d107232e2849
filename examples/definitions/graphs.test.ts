/** The graphs in this folder with a scripted model: their routes, prompts and results. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { loadDefinition } from "@superstep/engine/definitions"
import { type Script, scriptedModel } from "@superstep/engine/models"
import { describe, expect, test } from "vitest"

const file = (name: string) => join(import.meta.dirname, name)
const ORIGINAL_CHAT = "2n-chat-as-given.json" // words: allow

function opened(name: string, script: Script) {
  const model = scriptedModel(script)
  const { definition, diagnostics } = loadDefinition(file(name), { model: () => model })
  expect(diagnostics).toEqual([])
  if (definition === undefined) throw new Error(`${name} cannot be loaded`)
  return { workflow: definition.workflow, model }
}

async function played(name: string, goal: string, script: Script) {
  const { workflow, model } = opened(name, script)
  const visited: string[] = []
  const run = workflow.stream(goal)
  for await (const event of run) if (event.type === "task.started") visited.push(event.node)
  const prompts = model.calls.map(({ agent, prompt }) => {
    const { content = "" } = prompt.findLast(({ role }) => role === "user") ?? {}
    const text =
      typeof content === "string"
        ? content
        : content.map((part) => ("text" in part ? part.text : "")).join("")
    return `${agent}: ${text}`
  })
  return { ...(await run.result), visited: visited.filter((id) => !id.startsWith("#")), prompts }
}

describe("2n-chat.json", () => {
  test("routes, looks something up, and ends", async () => {
    const { visited, outputs, state } = await played("2n-chat.json", "What is new in tea?", {
      "agent-uuid-router": [
        { json: { next: "externalSearchCaller", message: "We look that up." } },
        { tool_calls: [{ name: "end", args: { message: "Goodbye." } }] },
      ],
      "agent-uuid-external": [{ json: { next: "Router", message: "Nothing was found." } }],
    })
    expect(visited).toEqual(["node-uuid-1", "node-uuid-6", "node-uuid-1"])
    expect(outputs).toEqual(["Goodbye."])
    expect(state).toMatchObject({ next: "END", steps: 3 })
  })

  test("in its original form is rejected for its edges to a missing node, and nothing else", () => {
    const { definition, diagnostics } = loadDefinition(file(ORIGINAL_CHAT))
    expect(definition).toBeUndefined()
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "Edge edge-uuid-15 references non-existent target node node-uuid-6",
      "Edge edge-uuid-16 references non-existent source node node-uuid-6",
      "Edge edge-uuid-17 references non-existent target node node-uuid-6",
    ])
  })

  test("in its original form runs in lenient mode, with a warning for each of them", async () => {
    const model = scriptedModel({ "agent-uuid-router": ["Hello."] })
    const loaded = loadDefinition(file(ORIGINAL_CHAT), { lenient: true, model: () => model })
    expect(loaded.diagnostics.filter(({ code }) => code === "EDGE_DROPPED")).toHaveLength(3)
    const result = await loaded.definition?.workflow.run("Hi")
    expect(result?.outputs).toEqual(["Hello."])
  })
})

test("goal-graph.json: triage, search, two answers at once, a review until it is accepted", async () => {
  const { visited, prompts, outputs } = await played("goal-graph.json", "How many orders?", {
    triage: [{ json: { intents: ["sql"] } }],
    "sql-search": ["42 orders"],
    assistant: ["42."],
    "thorough-assistant": ["There are 42 orders."],
    reviewer: [
      { json: { decision: "revise", script: "42 orders" } },
      { json: { decision: "accept", script: "There are 42." } },
    ],
  })
  const context = "goal:\nHow many orders?\n\ncontext:\n42 orders"
  expect(prompts).toEqual([
    "triage: How many orders?",
    "sql-search: How many orders?",
    `assistant: ${context}`,
    `thorough-assistant: ${context}`,
    "reviewer: ### brief\n42.\n\n### thorough\nThere are 42 orders.",
    "reviewer: 42 orders",
  ])
  expect(visited.slice(0, 5)).toEqual(["start", "triage", "choose", "sql", "assistants"])
  expect(visited.slice(-5)).toEqual(["review_loop", "review", "review_loop", "review", "review_loop"])
  expect(outputs).toEqual(["There are 42."])
})

test("research-graph.yaml: rounds until nothing is missing, both sources at once, then the report", async () => {
  const { visited, prompts, outputs, state } = await played("research-graph.yaml", "Why is tea green?", {
    thinker: [{ json: { complete: false, gap: "all" } }, { json: { complete: true, gap: "" } }],
    librarian: ["Leaves."],
    archivist: [{ error: { code: 400, message: "closed" } }],
    writer: ["A report."],
  })
  expect(visited.filter((id) => id !== "library" && id !== "archive")).toEqual([
    "count",
    "thinking",
    "enough",
    "sources",
    "sources",
    "sources",
    "note",
    "count",
    "thinking",
    "enough",
    "writer",
  ])
  expect(prompts.at(-1)).toBe("writer: question:\nWhy is tea green?\n\nfindings:\n### library\nLeaves.")
  expect(outputs).toEqual(["A report."])
  expect(state.state).toMatchObject({ "research.round": 2, "research.complete": true })
})

describe("support-desk.yaml", () => {
  test("thinks with a tool, and answers", async () => {
    const { visited, outputs } = await played("support-desk.yaml", "Where is my order?", {
      desk: [{ tool_calls: [{ name: "think", args: { thought: "orders" } }] }, "It is on its way."],
    })
    expect(visited).toEqual(["desk", "tools", "desk"])
    expect(outputs).toEqual(["It is on its way."])
  })

  test("asks a person, and continues with the answer", async () => {
    const { workflow, model } = opened("support-desk.yaml", {
      desk: [
        { json: { next: "human_handoff", message: "I ask a colleague." } },
        "My colleague says: tomorrow.",
      ],
    })
    const run = workflow.run("When is it here?")
    const { requests } = await run
    expect(requests[0]?.prompt).toBe("An agent asks for a person.")
    await run.respond(requests[0]?.id ?? "", "tomorrow")
    expect(await run).toMatchObject({ status: "completed", outputs: ["My colleague says: tomorrow."] })
    expect(JSON.stringify(model.calls[1]?.prompt.at(-1))).toContain("tomorrow")
  })
})

test.each(["2n-chat.json", "goal-graph.json", "research-graph.yaml", "support-desk.yaml"])(
  "%s runs without a model",
  async (name) => {
    const { definition } = loadDefinition(file(name))
    const { status } = await (definition?.workflow.run("What is green tea?").result ??
      Promise.reject(new Error(name)))
    expect(["completed", "limit", "waiting"]).toContain(status)
    expect(readFileSync(file(name), "utf8")).not.toContain("\t")
  },
)
