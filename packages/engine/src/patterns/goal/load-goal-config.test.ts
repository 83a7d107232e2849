// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file.
import { describe, expect, test } from "vitest"
import type { Diagnostic } from "../../definitions/index.ts"
import { scriptedModel } from "../../models/index.ts"
import type { Retriever } from "../ports.ts"
import { database, databases, LAMPS, retriever } from "./goal.test-support.ts"
import type { GoalBackends } from "./goal-backends.ts"
import { runGoal } from "./graph-workflow.ts"
import { isGoalConfig, type LoadGoalOptions, loadGoalConfig } from "./load-goal-config.ts"

const AGENTS = `agents:
  triage: {}
  reviewer: {}
  sql: {}
  desk: { instruction: "Costs $5, or \${NOTHING}." }
  expert: {}
`

function load(text: string, options: LoadGoalOptions = {}, file = "shop/goal.yaml") {
  return loadGoalConfig({ file, text }, { env: {}, ...options })
}

function told({ severity, code, place, suggestion }: Diagnostic): string {
  const where = place === undefined ? "" : ` ${place.line}:${place.column}`
  return `${severity} ${code}${where}${suggestion === undefined ? "" : ` ${suggestion}?`}`
}

function configOf(text: string, options?: LoadGoalOptions) {
  const { goal, diagnostics } = load(text, options)
  expect(diagnostics.map(told)).toEqual([])
  if (goal === undefined) throw new Error("there is no configuration")
  return goal.config
}

const ids = (text: string, options?: LoadGoalOptions) =>
  configOf(`${AGENTS}${text}`, options).assistants.map(({ name }) => name)

describe("agent ids", () => {
  test.each([
    "assistants: [desk, expert]",
    "assistant_ids: [desk, expert]",
    "reporter_ids: [desk, expert]",
    "reporterIds: [desk, expert]",
    "NewsReporterAgent: [desk, expert]",
    "AssistantAgent: desk, expert",
  ])("%s", (line) => {
    expect(ids(line)).toEqual(["desk", "expert"])
  })

  test("by the names of older configurations", () => {
    const config = configOf(
      `${AGENTS}agent_id_triage: desk\nagent_id_reviewer: expert\nagent_id_aisearch: sql\nreporter_ids: [desk]`,
    )
    expect([config.triage.name, config.reviewer.name]).toEqual(["desk", "expert"])
    expect(config.vector).toMatchObject({ name: "sql" })
  })

  test("an agent called NewsReporterAgent is the assistant agent, and the other way round", () => {
    const text = "agents: { triage: {}, reviewer: {}, AssistantAgent: {} }\nassistants: [NewsReporterAgent]"
    expect(configOf(text).assistants[0]?.name).toBe("AssistantAgent")
  })

  test("agents that live elsewhere come from the caller", () => {
    const elsewhere = configOf(`${AGENTS}assistants: [desk]`).reviewer
    const agent = (id: string) => (id === "asst_1" ? elsewhere : undefined)
    expect(ids("assistants: [asst_1]", { agent })).toEqual(["reviewer"])
  })

  test("one that nobody knows is an error at its place, with the nearest", () => {
    const { diagnostics, goal } = load(`${AGENTS}assistants:\n  - dask\nreviewer: rev`)
    expect(goal).toBeUndefined()
    expect(diagnostics.map(told)).toEqual(["error UNKNOWN_AGENT 9:11", "error UNKNOWN_AGENT 8:5 desk?"])
  })
})

describe("settings", () => {
  test("in either spelling", () => {
    for (const text of [
      "multi_route_always: true\nmax_review_passes: 3\nuse_graph_search: false",
      "multiRouteAlways: true\nmaxReviewPasses: 3\nuse_neo4j_search: false",
    ]) {
      expect(configOf(`${AGENTS}assistants: [desk]\n${text}`)).toMatchObject({
        multiRouteAlways: true,
        maxReviewPasses: 3,
        useGraphSearch: false,
      })
    }
  })

  test("variables are filled in, and become what the field wants", () => {
    const env = { IDS: "desk, expert", MULTI: "true", PASSES: "2" }
    const text =
      "reporter_ids: ${IDS}\nmulti_route_always: ${MULTI}\nmax_review_passes: ${PASSES}\nname: ${NAME:-shop}"
    expect(configOf(`${AGENTS}${text}`, { env })).toMatchObject({
      name: "shop",
      multiRouteAlways: true,
      maxReviewPasses: 2,
      assistants: [{ name: "desk" }, { name: "expert" }],
    })
  })

  test("a variable without a value is an error where it stands; what agents are told is left alone", () => {
    const { diagnostics } = load(`${AGENTS}assistants: [desk]\nname: a \${SHOP} b`)
    expect(diagnostics.map(told)).toEqual(["error VARIABLE_MISSING 8:9"])
  })

  test("a field that is not there, a wrong value and a field under two names are told at once", () => {
    const { diagnostics } = load(
      `${AGENTS}assistants: [desk]\nreporter_ids: [desk]\nmax_review_pases: 1\nfallback: perhaps`,
    )
    expect(diagnostics.map(told)).toEqual([
      "error DUPLICATE_KEY 8:1",
      "error WRONG_TYPE 10:11",
      "error UNKNOWN_FIELD 9:1 max_review_passes?",
    ])
  })

  test("JSON will do, and no file is a plain error", () => {
    const json = JSON.stringify({ agents: { triage: {}, reviewer: {}, a: {} }, assistants: ["a"] })
    expect(load(json, {}, "goal.json").goal?.name).toBe("goal")
    expect(loadGoalConfig("no/such.yaml").diagnostics).toMatchObject([
      { code: "FILE_UNREADABLE", message: "Cannot read no/such.yaml: there is no such file." },
    ])
  })

  test("it is told from other documents", () => {
    const is = (text: string) => isGoalConfig({ file: "a.yaml", text })
    expect(is("reporter_ids: []")).toBe(true)
    expect([is("agents: {}"), is("[1]"), is("{")]).toEqual([false, false, false])
  })
})

