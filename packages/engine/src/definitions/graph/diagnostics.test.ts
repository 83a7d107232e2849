import { describe, expect, test } from "vitest"
import { printDiagnostics } from "../../document/index.ts"
import { printProblems } from "../definition.ts"
import { loadDefinition } from "../load.ts"
import {
  agentNode,
  chat,
  flow,
  type Graph,
  problemsOf,
  shown,
  THINKER,
  tryLoad,
} from "./graph.test-support.ts"

const ROUTED = chat(["Router", "RC2"], ["Router -RC2-> RC2", "Router -END-> END"])
const edited = (graph: Graph, list: "nodes" | "edges", at: number, more: Graph): Graph => ({
  ...graph,
  [list]: (graph[list] as Graph[]).map((one, i) => (i === at ? { ...one, ...more } : one)),
})

describe("invalid rows", () => {
  test.each<[string, Graph, string]>([
    [
      "an entrypoint",
      { ...ROUTED, entrypointNodeId: "Routr" },
      "Entrypoint node Routr does not exist (Router?)",
    ],
    [
      "a source",
      edited(ROUTED, "edges", 0, { sourceNodeId: "X" }),
      "Edge e1 references non-existent source node X",
    ],
    [
      "a target",
      edited(ROUTED, "edges", 0, { targetNodeId: "RC3" }),
      "Edge e1 references non-existent target node RC3 (RC2?)",
    ],
    [
      "an agent",
      edited(ROUTED, "nodes", 1, { agentId: "rc9" }),
      "Agent rc9 referenced by node RC2 does not exist (RC2?)",
    ],
    ["a node twice", edited(ROUTED, "nodes", 1, { id: "Router" }), "Node Router is defined twice"],
    ["an edge twice", edited(ROUTED, "edges", 1, { id: "e1" }), "Edge e1 is defined twice"],
    [
      "another graph's node",
      edited(ROUTED, "nodes", 1, { workflowId: "x" }),
      "Node RC2 belongs to another workflow: x, not chat",
    ],
    [
      "another graph's edge",
      edited(ROUTED, "edges", 1, { workflowId: "x" }),
      "Edge e2 belongs to another workflow: x, not chat",
    ],
    [
      "AGENT without one",
      edited(ROUTED, "nodes", 1, { agentId: null }),
      "Node RC2 is an AGENT node but has no agentId",
    ],
    [
      "CONDITIONAL without a value",
      edited(ROUTED, "edges", 0, { conditionValue: null }),
      "Edge e1 is CONDITIONAL but has no conditionValue",
    ],
    ["two ALWAYS", chat(["A", "B"], ["A -> B", "A -> END"]), "Node A has two ALWAYS edges: e1 and e2"],
    [
      "two of a value",
      chat(["A", "B"], ["A -B-> B", "A -B-> END"]),
      "Node A has two CONDITIONAL edges with the value B: e1 and e2",
    ],
    ["a type", edited(ROUTED, "nodes", 1, { nodeType: "AGNT" }), 'Node RC2 has an unknown type "AGNT"'],
    [
      "a field",
      edited(ROUTED, "nodes", 1, { branches: ["Router"] }),
      "Node RC2 is an AGENT node, which has no field branches",
    ],
  ])("%s", (_, graph, message) => {
    const { definition, diagnostics } = tryLoad(graph)
    expect(definition).toBeUndefined()
    expect(diagnostics.every(({ place }) => place !== undefined)).toBe(true)
    expect(problemsOf(graph).join("\n")).toContain(message)
  })

  test("are reported all at once, each with its position", () => {
    const graph = edited({ ...ROUTED, entrypointNodeId: "nobody" }, "edges", 0, {
      targetNodeId: "x",
      conditionValue: null,
    })
    const { diagnostics, sources } = tryLoad(graph)
    expect(diagnostics.map(({ code }) => code)).toEqual([
      "VALUE_MISSING",
      "ENTRY_UNKNOWN",
      "EDGE_UNKNOWN_NODE",
    ])
    expect(printDiagnostics(diagnostics, (file) => sources.get(file), { color: false })).toContain(
      '"entrypointNodeId": "nobody"',
    )
  })

  test("an edge without an id is reported by its position, which is distinct from written ids", () => {
    const edges = (ROUTED.edges as Graph[]).map(({ id: _, ...edge }, i) =>
      i === 0 ? { ...edge, id: "2" } : edge,
    )
    expect(problemsOf({ ...ROUTED, edges })).toEqual([])
    expect(problemsOf(edited({ ...ROUTED, edges }, "edges", 1, { targetNodeId: "x" }))).toEqual([
      "EDGE_UNKNOWN_NODE Edge 2 references non-existent target node x",
    ])
  })

  test("report a duplicate agent", () => {
    const agents = [{ id: "Router" }, { id: "RC2" }, { id: "RC2" }]
    expect(problemsOf({ ...ROUTED, agents })).toEqual([
      expect.stringContaining("DUPLICATE_AGENT Agent RC2 is already defined on line"),
    ])
  })
})

