import { describe, expect, onTestFinished, test } from "vitest"
import { type Script, scriptedModel } from "../../models/index.ts"
import type { Retriever } from "../../patterns/ports.ts"
import { loopbackServer } from "../../tools/loopback-server.test-support.ts"
import { loadDefinition } from "../load.ts"
import { problemsOf } from "./steps.test-support.ts"

const ANSWERS: Script = {
  thinker: [{ text: "hmm", repeat: true }],
  gap: [{ json: { research_complete: false, outstanding_gaps: ["what is tea?"] }, repeat: true }],
  selector: [{ json: { tasks: [{ agent: "documents", query: "tea" }] }, repeat: true }],
  judge: [{ json: { sufficient: true }, repeat: true }],
  writer: [{ text: "# Tea\n\nTea is a drink [1].", repeat: true }],
  planner: [
    {
      json: {
        background_context: "",
        report_title: "All of tea",
        report_outline: [{ title: "Green", key_question: "green?" }],
      },
    },
  ],
  synthesizer: ["Tea is old."],
  mode: [{ json: { mode: "deep" } }],
  end: ["E"],
}

/** Documents that record their queries, and whether they are open. */
function shelf() {
  const opened: unknown[] = []
  const closed: unknown[] = []
  const make = (paths: readonly string[], options?: object): Retriever & { close(): Promise<void> } => {
    opened.push([paths, options])
    return {
      name: "shelf",
      search: async () => [{ text: "Tea is a drink.", score: 1, source: "tea.md:1", title: "Tea" }],
      close: async () => void closed.push(paths),
    }
  }
  return { opened, closed, functions: { documentsIn: { from: "@superstep/retrieval", make } } }
}

function loaded(steps: string, file = "test.yaml") {
  const model = scriptedModel(ANSWERS)
  const asked = new Map<string, unknown>()
  const documents = shelf()
  const text = `models:\n  big: { provider: openai, model: gpt-5 }\nagents:\n  end: { model: offline }\nworkflow:\n${steps}\n`
  const { definition, diagnostics } = loadDefinition(
    { file, text },
    {
      functions: documents.functions,
      model: (agent, given) => {
        asked.set(agent, given)
        return model
      },
    },
  )
  if (definition === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
  return { definition, model, asked, documents }
}

const DOCUMENTS = "tools: [{ type: documents, paths: [notes, more/tea.md] }]"
const REPORT = "# Tea\n\nTea is a drink [1].\n\n## Sources\n\n1. Tea (tea.md:1)\n"

describe("a research step", () => {
  test("has the report as its output, and a prompt like an agent's", async () => {
    const { definition, model } = loaded(
      `  - { id: found, type: research, ${DOCUMENTS}, prompt: "What is tea?" }
  - { type: agent, name: end, prompt: "{{ $steps.found.output }}" }`,
    )
    const { outputs, state } = await definition.workflow.run("Go")
    expect(outputs).toEqual(["E"])
    expect(state.steps).toMatchObject([{ id: "found", output: REPORT }, { id: "end" }])
    const [first] = model.calls
    expect(JSON.stringify(first?.prompt)).toContain("What is tea?")
  })

  test("is iterative by default, deep on request, or as the question requires", async () => {
    const agentsOf = async (mode: string) => {
      const { definition, model } = loaded(`  - { type: research, ${mode}${DOCUMENTS} }`)
      await definition.workflow.run("Tea?")
      return [...new Set(model.calls.map(({ agent }) => agent))]
    }
    const loop = ["thinker", "gap", "selector", "judge", "writer"]
    expect(await agentsOf("")).toEqual(loop)
    expect(await agentsOf("mode: deep, ")).toEqual(["planner", ...loop, "synthesizer"])
    expect(await agentsOf("mode: auto, ")).toEqual(["mode", "planner", ...loop, "synthesizer"])
  })

  test("has models by name, for all its agents or for one of them, and the caller may override them", () => {
    const { asked } = loaded(
      `  - { type: research, model: big, models: { writer: anthropic/claude }, ${DOCUMENTS} }`,
    )
    expect(Object.fromEntries(asked)).toEqual({
      end: "offline",
      thinker: "openai/gpt-5",
      gap: "openai/gpt-5",
      selector: "openai/gpt-5",
      judge: "openai/gpt-5",
      writer: "anthropic/claude",
    })
  })

  test("resolves documents relative to the file, and closes them with the definition", async () => {
    const { definition, documents } = loaded(
      `  - { type: research, tools: [{ type: documents, paths: [notes, more/tea.md], embeddings: offline }] }`,
      "flows/tea.yaml",
    )
    expect(documents.opened).toEqual([[["flows/notes", "flows/more/tea.md"], { embeddings: "offline" }]])
    await definition.close()
    expect(documents.closed).toHaveLength(1)
  })

  test("ends its search with its budget, and writes the report anyway", async () => {
    const { definition, model } = loaded(`  - { type: research, ${DOCUMENTS}, budget: { iterations: 0 } }`)
    const { outputs } = await definition.workflow.run("Tea?")
    expect(outputs).toEqual([
      "Incomplete: research: Budget exceeded: iterations\n\n# Tea\n\nTea is a drink. *(no source)*\n\nNo source is cited for 1 of 1 statements.\n",
    ])
    expect(model.calls.map(({ agent }) => agent)).toEqual(["writer"])
  })

  test("searches the web with the keys in the caller's environment", async () => {
    const server = await loopbackServer((_, response) => {
      const results = [{ title: "Tea", url: "https://t.example/tea", content: "Tea is a drink." }]
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }))
    })
    onTestFinished(() => server.close())
    const selector = [{ json: { tasks: [{ agent: "web_search", query: "tea" }] } }]
    const model = scriptedModel({ ...ANSWERS, selector } as Script)
    const text = "workflow: [{ type: research, tools: [{ type: web_search, engine: searxng, pages: 0 }] }]"
    const { definition } = loadDefinition(
      { file: "test.yaml", text },
      { model: () => model, env: { SEARXNG_URL: `http://127.0.0.1:${server.port}` } },
    )
    const result = await definition?.workflow.run("What is tea?")
    expect(result?.outputs).toEqual([
      "# Tea\n\nTea is a drink [1].\n\n## Sources\n\n1. [Tea](<https://t.example/tea>)\n",
    ])
  })

  test("is ejected as the calls that create it", () => {
    const { definition } = loaded(`  - id: tea
    type: research
    mode: deep
    tools:
      - { type: web_search, engine: brave, pages: 1 }
      - { type: page }
      - { type: documents, paths: [notes], name: handbook, description: Our handbook. }
    budget: { tokens: 9000 }`)
    const code = definition.eject().replace(/\s+/g, " ")
    expect(code).toContain('import { documentsIn } from "@superstep/retrieval"')
    expect(code).toContain('const teaHandbook = documentsIn(["notes"])')
    expect(code).toContain('deepResearch({ name: "tea", model: "offline/unnamed", tools: [')
    expect(code).toContain('webSearchTool({ search: webSearch("brave"), reader: pageReader(), pages: 1 })')
    expect(code).toContain("pageTool(pageReader())")
    expect(code).toContain('documentsTool(teaHandbook, { name: "handbook", description: "Our handbook." })')
    expect(code).toContain('workflowStep(steps, "tea", teaResearch, { last: true })')
  })
})