describe("search settings", () => {
  const SEARCH = `${AGENTS}assistants: [desk]
sql_agent: sql
search:
  databases:
    - { type: postgresql, id: shop, url: "postgresql://reader@localhost/shop" }
    - { type: csv, id: files, folder: data }
  vector: { index: docs.db }
  graph: { type: neo4j, url: "bolt://localhost" }
`

  function backends(asked: unknown[]): () => GoalBackends {
    const closing = { close: async () => void asked.push("closed") }
    return () => ({
      database: (settings) => {
        asked.push(settings)
        return { ...database(settings.id, { kind: settings.type }), ...closing }
      },
      schemaRetriever: (list) => databases(...list),
      index: (settings) => {
        asked.push(settings)
        return { ...retriever("docs", [LAMPS]), ...closing }
      },
      graph: () => retriever("graph"),
    })
  }

  test("are opened when they are asked, with paths beside the file, and closed with it", async () => {
    const asked: unknown[] = []
    const model = scriptedModel({
      triage: ["?"],
      sql: ["SELECT n FROM lamps"],
      desk: ["seven"],
      reviewer: [{ json: { decision: "accept" } }],
    })
    const { goal, diagnostics } = load(SEARCH, { backends: backends(asked), model: () => model })
    expect(diagnostics).toEqual([])
    expect(asked).toEqual([])
    expect(await runGoal(goal?.config as never, "how many lamps?")).toBe("seven")
    expect(asked).toEqual([{ type: "postgresql", id: "shop", url: "postgresql://reader@localhost/shop" }])
    await goal?.config.sql?.databases.listDatabases().then((list) => list[1]?.schema())
    await (goal as unknown as { config: { vector: Retriever } }).config.vector.search("x")
    expect(asked.slice(1)).toEqual([
      { type: "csv", id: "files", folder: "shop/data" },
      { index: "shop/docs.db" },
    ])
    await goal?.close()
    expect(asked.filter((one) => one === "closed")).toHaveLength(3)
  })

  test("need back ends", () => {
    expect(load(SEARCH).diagnostics.map(told)).toEqual(["error BACKENDS_MISSING 9:1"])
  })

  test("files or a folder", () => {
    const text = (which: string) =>
      `${AGENTS}assistants: [desk]\nsearch:\n  databases:\n    - { type: csv, id: a${which} }`
    const of = (which: string) => load(text(which), { backends: backends([]) }).diagnostics.map(told)
    expect(of(", files: [a.csv]")).toEqual([])
    expect(of("")).toEqual(["error INVALID_VALUE 10:7"])
    expect(of(", files: [a.csv], folder: b")).toEqual(["error INVALID_VALUE 10:7"])
  })

  test("a SQL agent without databases is a warning", () => {
    const { goal, diagnostics } = load(`${AGENTS}assistants: [desk]\nsql_agent: sql`)
    expect(diagnostics.map(told)).toEqual(["warning NO_DATABASES 8:12"])
    expect(goal?.config.sql).toBeUndefined()
  })
})

describe("a graph", () => {
  const graph = (id: string) =>
    JSON.stringify({
      nodes: [
        { id: "start", type: "start" },
        { id: "write", type: "agent", agent_id: id },
      ],
      edges: [{ from_node: "start", to_node: "write" }],
    })
  const reads = (text: string) => (file: string) => {
    if (file === "shop/graph.json") return text
    throw new Error(`nobody should read ${file}`)
  }

  test("has the agents and the settings of the configuration", async () => {
    const model = scriptedModel({ expert: ["from the graph"] })
    const text = `${AGENTS}assistants: [desk]\nagent_id_triage: expert\ngraph_definition: graph.json`
    const config = configOf(text, { read: reads(graph("${AGENT_ID_TRIAGE}")), model: () => model })
    expect(await runGoal({ ...config, fallback: false }, "go")).toBe("from the graph")
  })

  test("may name the assistant agent NewsReporterAgent", async () => {
    const model = scriptedModel(["from the graph"])
    const text =
      "agents: { triage: {}, reviewer: {}, AssistantAgent: {} }\nassistants: [AssistantAgent]\ngraph_definition: graph.json"
    const config = configOf(text, { read: reads(graph("NewsReporterAgent")), model: () => model })
    expect(await runGoal({ ...config, fallback: false }, "go")).toBe("from the graph")
  })

  test("is left alone where the switch says so", () => {
    const text = `${AGENTS}assistants: [desk]\ngraph_definition: graph.json`
    expect(configOf(text, { env: { USE_GRAPH_EXECUTION: "false" } }).definition).toBeUndefined()
    expect(configOf(`${text}\nuse_graph_execution: true`, { read: reads("") }).definition).toBe(
      "shop/graph.json",
    )
  })
})