describe("rows that are probably a mistake", () => {
  test.each<[string, Graph, string]>([
    [
      "a node that cannot be reached",
      chat(["A", "B"], ["A -> END"]),
      "UNREACHABLE_NODE Node B is unreachable",
    ],
    [
      "tools without an executor",
      chat(["A"], ["A -> END"], { agents: { A: THINKER } }),
      "NO_TOOL_EXECUTOR The agent of node A has tools, but no edge leads from the node to a TOOL_EXECUTOR",
    ],
    [
      "a cycle with no way to END",
      chat(["A", "B"], ["A -> B", "B -> A"]),
      "CYCLE_WITHOUT_END No route leads to END from the cycle A → B → A",
    ],
    [
      "a value that nothing is called",
      chat(["A", "Bob"], ["A -Bbo-> Bob"]),
      "VALUE_UNKNOWN The conditionValue Bbo of edge e1 is not the name of a node or a tool, and not END (Bob?)",
    ],
    [
      "a conversation whose agent has no END edge",
      chat(["A"], [], { isConversational: true }),
      "NO_END_EDGE Node A has no END edge; its agent can still end the conversation with the tool `end`",
    ],
  ])("%s: a warning, and the graph runs", (_, graph, message) => {
    expect(problemsOf(graph)).toEqual([message])
    expect(tryLoad(graph).definition).toBeDefined()
  })

  test("tool names are valid values after a tool executor", () => {
    const tools = { toolsets: [{ type: "script", shell: { look_up: { cmd: "true" } } }] }
    const graph = (value: string) =>
      chat(["A", "tools"], ["A -tools-> tools", `tools -${value}-> A`], { agents: { A: tools } })
    expect(problemsOf(graph("look_up"))).toEqual([])
    expect(problemsOf(graph("look_it_up"))).toEqual([expect.stringContaining("VALUE_UNKNOWN")])
  })

  test("tool names are valid values before a tool executor", () => {
    const tools = { toolsets: [{ type: "script", shell: { look_up: { cmd: "true" } } }] }
    const graph = (value: string) => chat(["A", "tools"], [`A -${value}-> tools`], { agents: { A: tools } })
    expect(problemsOf(graph("look_up"))).toEqual([])
    expect(problemsOf(graph("look_it_up"))).toEqual([expect.stringContaining("VALUE_UNKNOWN")])
  })
})

describe("edges to missing nodes", () => {
  const graph = chat(["A", "B"], ["A -B-> B", "A -C-> C", "C -> A"])

  test("are dropped with a warning each if the caller is lenient", () => {
    const { definition, diagnostics } = tryLoad(graph, { lenient: true })
    expect(diagnostics.map(({ message, severity }) => [severity, message])).toEqual([
      ["warning", "Edge e2 references non-existent target node C; the edge is dropped"],
      ["warning", "Edge e3 references non-existent source node C; the edge is dropped"],
    ])
    expect(definition).toBeDefined()
  })
})