test("problems of a research are reported together, each at its position", () => {
  const text = `workflow:
  - { id: r1, type: research }
  - { id: r2, type: research, mode: handoff, tools: [{ type: page }] }
  - { id: r3, type: research, model: bigg, models: { writer: smal }, tools: [{ type: page }], agents: [a] }
  - { id: r4, type: human, prompt: "?", budget: { tokens: 1 } }
models: { big: { provider: openai, model: gpt-5 }, small: { provider: openai, model: gpt-5-mini } }
`
  expect(problemsOf(text).map((line) => line.replace(/ \d+:\d+/, ""))).toEqual([
    "MISSING_FIELD workflow step[0]: research step requires tools",
    'UNKNOWN_MODE workflow step[1]: a research step has no mode "handoff"; use one of iterative, deep, auto',
    'FIELD_NOT_FOR_TYPE workflow step[2]: a research step has no "agents"',
    'FIELD_NOT_FOR_TYPE workflow step[3]: a human step has no "budget"',
    'UNKNOWN_MODEL Unknown model "smal": use a name from `models`, provider/model, auto, or offline. (small?)',
    'UNKNOWN_MODEL Unknown model "bigg": use a name from `models`, provider/model, auto, or offline. (big?)',
  ])
})

test("an unknown field of a tool is named", () => {
  const text = `workflow: [{ type: research, tools: [{ type: web_search, engine: google }] }]\n`
  expect(problemsOf(text)).toHaveLength(1)
  expect(problemsOf(text)[0]).toContain("engine")
})

test("a misspelled budget field is refused, with the nearest name", () => {
  const problems = problemsOf(`workflow:
  - { type: research, prompt: tea, tools: [{ type: documents, paths: [x] }], budget: { token: 5 } }
`)
  expect(JSON.stringify(problems)).toMatch(/token.*tokens/)
})
