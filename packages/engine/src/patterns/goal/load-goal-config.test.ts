// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file.
import { describe, expect, test } from "vitest"
import type { Diagnostic } from "../../definitions/index.ts"
import { scriptedModel } from "../../models/index.ts"
import type { Retriever } from "../ports.ts"
import { database, databases, LAMPS, ranker, retriever, rows } from "./goal.test-support.ts"
import type { GoalBackends } from "./goal-backends.ts"
import { type GraphGoalConfig, goalWorkflow, runGoal } from "./graph-workflow.ts"
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

function summarize({ severity, code, place, suggestion }: Diagnostic): string {
  const where = place === undefined ? "" : ` ${place.line}:${place.column}`
  return `${severity} ${code}${where}${suggestion === undefined ? "" : ` ${suggestion}?`}`
}

function configOf(text: string, options?: LoadGoalOptions) {
  const { goal, diagnostics } = load(text, options)
  expect(diagnostics.map(summarize)).toEqual([])
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

  test("agents that are not in the file come from the caller", () => {
    const elsewhere = configOf(`${AGENTS}assistants: [desk]`).reviewer
    const agent = (id: string) => (id === "asst_1" ? elsewhere : undefined)
    expect(ids("assistants: [asst_1]", { agent })).toEqual(["reviewer"])
  })

  test("an unknown agent is an error at its position, with the nearest name", () => {
    const { diagnostics, goal } = load(`${AGENTS}assistants:\n  - dask\nreviewer: rev`)
    expect(goal).toBeUndefined()
    expect(diagnostics.map(summarize)).toEqual(["error UNKNOWN_AGENT 9:11", "error UNKNOWN_AGENT 8:5 desk?"])
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

  test("variables are filled in, and converted to the type of the field", () => {
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

  test("a variable without a value is an error at its position; agent instructions are not expanded", () => {
    const { diagnostics } = load(`${AGENTS}assistants: [desk]\nname: a \${SHOP} b`)
    expect(diagnostics.map(summarize)).toEqual(["error VARIABLE_MISSING 8:9"])
  })

  test("a number of results is converted too", () => {
    const text = "assistants: [desk]\nsearch: { results: '${MAX}' }"
    expect(configOf(`${AGENTS}${text}`, { env: { MAX: "3" } }).results).toBe(3)
  })

  test("a default replaces an empty variable, and `--set` takes precedence over the environment", () => {
    const name = (options: LoadGoalOptions) =>
      configOf(`${AGENTS}assistants: [desk]\nname: \${SHOP:-corner}`, options).name
    expect(name({ env: {} })).toBe("corner")
    expect(name({ env: { SHOP: "" } })).toBe("corner")
    expect(name({ env: { SHOP: "outer" }, variables: { SHOP: "inner" } })).toBe("inner")
  })

  test.each([
    ["search: { databases: ['${DB}'] }", "postgresql://reader:s3cret@localhost/shop"],
    ["search: { databases: ['${DB}'] }", "s3cret"],
    ["search: { vector: '${DB}' }", "s3cret"],
    ["search: { databases: [{ type: '${DB}', id: a }] }", "s3cret"],
    ["max_review_passes: ${DB}", "s3cret"],
    ["search: { results: '1 ${DB}' }", "s3cret"],
  ])("no message contains the value of a variable: %s", (text, DB) => {
    const { diagnostics } = load(`${AGENTS}assistants: [desk]\n${text}`, { env: { DB } })
    expect(diagnostics.length).toBeGreaterThan(0)
    expect(JSON.stringify(diagnostics)).not.toContain("s3cret")
    expect(JSON.stringify(diagnostics)).not.toContain("postgresql://")
    if (!text.includes("type:")) expect(diagnostics[0]?.message).toContain("${DB}")
  })

  test("a missing field, a wrong value and a field under two names are all reported at once", () => {
    const { diagnostics } = load(
      `${AGENTS}assistants: [desk]\nreporter_ids: [desk]\nmax_review_pases: 1\nfallback: perhaps`,
    )
    expect(diagnostics.map(summarize)).toEqual([
      "error DUPLICATE_KEY 8:1",
      "error WRONG_TYPE 10:11",
      "error UNKNOWN_FIELD 9:1 max_review_passes?",
    ])
  })

  test("JSON is accepted, and a missing file is a plain error", () => {
    const json = JSON.stringify({ agents: { triage: {}, reviewer: {}, a: {} }, assistants: ["a"] })
    expect(load(json, {}, "goal.json").goal?.name).toBe("goal")
    expect(loadGoalConfig("no/such.yaml").diagnostics).toMatchObject([
      { code: "FILE_UNREADABLE", message: "Cannot read no/such.yaml: there is no such file." },
    ])
  })

  test("a goal configuration is distinguished from other documents", () => {
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

  test("are opened on first use, with paths relative to the file, and closed with it", async () => {
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
    // The index describes itself when triage lists the sources.
    expect(asked).toEqual([
      { index: "shop/docs.db" },
      { type: "postgresql", id: "shop", url: "postgresql://reader@localhost/shop" },
    ])
    await goal?.config.sql?.databases.listDatabases().then((list) => list[1]?.schema())
    await (goal as unknown as { config: { vector: Retriever } }).config.vector.search("x")
    expect(asked.slice(2)).toEqual([{ type: "csv", id: "files", folder: "shop/data" }])
    await goal?.close()
    expect(asked.filter((one) => one === "closed")).toHaveLength(3)
  })

  test("with a graph agent, it writes Cypher over the graph; sources are ranked by the back ends", async () => {
    const queries: string[] = []
    const ranked: unknown[] = []
    const choice = { json: { source: 3, reason: "people" } }
    const model = scriptedModel({
      triage: [{ json: { intents: ["ai_search"], confidence: 1, rationale: "x" } }, choice],
      sql: ["MATCH (n) RETURN n"],
      desk: ["seven [1]"],
      reviewer: [{ json: { decision: "accept" } }],
    })
    const cypher = {
      schema: async () => "(:Lamp)",
      query: async (query: string) => {
        queries.push(query)
        return rows(["n"], [[7]])
      },
    }
    const more: Partial<GoalBackends> = {
      graph: () => ({ ...retriever("graph"), cypher }),
      sourceRanker: (sources) => {
        ranked.push(
          sources.databases.map(({ id }) => id),
          sources.documents?.name,
          sources.graph?.name,
        )
        return ranker("database shop 0.3", "documents docs 0.2", "graph neo4j 0.1")
      },
    }
    const { goal, diagnostics } = load(SEARCH.replace("sql_agent", "graph_agent"), {
      backends: () => ({ ...backends([])(), ...more }) as GoalBackends,
      model: () => model,
    })
    expect(diagnostics).toEqual([])
    const { outputs, state } = await goalWorkflow(goal?.config as never).run("how many lamps?").result
    expect(outputs).toEqual(["seven [1]"])
    expect(queries).toEqual(["MATCH (n) RETURN n"])
    expect(ranked).toEqual([["shop", "files"], "shop/docs.db", "neo4j"])
    expect(state.sources[0]).toMatchObject({ kind: "graph", query: "MATCH (n) RETURN n", citedBy: ["desk"] })
  })

  test("need backends", () => {
    expect(load(SEARCH).diagnostics.map(summarize)).toEqual(["error BACKENDS_MISSING 9:1"])
  })

  test("files or a folder", () => {
    const text = (which: string) =>
      `${AGENTS}assistants: [desk]\nsearch:\n  databases:\n    - { type: csv, id: a${which} }`
    const of = (which: string) => load(text(which), { backends: backends([]) }).diagnostics.map(summarize)
    expect(of(", files: [a.csv]")).toEqual([])
    expect(of("")).toEqual(["error INVALID_VALUE 10:7"])
    expect(of(", files: [a.csv], folder: b")).toEqual(["error INVALID_VALUE 10:7"])
  })

  test("excluded columns are written as table.column", () => {
    const text = (columns: string) =>
      `${AGENTS}assistants: [desk]\nsearch:\n  databases:\n    - { type: csv, id: a, folder: b, exclude_columns: [${columns}] }`
    const of = (columns: string) => load(text(columns), { backends: backends([]) }).diagnostics.map(summarize)
    expect(of('patients.ssn, "*.password", hr.staff.pay')).toEqual([])
    expect(of("ssn")).toEqual(["error BAD_FORMAT 10:56"])
  })

  test("a duplicate database id is an error at the second one", () => {
    const text = `${AGENTS}assistants: [desk]\nsearch:\n  databases:\n    - { type: csv, id: a, folder: b }\n    - { type: csv, id: a, folder: c }`
    expect(load(text, { backends: backends([]) }).diagnostics.map(summarize)).toEqual([
      "error DUPLICATE_DATABASE 11:24",
    ])
  })

  test("one that cannot be closed does not keep the others open", async () => {
    const asked: string[] = []
    const closing = (name: string, fails: boolean) => ({
      close: async () => {
        asked.push(name)
        if (fails) throw new Error(`${name} is stuck`)
      },
    })
    const opened: GoalBackends = {
      ...backends([])(),
      database: ({ id, type }) => ({ ...database(id, { kind: type }), ...closing(id, id === "shop") }),
      index: () => ({ ...retriever("docs"), ...closing("docs", false) }),
    }
    const { goal } = load(SEARCH, { backends: () => opened })
    const list = (await goal?.config.sql?.databases.listDatabases()) ?? []
    for (const one of list) await one.schema()
    const vector = goal?.config.vector as Retriever
    await vector.search("x")
    await expect(goal?.close()).rejects.toThrow("shop is stuck")
    expect(asked).toEqual(["shop", "files", "docs"])
  })

  test("one that could not be opened is tried again", async () => {
    let times = 0
    const index = () => {
      if (++times === 1) throw new Error("locked")
      return retriever("docs", [LAMPS])
    }
    const { goal } = load(SEARCH, { backends: () => ({ ...backends([])(), index }) })
    const vector = goal?.config.vector as Retriever
    await expect(vector.search("x")).rejects.toThrow("locked")
    expect(await vector.search("x")).toEqual([LAMPS])
    expect(await vector.search("x")).toEqual([LAMPS])
    expect(times).toBe(2)
    await goal?.close()
  })

  test("a SQL agent without databases is a warning", () => {
    const { goal, diagnostics } = load(`${AGENTS}assistants: [desk]\nsql_agent: sql`)
    expect(diagnostics.map(summarize)).toEqual(["warning NO_DATABASES 8:12"])
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
    throw new Error(`unexpected read of ${file}`)
  }

  test("has the agents and the settings of the configuration", async () => {
    const model = scriptedModel({ expert: ["from the graph"] })
    const text = `${AGENTS}assistants: [desk]\nagent_id_triage: expert\ngraph_definition: graph.json`
    const config = configOf(text, { read: reads(graph("${AGENT_ID_TRIAGE}")), model: () => model })
    expect(await runGoal({ ...config, fallback: false }, "go")).toBe("from the graph")
  })

  test.each([
    ["multi_route_always", "multi_route_always: false", "desk"],
    ["multi_route_always", "multi_route_always: ${ALL}", "expert"],
    ["multiRouteAlways == true", "multi_route_always: true", "expert"],
    ["not use_neo4j_search", "use_graph_search: false", "expert"],
    ["max_review_passes >= 2", "maxReviewPasses: 2", "expert"],
    ["max_review_passes >= 2", "maxReviewPasses: 1", "desk"],
    ["reporter_ids[-1] == 'desk' and 'sql' not in assistants", "", "expert"],
    ["region == 'eu'", "variables: { region: eu }", "expert"],
  ])("sees its settings in a condition with their types: %s, with %s", async (when, setting, who) => {
    const nodes = [
      { id: "if", type: "conditional" },
      { id: "one", type: "agent", agent_id: "expert" },
      { id: "other", type: "agent", agent_id: "desk" },
    ]
    const edges = [
      { from_node: "if", to_node: "one", condition: when },
      { from_node: "if", to_node: "other" },
    ]
    const model = scriptedModel({ expert: ["expert"], desk: ["desk"] })
    const config = configOf(`${AGENTS}assistants: [desk]\n${setting}\ngraph_definition: graph.json`, {
      read: reads(JSON.stringify({ nodes, edges })),
      env: { ALL: "true" },
      model: () => model,
    })
    expect(await runGoal({ ...config, fallback: false }, "go")).toBe(who)
  })

  test("has them with the variables filled in, whatever the name of the file", async () => {
    const asked: unknown[] = []
    const model = scriptedModel({ expert: ["from the graph"] })
    const text = `${AGENTS.replace("expert: {}", 'expert: { model: "${MODEL:-offline}" }')}assistants: [desk]\ngraph_definition: graph.json`
    const options: LoadGoalOptions = {
      read: reads(graph("expert")),
      model: (_, given) => {
        asked.push(given)
        return model
      },
    }
    const { goal } = load(text, options, "./shop/goal.yaml")
    if (goal === undefined) throw new Error("there is no configuration")
    expect(await runGoal({ ...goal.config, fallback: false }, "go")).toBe("from the graph")
    expect(new Set(asked.filter((one) => one !== undefined))).toEqual(new Set(["offline", "offline/unnamed"]))
  })

  test("that is refused has a reason, without the values of variables", async () => {
    const model = scriptedModel({
      triage: ["?"],
      desk: ["from the chain"],
      reviewer: [{ json: { decision: "accept" } }],
    })
    const text = [
      AGENTS.replace("expert: {}", "expert: { cache: {}, model: big }"),
      "models: { big: { provider: offline, model: x, provider_opts: { key: '${KEY}' } } }",
      "assistants: [desk]",
      "graph_definition: graph.json",
    ].join("\n")
    const { goal } = load(text, {
      read: reads(graph("expert").replace('"to_node":"write"', '"to_node":"rite"')),
      env: { KEY: "s3cret" },
      model: () => model,
    })
    const run = goalWorkflow(goal?.config as GraphGoalConfig).stream("go")
    const logs: string[] = []
    for await (const event of run) if (event.type === "log") logs.push(event.message)
    expect((await run.result).outputs).toEqual(["from the chain"])
    expect(logs[0]).toContain("Edge target node rite not found")
    expect(logs.join("\n")).not.toContain("s3cret")
  })

  test("may name the assistant agent NewsReporterAgent", async () => {
    const model = scriptedModel(["from the graph"])
    const text =
      "agents: { triage: {}, reviewer: {}, AssistantAgent: {} }\nassistants: [AssistantAgent]\ngraph_definition: graph.json"
    const config = configOf(text, { read: reads(graph("NewsReporterAgent")), model: () => model })
    expect(await runGoal({ ...config, fallback: false }, "go")).toBe("from the graph")
  })

  test("is not used if the switch is off", () => {
    const text = `${AGENTS}assistants: [desk]\ngraph_definition: graph.json`
    expect(configOf(text, { env: { USE_GRAPH_EXECUTION: "false" } }).definition).toBeUndefined()
    expect(configOf(`${text}\nuse_graph_execution: true`, { read: reads("") }).definition).toBe(
      "shop/graph.json",
    )
  })
})