describe("an invalid graph", () => {
  const nodes = ["a", "b"].map((id) => agentNode(id))

  test.each<[string, Graph, string]>([
    ["an entry", flow(nodes, ["a -> b"], { entry: "x", exits: ["b"] }), "Entry node x not found in graph"],
    ["no exit", flow(nodes, ["a -> b"], { entry: "a" }), "At least one exit node must be defined"],
    ["empty exits", flow(nodes, ["a -> b"], { exits: [] }), "At least one exit node must be defined"],
    ["an exit", flow(nodes, ["a -> b"], { entry: "a", exits: ["x"] }), "Exit node x not found in graph"],
    ["a source", flow(nodes, ["a -> b", "x -> b"]), "Edge source node x not found"],
    ["a target", flow(nodes, ["a -> b", "b -> x"]), "Edge target node x not found"],
    ["unreachable nodes", flow([...nodes, agentNode("c")], []), "Unreachable nodes from entry node: b, c"],
    ["a node twice", flow([...nodes, agentNode("a")], ["a -> b"]), "Node a already exists in graph"],
    ["a cycle", flow(nodes, ["a -> b", "b -> a"]), "Cycle without a decision node: a → b → a"],
    [
      "a cycle beside one with a decision",
      flow(
        [...nodes, { id: "d", type: "decision", options: ["a", "end"], decide: "'end'" }, agentNode("end")],
        ["a -> b", "b -> a", "b -> d"],
      ),
      "Cycle without a decision node: a → b → a",
    ],
    [
      "a loop whose edges have conditions",
      flow([{ id: "l", type: "loop" }, ...nodes], ["l -> a if latest == 'x'", "a -> l", "l -> b"]),
      "Edge 1 starts at a loop: its condition must be `continue`, `exit` or empty; the loop's own condition is loop_condition",
    ],
    [
      "a loop with one edge",
      flow([{ id: "l", type: "loop" }, ...nodes], ["l -> a", "a -> l", "a -> b"]),
      "Node l (loop) needs exactly one edge that leads back to it and one that leaves it",
    ],
    [
      "a loop that never comes back",
      flow([{ id: "l", type: "loop" }, ...nodes], ["l -> a", "l -> b"]),
      "Node l (loop) needs exactly one edge",
    ],
    [
      "a strategy",
      flow([...nodes, { id: "m", type: "merge", strategy: "concat" }], ["a -> b", "b -> m"]),
      "must be one of",
    ],
    ["a condition", flow(nodes, ["a -> b if latest =="]), "EXPRESSION_INVALID"],
    ["a node in a condition", flow(nodes, ["a -> b if outputs.bb == 1"]), 'There is no node "bb"'],
    [
      "a variable",
      flow([{ id: "a", type: "agent", agent_id: "$" + "{NOBODY}" }], []),
      "The variable NOBODY has no value",
    ],
    [
      "a tool executor",
      flow([agentNode("a"), { id: "t", type: "tool_executor" }], ["a -> t"]),
      "is for conversations",
    ],
    [
      "two elses",
      flow([{ id: "c", type: "conditional" }, ...nodes], ["c -> a", "c -> b"]),
      "Node c (conditional) has two edges without a condition",
    ],
    [
      "a member",
      flow([{ id: "p", type: "parallel", nodes: ["a", "z"] }, ...nodes], ["p -> b"]),
      "Node p lists z in nodes, but there is no such node",
    ],
    ["a file", flow([{ id: "w", type: "workflow", file: "gone.yaml" }], []), "Cannot read gone.yaml"],
    [
      "itself",
      flow(
        [
          { id: "p", type: "parallel", nodes: ["q"] },
          { id: "q", type: "parallel", nodes: ["p"] },
        ],
        [],
      ),
      "Node p runs itself",
    ],
    ["no nodes", { nodes: [] }, "The graph has no nodes"],
  ])("%s", (_, graph, message) => {
    const { definition } = tryLoad(graph, { env: {} })
    expect(definition).toBeUndefined()
    expect(problemsOf(graph, { env: {} }).join("\n")).toContain(message)
  })

  test("a cycle with a decision is a valid loop", () => {
    const decision = { id: "d", type: "decision", options: ["a", "b"], decide: "'b'" }
    expect(problemsOf(flow([...nodes, decision], ["a -> d"]))).toEqual([])
  })
})

