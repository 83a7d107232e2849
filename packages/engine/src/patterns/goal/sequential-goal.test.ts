import { describe, expect, test } from "vitest"
import { node, workflow } from "../../builder/index.ts"
import { toMermaid } from "../../diagrams/index.ts"
import type { Run } from "../../runtime/index.ts"
import type { AskOptions, Found } from "../ports.ts"
import {
  ACCEPT,
  database,
  databases,
  LAMPS,
  retriever,
  shownEvidence,
  team,
  triaged,
  watched,
} from "./goal.test-support.ts"
import { runSequentialGoal, sequentialGoal } from "./sequential-goal.ts"

describe("triage", () => {
  test("an answer that is not valid triage JSON is not an error: unknown, 0, parse_error, and the run continues", async () => {
    for (const said of [
      "no idea",
      '["ai_search"]',
      '{"intents": "multi", "confidence": 1, "rationale": "x"}',
      '{"intents": ["multi"]}',
    ]) {
      const agents = team({ triage: [said], a: ["seven"] })
      const { result, events } = await watched(agents)
      expect(result.outputs).toEqual(["seven"])
      expect(events).toContainEqual(
        expect.objectContaining({
          name: "goal.triaged",
          data: { intents: ["unknown"], confidence: 0, rationale: "parse_error" },
        }),
      )
    }
  })

  test("its JSON may be in a code block, and have null for unknown fields", async () => {
    const json = '{"intents":["multi"],"confidence":0.9,"rationale":"x","database_id":null}'
    const agents = team({ triage: [`\`\`\`json\n${json}\n\`\`\``], a: ["1"], b: ["2"] }, ["a", "b"])
    expect(await runSequentialGoal(agents, "go")).toContain("AssistantAgent=b")
  })

  test.each([
    [["ai_search"], true],
    [["chat", "unknown"], true],
    [["chat"], false],
  ])("for the intents %j, schema detection runs: %s", async (intents, isDetected) => {
    const agents = team({ triage: [triaged({ intents })], a: ["x"] })
    const { nodes } = await watched({ ...agents, databases: databases(database("shop")) })
    expect(nodes.includes("detect")).toBe(isDetected)
  })

  test.each([
    ["postgresql", "sql"],
    ["csv", "sql"],
    ["other", "vector"],
  ] as const)("a database of kind %s leads to the %s agent", async (kind, by) => {
    const shop = database("shop", { kind })
    const agents = team({
      triage: [triaged({ intents: ["unknown"] })],
      a: ["x"],
      sql: ["SELECT 1", "SELECT 1"],
    })
    const sql = { agent: agents.sqlAgent, databases: databases(shop) }
    const { events, nodes } = await watched({ ...agents, sql, vector: retriever("docs") })
    expect(events).toContainEqual(
      expect.objectContaining({
        name: "goal.chosen",
        data: by === "sql" ? { by, database: "shop" } : { by },
      }),
    )
    expect(nodes.includes("csv")).toBe(kind === "csv")
  })

  test("an answer from documents of which some were unreadable begins with them", async () => {
    const agents = team({
      triage: [triaged({ intents: ["ai_search"], preferred_agent: "vector" })],
      a: ["Seven."],
    })
    const skipped = [{ source: "docs/scan.pdf", reason: "it has no text" }]
    const { result } = await watched({
      ...agents,
      vector: { ...retriever("docs", [LAMPS]), skipped: () => skipped },
    })
    expect(result.outputs).toEqual(["Incomplete: docs/scan.pdf: it has no text\n\nSeven."])
    expect(result.state.incomplete).toEqual(skipped)
  })

  test("a failure of detection does not fail the run, and the answer reports it", async () => {
    const agents = team({
      triage: [triaged({ intents: ["ai_search"], preferred_agent: "vector" })],
      a: ["x"],
    })
    const broken = {
      listDatabases: async () => {
        throw new Error("nobody there")
      },
      findBestDatabase: async () => undefined,
    }
    const { result, logs, events } = await watched({ ...agents, databases: broken })
    expect(result.outputs).toEqual(["Incomplete: databases: nobody there\n\nx"])
    expect(result.state.incomplete).toEqual([{ source: "databases", reason: "nobody there" }])
    expect(events).toContainEqual(
      expect.objectContaining({
        name: "goal.incomplete",
        data: { source: "databases", reason: "nobody there" },
      }),
    )
    expect(logs).toContain("warn: Schema detection failed: nobody there")
  })

  test("the answer reports databases that could not be queried, even if another one matches", async () => {
    const failed = [{ source: "The crm", reason: "connection refused" }]
    const shop = database("shop")
    const found = { database: shop, score: 1, reason: "lamps", failed }
    const list = { listDatabases: async () => [shop], findBestDatabase: async () => found }
    for (const intents of [["ai_search"], ["chat"]]) {
      const agents = team({
        triage: [triaged({ intents, preferred_agent: "sql" })],
        sql: ["SELECT n FROM lamps"],
        a: ["Seven."],
      })
      const { result } = await watched({ ...agents, sql: { agent: agents.sqlAgent, databases: list } })
      expect(result.outputs).toEqual(["Incomplete: The crm: connection refused\n\nSeven."])
      expect(result.state.incomplete).toEqual(failed)
    }
  })

  test("a problem of several assistants is reported once", async () => {
    const agents = team(
      { triage: [triaged({ intents: ["multi"], preferred_agent: "sql" })], a: ["A."], b: ["B."] },
      ["a", "b"],
    )
    const broken = {
      listDatabases: async () => [],
      findBestDatabase: async () => {
        throw new Error("nobody there")
      },
    }
    const sql = { agent: agents.sqlAgent, databases: broken }
    const { result } = await watched({ ...agents, sql })
    expect(result.state.incomplete).toEqual([{ source: "databases", reason: "nobody there" }])
  })
})

