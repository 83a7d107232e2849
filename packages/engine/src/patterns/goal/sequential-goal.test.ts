import { describe, expect, test } from "vitest"
import { node, workflow } from "../../builder/index.ts"
import { toMermaid } from "../../pictures/index.ts"
import type { Run } from "../../runtime/index.ts"
import type { AskOptions } from "../ports.ts"
import { ACCEPT, database, databases, LAMPS, retriever, team, triaged, watched } from "./goal.test-support.ts"
import { runSequentialGoal, sequentialGoal } from "./sequential-goal.ts"

describe("triage", () => {
  test("an answer that is not such JSON is no error: unknown, 0, parse_error, and the run goes on", async () => {
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

  test("its JSON may be in a code block, and have null where nothing is known", async () => {
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

  test("a failure of detection is logged, and changes nothing", async () => {
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
    const { result, logs } = await watched({ ...agents, databases: broken })
    expect(result.outputs).toEqual(["x"])
    expect(logs).toContain("warn: Schema detection failed: nobody there")
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

  test("one target is its text alone, also for many", async () => {
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
  test("each does its own search, and is told the goal and what was found", async () => {
    const agents = team({ a: ["1"], b: ["2"] }, ["a", "b"])
    const docs = retriever("docs", [LAMPS])
    await runSequentialGoal({ ...agents, vector: docs, multiRouteAlways: true }, "how many lamps?")
    expect(docs.queries).toEqual(["how many lamps?", "how many lamps?"])
    expect(agents.told("b")).toEqual([
      "user: Question: how many lamps?\n\nContext:\n[1] stock.md:3 (score 0.831)\nThere are 7 lamps.",
    ])
  })

  test("targets run concurrently, and come in the configuration's order whatever finished first", async () => {
    const opened: (() => void)[] = []
    const docs = {
      name: "docs",
      search: () =>
        new Promise<[]>((resolve) => {
          opened.push(() => resolve([]))
          // Both are at work; the last one is let go first.
          if (opened.length === 2) for (const open of opened.reverse()) setImmediate(open)
        }),
    }
    const agents = team({ a: ["1"], b: ["2"] }, ["a", "b"])
    const text = await runSequentialGoal({ ...agents, vector: docs, multiRouteAlways: true }, "go")
    expect(text.indexOf("=a")).toBeLessThan(text.indexOf("=b"))
    expect(agents.callers().filter((name) => name === "a" || name === "b")).toEqual(["b", "a"])
  })

  test("where nothing is found the context is empty", async () => {
    const agents = team({ a: ["x"] })
    await runSequentialGoal(agents, "go")
    expect(agents.told("a")).toEqual(["user: Question: go\n\nContext:\n"])
  })

  test("where the graph has nothing the index is searched, and if that fails there is no context", async () => {
    const graph = retriever("g")
    const found = team({ a: ["x"] })
    const { nodes } = await watched({ ...found, graph, vector: retriever("v", [LAMPS]) })
    expect(nodes).toContain("vector")
    expect(found.told("a")[0]).toContain("There are 7 lamps.")
    const failed = team({ a: ["x"] })
    const { result } = await watched({ ...failed, graph, vector: retriever("v", new Error("locked")) })
    expect(result.outputs).toEqual(['Incomplete: documents: The vector search of "v" failed: locked.\n\nx'])
    expect(failed.told("a")).toEqual(["user: Question: how many lamps?\n\nContext:\n"])
  })

  test("a graph that cannot be searched is logged, and the index is searched; without one the run fails", async () => {
    const graph = retriever("g", new Error("unreachable"))
    const agents = team({ a: ["x"] })
    const { logs } = await watched({ ...agents, graph, vector: retriever("v", [LAMPS]) })
    expect(agents.told("a")[0]).toContain("There are 7 lamps.")
    expect(logs).toContain('warn: The graph search of "g" failed: unreachable.')
    const { result } = await watched({ ...team({ a: ["x"] }), graph })
    expect(result.error?.message).toBe('The graph search of "g" failed: unreachable.')
  })

  test("an agent that searches and answers with blanks has found nothing", async () => {
    const blank = workflow("blank")
      .start(node("blank", () => " \n"))
      .build()
    const agents = team({ a: ["x"] })
    await watched({ ...agents, graph: blank, vector: retriever("v", [LAMPS]) })
    expect(agents.told("a")[0]).toContain("There are 7 lamps.")
    const nothing = team({ a: ["x"] })
    await watched({ ...nothing, vector: blank })
    expect(nothing.told("a")).toEqual(["user: Question: how many lamps?\n\nContext:\n"])
  })

  test("results come at most so many, with score and source, and none is cut inside a character", async () => {
    const long = { ...LAMPS, title: "Stock", text: `${"x".repeat(3_999)}💡💡` }
    const agents = team({ a: ["x"] })
    await watched({ ...agents, vector: retriever("v", [long, LAMPS, LAMPS]), results: 2 })
    const [told = ""] = agents.told("a")
    expect(told).toContain(`[1] stock.md:3 (score 0.831)\nStock\n${"x".repeat(3_999)}…\n\n[2] `)
    expect(told).not.toContain("[3]")
  })

  test("a run that is cancelled stops its searches", async () => {
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

  test("where the graph has something the index is not searched", async () => {
    const vector = retriever("v", [LAMPS])
    const agents = team({ a: ["x"] })
    await watched({ ...agents, graph: retriever("g", [{ ...LAMPS, text: "Ann sells lamps." }]), vector })
    expect(agents.told("a")[0]).toContain("Ann sells lamps.")
    expect(vector.queries).toEqual([])
  })

  test("an empty answer becomes an apology, without review", async () => {
    const agents = team({ a: [""] })
    expect(await runSequentialGoal(agents, "go")).toBe(
      "I apologize, but I couldn't generate a response. Please try rephrasing your question.",
    )
    expect(agents.told("reviewer")).toEqual([])
  })
})

describe("errors", () => {
  const down = { error: { code: 400, message: "no such model." } }

  test.each([
    ["Triage", { triage: [down] }],
    ["Assistant", { a: [down] }],
    ["Review", { a: ["x"], reviewer: [down] }],
  ])("a model failure of the %s agent fails the run, and says so", async (role, script) => {
    const { result } = await watched(team(script))
    expect(result.status).toBe("failed")
    const cause =
      "scripted/script refused the request (400): no such model. Check the agent's settings, tools and schema"
    const message = `${role} agent failed: ${cause}. Please check your model access and agent configuration.`
    expect(result.error?.message).toBe(message)
    await expect(runSequentialGoal(team(script), "go")).rejects.toMatchObject({ message })
  })

  test("an agent may be any workflow that takes a text, and its failure is told alike", async () => {
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

  test("a budget that is used up is a limit, not a failure", async () => {
    const { status, error } = await sequentialGoal(team({ a: ["x"] })).run("go", {
      budget: { modelCalls: 1 },
    }).result
    expect([status, error?.code]).toEqual(["limit", "BUDGET_EXCEEDED"])
  })

  test("a search that fails, with nothing in its place, fails the run by its name", async () => {
    const { result } = await watched({ ...team({}), vector: retriever("docs", new Error("locked.")) })
    expect(result.error?.message).toBe('The vector search of "docs" failed: locked.')
  })

  test("a configuration that cannot work is refused", () => {
    const agents = team({})
    expect(() => sequentialGoal({ ...agents, assistants: [] })).toThrow("at least one assistant")
    expect(() => sequentialGoal({ ...agents, maxReviewPasses: -1 })).toThrow("maxReviewPasses")
    const [twin] = team({}).assistants
    expect(() => sequentialGoal({ ...agents, assistants: [...agents.assistants, twin as never] })).toThrow(
      'Two assistants have the name "a"',
    )
  })
})

test("its stages are nodes: it can be drawn, lanes and all", () => {
  const agents = team({ a: ["x"], reviewer: [ACCEPT] })
  const sql = { agent: agents.sqlAgent, databases: databases(database("shop")) }
  const picture = toMermaid(sequentialGoal({ ...agents, sql, graph: retriever("g"), vector: retriever("v") }))
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
    expect(picture).toContain(stage)
  }
})