describe("agents", () => {
  const nodes = [{ id: "n", type: "agent", agent_id: "jo" }]

  test("may be rows with id, prompt, model and tools", () => {
    const row = { id: "jo", name: "Jo", prompt: "Be kind.", model: "offline", tools: ["think"] }
    const { definition } = tryLoad({ nodes, agents: [row] })
    expect(definition?.agents.get("jo")).toBeDefined()
    expect(definition?.eject()).toContain('instructions: "Be kind."')
  })

  test("may be in a separate file", () => {
    const file =
      "models: { m: { provider: offline, model: x } }\nagents: { jo: { model: m }, other: { model: nope } }"
    const { definition, diagnostics } = tryLoad({ nodes }, { agents: "agents.yaml", read: () => file })
    expect(diagnostics).toEqual([])
    expect([...(definition?.agents.keys() ?? [])]).toEqual(["jo"])
  })

  test("have their problems reported in the file that defines them", () => {
    const nodes = [{ id: "a", type: "agent", agent_id: "jo" }]
    const file = "agents:\n  jo: { modle: offline }\n"
    const { diagnostics, sources } = tryLoad({ nodes }, { agents: "agents.yaml", read: () => file })
    expect(diagnostics.map(shown)).toEqual([expect.stringContaining("UNKNOWN_FIELD")])
    expect(printProblems({ diagnostics, sources }, { color: false })).toContain("jo: { modle: offline }")
  })

  test("report a file that cannot be read", () => {
    const read = () => {
      throw new Error("no")
    }
    expect(problemsOf({ nodes }, { agents: "agents.yaml", read })[0]).toContain("Cannot read agents.yaml")
  })
})

test("have their problems reported with those of the nodes", () => {
  const text = JSON.stringify({
    agents: { a: { model: "nonsense" } },
    entry: "n",
    exits: ["n"],
    nodes: [{ id: "n", type: "agent", agent_id: "a" }],
    edges: [],
  })
  const { definition, diagnostics } = loadDefinition({ file: "g.json", text })
  expect(definition).toBeUndefined()
  expect(diagnostics.map(({ code }) => code)).toEqual(["UNKNOWN_MODEL"])
})

describe("the template of a merge", () => {
  const merging = (template: string, more: Graph = {}) =>
    flow(
      [
        { id: "fan", type: "fanout", branches: ["news", "prices"] },
        agentNode("news"),
        agentNode("prices"),
        { id: "join", type: "merge", strategy: "custom_template", template, ...more },
      ],
      ["news -> join", "prices -> join"],
    )

  test("is refused, with its position, if nothing fills a placeholder", () => {
    const graph = merging("{{ news }} and {{ pricess }} of {{ goal }}")
    expect(problemsOf(graph)).toEqual([
      "PLACEHOLDER_UNFILLED Nothing fills {{ pricess }}: the template of a merge has {{ results }}, {{ goal }}, {{ news }}, {{ prices }}, values of the state, and variables (prices?)",
    ])
    const { diagnostics, sources } = tryLoad(graph)
    const shownAt = printDiagnostics(diagnostics, (file) => sources.get(file), { color: false })
    expect(shownAt).toContain(
      '      "template": "{{ news }} and {{ pricess }} of {{ goal }}"\n     |                                      ^~~~~~~ did you mean `prices`?',
    )
  })

  test("is refused if a placeholder has single braces", () => {
    expect(problemsOf(merging('{"news": "{news}", "x": {{ prices }}}'))).toEqual([
      "PLACEHOLDER_UNFILLED {news} is not filled: write {{ news }}",
    ])
  })

  test("fills branches, results, the goal, the state and variables", () => {
    const template =
      "{{ news }}{{ size(results) }}{{ goal }}{{ outputs.news }}{{ state.x }}{{ tone }}{{ mood }} {}"
    const graph = merging(template, { outputs: { mood: "mood" } })
    const { diagnostics } = loadDefinition(
      { file: "graph.json", text: JSON.stringify(graph) },
      { variables: { tone: "dry" } },
    )
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([])
  })

  test("is not checked for other strategies and for prompts", () => {
    expect(problemsOf(merging("{{ nobody }}", { strategy: "stitch" }))).toEqual([])
  })
})