describe("targets", () => {
  test("the first assistant answers, unless the intent is multi", async () => {
    const one = team({ a: ["from a"], b: ["from b"] }, ["a", "b"])
    expect(await runSequentialGoal(one, "go")).toBe("from a")
    const all = team({ triage: [triaged({ intents: ["multi"] })], a: ["from a"], b: ["from b"] }, ["a", "b"])
    expect(await runSequentialGoal(all, "go")).toBe(
      "### AssistantAgent=a\nfrom a\n\n---\n\n### AssistantAgent=b\nfrom b",
    )
  })

  test("one target has only its text, also with multi", async () => {
    const agents = team({ triage: [triaged({ intents: ["multi"] })], a: ["from a"] })
    expect(await runSequentialGoal({ ...agents, multiRouteAlways: true }, "go")).toBe("from a")
  })

  test("multiRouteAlways sends every goal to all of them", async () => {
    const agents = team({ a: ["from a"], b: ["from b"] }, ["a", "b"])
    expect(await runSequentialGoal({ ...agents, multiRouteAlways: true }, "go")).toContain(
      "AssistantAgent=b\nfrom b",
    )
  })
})

describe("per target", () => {
  test("each assistant runs its own search and receives the goal and the results", async () => {
    const agents = team({ a: ["1"], b: ["2"] }, ["a", "b"])
    const docs = retriever("docs", [LAMPS])
    await runSequentialGoal({ ...agents, vector: docs, multiRouteAlways: true }, "how many lamps?")
    expect(docs.queries).toEqual(["how many lamps?", "how many lamps?"])
    expect(agents.prompts("b")).toEqual([
      `user: Question: how many lamps?\n\nContext:\n${shownEvidence("stock.md:3 (score 0.831)\nThere are 7 lamps.")}`,
    ])
  })

  test("targets run concurrently, and are ordered like the configuration, whichever finishes first", async () => {
    const opened: (() => void)[] = []
    const docs = {
      name: "docs",
      search: () =>
        new Promise<[]>((resolve) => {
          opened.push(() => resolve([]))
          // Both are active; the last one is released first.
          if (opened.length === 2) for (const open of opened.reverse()) setImmediate(open)
        }),
    }
    const agents = team({ a: ["1"], b: ["2"] }, ["a", "b"])
    const text = await runSequentialGoal({ ...agents, vector: docs, multiRouteAlways: true }, "go")
    expect(text.indexOf("=a")).toBeLessThan(text.indexOf("=b"))
    expect(agents.callers().filter((name) => name === "a" || name === "b")).toEqual(["b", "a"])
  })

  test("without results the context is empty", async () => {
    const agents = team({ a: ["x"] })
    await runSequentialGoal(agents, "go")
    expect(agents.prompts("a")).toEqual(["user: Question: go\n\nContext:\n"])
  })

  test("without results of the graph the index is searched, and if that fails there is no context", async () => {
    const graph = retriever("g")
    const found = team({ a: ["x"] })
    const { nodes } = await watched({ ...found, graph, vector: retriever("v", [LAMPS]) })
    expect(nodes).toContain("vector")
    expect(found.prompts("a")[0]).toContain("There are 7 lamps.")
    const failed = team({ a: ["x"] })
    const { result } = await watched({ ...failed, graph, vector: retriever("v", new Error("locked")) })
    expect(result.outputs).toEqual(['Incomplete: documents: The vector search of "v" failed: locked.\n\nx'])
    expect(failed.prompts("a")).toEqual(["user: Question: how many lamps?\n\nContext:\n"])
  })

  test("a graph that cannot be searched is logged, and the index is searched; without an index the run fails", async () => {
    const graph = retriever("g", new Error("unreachable"))
    const agents = team({ a: ["x"] })
    const { logs } = await watched({ ...agents, graph, vector: retriever("v", [LAMPS]) })
    expect(agents.prompts("a")[0]).toContain("There are 7 lamps.")
    expect(logs).toContain('warn: The graph search of "g" failed: unreachable.')
    const { result } = await watched({ ...team({ a: ["x"] }), graph })
    expect(result.error?.message).toBe('The graph search of "g" failed: unreachable.')
  })

  test("a search agent that answers with blanks has no results", async () => {
    const blank = workflow("blank")
      .start(node("blank", () => " \n"))
      .build()
    const agents = team({ a: ["x"] })
    await watched({ ...agents, graph: blank, vector: retriever("v", [LAMPS]) })
    expect(agents.prompts("a")[0]).toContain("There are 7 lamps.")
    const nothing = team({ a: ["x"] })
    await watched({ ...nothing, vector: blank })
    expect(nothing.prompts("a")).toEqual(["user: Question: how many lamps?\n\nContext:\n"])
  })

  test("results are limited in number, have score and source, and are never cut inside a character", async () => {
    const long = { ...LAMPS, title: "Stock", text: `${"x".repeat(3_999)}💡💡` }
    const agents = team({ a: ["x"] })
    await watched({ ...agents, vector: retriever("v", [long, LAMPS, LAMPS]), results: 2 })
    const [prompt = ""] = agents.prompts("a")
    expect(prompt).toContain(`[1] stock.md:3 (score 0.831)\nStock\n${"x".repeat(3_999)}…\n</document>`)
    expect(prompt).toContain("[2] stock.md:3")
    expect(prompt).not.toContain("[3]")
  })

  test("a cancelled run stops its searches", async () => {
    const signals: AbortSignal[] = []
    let run: Run<string> | undefined
    const docs = {
      name: "docs",
      search: (_: string, { signal }: AskOptions = {}) =>
        new Promise<never>((_resolve, reject) => {
          signals.push(signal as AbortSignal)
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true })
          void run?.cancel("enough")
        }),
    }
    run = sequentialGoal({ ...team({}), vector: docs }).run("go")
    expect((await run.result).status).toBe("cancelled")
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  test("the graph and the index are searched together, and merged by rank", async () => {
    const found = (source: string, score: number): Found => ({ text: `lamps of ${source}`, score, source })
    // Their scores cannot be compared.
    const graph = retriever("g", [found("g1", 90), found("g2", 80)])
    const vector = retriever("v", [found("v1", 0.9), found("v2", 0.8)])
    const agents = team({ a: ["x"] })
    const { result } = await watched({ ...agents, graph, vector, results: 3 })
    const places = agents.prompts("a")[0]?.match(/(?<=^\[\d\] )\w+/gm)
    expect(places).toEqual(["g1", "v1", "g2"])
    expect(result.state.routes).toEqual([
      { target: "a", by: "graph", source: "g", outcome: "found" },
      { target: "a", by: "vector", source: "v", outcome: "found" },
    ])
  })

  test("an empty answer becomes an apology, without review", async () => {
    const agents = team({ a: [""] })
    expect(await runSequentialGoal(agents, "go")).toBe(
      "I apologize, but I couldn't generate a response. Please try rephrasing your question.",
    )
    expect(agents.prompts("reviewer")).toEqual([])
  })
})

describe("errors", () => {
  const down = { error: { code: 400, message: "no such model." } }

  test.each([
    ["Triage", { triage: [down] }],
    ["Assistant", { a: [down] }],
    ["Review", { a: ["x"], reviewer: [down] }],
  ])("a model failure of the %s agent fails the run, and is named in the error", async (role, script) => {
    const { result } = await watched(team(script))
    expect(result.status).toBe("failed")
    const cause =
      "scripted/script refused the request (400): no such model. Check the agent's settings, tools and schema"
    const message = `${role} agent failed: ${cause}. Please check your model access and agent configuration.`
    expect(result.error?.message).toBe(message)
    await expect(runSequentialGoal(team(script), "go")).rejects.toMatchObject({ message })
  })

  test("an agent can be any workflow that takes a string, and its failure is reported the same way", async () => {
    const fails = node("fails", () => {
      throw new Error("boom")
    })
    const triage = workflow("remote").start(fails).build()
    await expect(runSequentialGoal({ ...team({}), triage }, "go")).rejects.toMatchObject({
      message: "Triage agent failed: boom. Please check your model access and agent configuration.",
    })
    const echo = workflow("echo")
      .start(node("echo", (text: string) => `heard ${text.length}`))
      .build()
    expect(await runSequentialGoal({ ...team({}), assistants: [echo] }, "go")).toBe("heard 23")
  })

  test("an exhausted budget is a limit, not a failure", async () => {
    const { status, error } = await sequentialGoal(team({ a: ["x"] })).run("go", {
      budget: { modelCalls: 1 },
    }).result
    expect([status, error?.code]).toEqual(["limit", "BUDGET_EXCEEDED"])
  })

  test("a failed search without a fallback fails the run with its error", async () => {
    const { result } = await watched({ ...team({}), vector: retriever("docs", new Error("locked.")) })
    expect(result.error?.message).toBe('The vector search of "docs" failed: locked.')
  })

  test("an invalid configuration is refused", () => {
    const agents = team({})
    expect(() => sequentialGoal({ ...agents, assistants: [] })).toThrow("at least one assistant")
    expect(() => sequentialGoal({ ...agents, maxReviewPasses: -1 })).toThrow("maxReviewPasses")
    const [twin] = team({}).assistants
    expect(() => sequentialGoal({ ...agents, assistants: [...agents.assistants, twin as never] })).toThrow(
      'Two assistants have the name "a"',
    )
  })
})

test("its stages are nodes: it can be drawn with its lanes", () => {
  const agents = team({ a: ["x"], reviewer: [ACCEPT] })
  const sql = { agent: agents.sqlAgent, databases: databases(database("shop")) }
  const diagram = toMermaid(sequentialGoal({ ...agents, sql, graph: retriever("g"), vector: retriever("v") }))
  for (const stage of [
    "triage",
    "detect",
    "choose",
    "targets",
    "target",
    "stitch",
    "sql",
    "csv",
    "graph",
    "vector",
    "assistant",
    "review",
  ]) {
    expect(diagram).toContain(stage)
  }
})
