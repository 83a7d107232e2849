import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { agentNode, flow, load, play } from "./graph.test-support.ts"

const ANY = { "*": [{ text: "x", repeat: true as const }] }

describe("a state node", () => {
  test("writes the values of its expressions in order, and passes its input on", async () => {
    const update = {
      "research.rounds": "(research.rounds or 0) + 1",
      "research.twice": "research.rounds * 2",
      kind: 5,
      note: "latest",
    }
    const graph = flow(
      [agentNode("a"), { id: "s", type: "state", update }, agentNode("b")],
      ["a -> s", "s -> b"],
    )
    const { state, prompts } = await play(graph, { a: ["found"], b: ["b"] })
    expect(state.state).toEqual({ "research.rounds": 1, "research.twice": 2, kind: 5, note: "found" })
    expect(prompts[1]).toBe("found")
  })

  test("reads a path, assembled from the writes below it", async () => {
    const nodes = [
      { id: "one", type: "state", update: { "report.title": "'Tea'" } },
      { id: "two", type: "state", update: { "report.size": "2" } },
      { id: "r", type: "state", read: "report" },
    ]
    const { outputs } = await play(flow(nodes, ["one -> two", "two -> r"]), ANY)
    expect(outputs).toEqual([{ title: "Tea", size: 2 }])
  })

  test("on two concurrent lanes keeps the writes of both", async () => {
    const nodes = [
      { id: "fan", type: "fanout" },
      { id: "one", type: "state", update: { "seen.one": "true" } },
      { id: "two", type: "state", update: { "seen.two": "true" } },
      { id: "join", type: "merge" },
      { id: "r", type: "state", read: "seen" },
    ]
    const graph = flow(nodes, ["fan -> one", "fan -> two", "one -> join", "two -> join", "join -> r"])
    expect((await play(graph, ANY)).outputs).toEqual([{ one: true, two: true }])
  })

  test("that writes a whole path removes the values below it", async () => {
    const nodes = [
      { id: "one", type: "state", update: { "a.b": "1", "a.c": "2" } },
      { id: "two", type: "state", update: { a: { d: 3 } } },
      { id: "three", type: "state", update: { "a.c": "4" } },
      { id: "r", type: "state", read: "a" },
    ]
    expect((await play(flow(nodes, ["one -> two", "two -> three", "three -> r"]), ANY)).outputs).toEqual([
      { d: 3, c: 4 },
    ])
  })
})

describe("a decision", () => {
  const decided = (decide: object) =>
    flow(
      [
        agentNode("think"),
        { id: "d", type: "decision", options: ["search", "write"], ...decide },
        agentNode("search"),
        agentNode("write"),
      ],
      ["think -> d", "search -> think"],
      { agents: { think: {}, search: {}, write: {}, judge: {} } },
    )

  test("follows the option of its expression, and can loop back", async () => {
    const graph = decided({ decide: "latest == 'enough' ? 'write' : 'search'" })
    const { visited, prompts } = await play(graph, {
      think: ["more", "enough"],
      search: ["facts"],
      write: ["report"],
    })
    expect(visited).toEqual(["think", "d", "search", "think", "d", "write"])
    expect(prompts.at(-1)).toBe("enough")
  })

  test("asks an agent, which receives the options", async () => {
    const graph = decided({ agent_id: "judge" })
    const { prompts, agents, visited } = await play(graph, {
      think: ["t"],
      judge: [' "write". '],
      write: ["w"],
    })
    expect(prompts[agents.indexOf("judge")]).toBe(
      "t\n\nAnswer with one of these, and nothing else: search, write",
    )
    expect(visited.at(-1)).toBe("write")
  })

  test("follows the first option for any other value, with a warning", async () => {
    const model = scriptedModel({ think: ["t", "t", "t"], search: ["s", "s"], write: ["w"] })
    const { workflow } = load(decided({ decide: "steps > 4 ? 'write' : 'nowhere'" }), { model: () => model })
    const warnings: string[] = []
    for await (const event of workflow.stream("Go")) if (event.type === "log") warnings.push(event.message)
    expect(warnings).toEqual([
      '"d" chose "nowhere", which is not one of its options; it continues with "search".',
    ])
    expect(model.calls.map(({ agent }) => agent)).toEqual(["think", "search", "think", "write"])
  })
})

describe("a parallel node", () => {
  const nodes = (more: object) => [
    agentNode("a"),
    { id: "p", type: "parallel", nodes: ["x", "y", "z"], ...more },
    ...["x", "y", "z", "end"].map((id) => agentNode(id)),
  ]
  const edges = ["a -> p", "p -> end"]
  const failing = { a: ["q"], x: ["X"], y: [{ error: { code: 400, message: "no" } }], z: ["Z"], end: ["."] }

  test("runs its nodes, and has null for one that fails", async () => {
    const { prompts, agents, status, state } = await play(flow(nodes({}), edges), failing)
    expect(status).toBe("completed")
    expect(prompts[agents.indexOf("x")]).toBe("q")
    expect(prompts.at(-1)).toBe('["X",null,"Z"]')
    expect(state.steps).toBe(6)
  })

  test.each([
    ["an expression for what it leaves", agentNode("y", { result: "goal - 1" })],
    ["what it is asked", agentNode("y", { prompt: "{{ goal - 1 }}" })],
    ["a state node's expression", { id: "y", type: "state", update: { n: "goal - 1" } }],
  ])("has null if %s fails, and none of its writes are in the state", async (_, failed) => {
    const graph = flow(
      nodes({}).map((node) => (node.id === "y" ? failed : node)),
      edges,
    )
    const { status, prompts, state } = await play(graph, { ...failing, y: [{ json: { count: 1 } }] })
    expect(status).toBe("completed")
    expect(prompts.at(-1)).toBe('["X",null,"Z"]')
    expect(state.state).toEqual({})
  })

  test("combines their values", async () => {
    const { prompts } = await play(flow(nodes({ aggregator: "stitch" }), edges), failing)
    expect(prompts.at(-1)).toBe("### x\nX\n\n### z\nZ")
  })

  test("does not follow the edges of its nodes", async () => {
    const graph = flow(
      [...nodes({}), agentNode("other")],
      [...edges, "x -> other", "end -> x if latest == 'again'"],
    )
    const { visited } = await play(graph, { ...failing, y: ["Y"] })
    expect(visited).not.toContain("other")
    expect(visited.filter((id) => id === "end")).toHaveLength(1)
  })

  test("can open several lanes, which merge again", async () => {
    const graph = flow(
      [
        { id: "p", type: "parallel", nodes: ["x", "y"], aggregator: "concat_text", separator: "+" },
        ...["x", "y", "a", "b"].map((id) => agentNode(id)),
        { id: "join", type: "merge", separator: "," },
      ],
      ["p -> a", "p -> b", "a -> join", "b -> join"],
    )
    const { outputs, prompts } = await play(graph, { x: ["X"], y: ["Y"], a: ["A"], b: ["B"] })
    expect(prompts.slice(2)).toEqual(["X+Y", "X+Y"])
    expect(outputs).toEqual(["A,B"])
  })

  test("can share a node with other routes: each visit returns to its own caller", async () => {
    const graph = flow(
      [{ id: "p", type: "parallel", nodes: ["x"] }, ...["c", "d", "x"].map((id) => agentNode(id))],
      ["p -> c", "c -> d", "d -> x", "c -> x"],
    )
    const { status, outputs, agents } = await play(graph, { ...ANY, c: ["C"], d: ["D"] })
    expect(status).toBe("completed")
    expect(outputs).toEqual(["x"])
    expect(agents.filter((id) => id === "x")).toHaveLength(3)
  })

  test("gets back a member that has several edges, or is a parallel node with several", async () => {
    const nodes = [
      { id: "p", type: "parallel", nodes: ["s", "q"] },
      { id: "s", type: "state", read: "goal" },
      { id: "q", type: "parallel", nodes: ["x"], aggregator: "concat_text" },
      ...["x", "a", "b"].map((id) => agentNode(id)),
    ]
    const { outputs, agents } = await play(flow(nodes, ["s -> a", "s -> b", "q -> a", "q -> b"]), ANY)
    expect(agents).toEqual(["x"])
    expect(outputs).toEqual([["Go", "x"]])
  })

  test("can be a member of another one", async () => {
    const graph = flow(
      [
        { id: "p", type: "parallel", nodes: ["a", "q"] },
        { id: "q", type: "parallel", nodes: ["b", "c"], aggregator: "concat_text", separator: "+" },
        ...["a", "b", "c"].map((id) => agentNode(id)),
      ],
      [],
    )
    expect((await play(graph, { a: ["A"], b: ["B"], c: ["C"] })).outputs).toEqual([["A", "B+C"]])
  })
})

describe("a node that fails", () => {
  test("leaves no trace in the state: neither its output nor its writes", async () => {
    const nodes = [
      agentNode("a", { outputs: { text: "draft" } }),
      { id: "s", type: "state", update: { seen: "true", broken: "goal - 1" } },
    ]
    const { status, state } = await play(flow(nodes, ["a -> s"]), { a: ["found"] })
    expect(status).toBe("failed")
    expect(state).toMatchObject({ outputs: { a: "found" }, state: { draft: "found" } })
    expect(state.state).not.toHaveProperty("seen")
    const asked = flow([agentNode("a"), agentNode("b", { outputs: { text: "draft" } })], ["a -> b"])
    const refused = await play(asked, { a: ["found"], b: [{ error: { code: 400, message: "no" } }] })
    expect(refused).toMatchObject({ status: "failed", state: { outputs: { a: "found" }, state: {} } })
    expect(refused.state.outputs).toEqual({ a: "found" })
  })
})

describe("an output of null", () => {
  const read = { id: "r", type: "state", read: "report" }

  test("is the latest output like any other, and hides the earlier one", async () => {
    const nodes = [
      read,
      { id: "if", type: "conditional" },
      { id: "none", type: "state", update: { way: "'none'" } },
      { id: "some", type: "state", update: { way: "'some'" } },
    ]
    const asked = flow(nodes, ["r -> if", "if -> none if latest is None", "if -> some"])
    expect((await play(asked, ANY)).state.state).toEqual({ way: "none" })
    const direct = flow(
      [read, ...nodes.slice(2)],
      ["r -> none if latest is None", "r -> some if latest is not None"],
    )
    expect((await play(direct, ANY)).state.state).toEqual({ way: "none" })
  })

  test("at the end is no output, and the next node receives the goal", async () => {
    expect((await play(flow([agentNode("a"), read], ["a -> r"]), ANY)).outputs).toEqual([
      "No output generated",
    ])
    expect((await play(flow([read, agentNode("a")], ["r -> a"]), ANY, "why?")).prompts).toEqual(["why?"])
  })
})

describe("exits", () => {
  test("end the run after they have run; their output is the result", async () => {
    const nodes = ["a", "b", "c"].map((id) => agentNode(id))
    const graph = flow(nodes, ["a -> b", "b -> c"], { entry: "a", exits: ["c"] })
    const { outputs, visited } = await play(graph, { a: ["a"], b: ["b"], c: ["c"] })
    expect(visited).toEqual(["a", "b", "c"])
    expect(outputs).toEqual(["c"])
  })
})

describe("other nodes", () => {
  test("a tool is called with arguments from the state; its result is the output", async () => {
    const node = {
      id: "t",
      type: "tool",
      tool: "think",
      toolset: { type: "think" },
      args: { thought: "{{ outputs.a }}" },
    }
    const { status, state } = await play(flow([agentNode("a"), node], ["a -> t"]), { a: ["deep"] })
    expect(status).toBe("completed")
    expect(JSON.stringify(state.outputs)).toContain("deep")
  })

  test("another file is a node: its result is the output", async () => {
    const inner = JSON.stringify(flow([agentNode("in")], []))
    const node = { id: "w", type: "workflow", file: "inner.json", inputs: { q: "goal" } }
    const read = () => inner
    const { prompts, outputs } = await play(
      flow([agentNode("a"), node, agentNode("b")], ["a -> w", "w -> b"]),
      {
        a: ["a"],
        in: ["from inside"],
        b: ["b"],
      },
      "goal!",
      { options: { read } },
    )
    expect(prompts).toEqual(["goal!", "goal!", "from inside"])
    expect(outputs).toEqual(["b"])
  })

  test("a person can be asked: the answer is the output", async () => {
    const nodes = [
      agentNode("a"),
      { id: "ask", type: "human_handoff", prompt: "Is this right?" },
      agentNode("b"),
    ]
    const model = scriptedModel({ a: ["draft"], b: ["final"] })
    const run = load(flow(nodes, ["a -> ask", "ask -> b"]), { model: () => model }).workflow.run("Go")
    const { requests } = await run
    expect(requests[0]).toMatchObject({ prompt: "Is this right?", data: { latest: "draft", routes: ["b"] } })
    await run.respond(requests[0]?.id ?? "", "shorter, please")
    expect(await run).toMatchObject({ outputs: ["final"] })
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("shorter, please")
  })

  test("two people are each asked about their own routes", async () => {
    const nodes = [
      { id: "first", type: "human_handoff", prompt: "One?" },
      agentNode("a"),
      { id: "second", type: "human_handoff", prompt: "Two?" },
      agentNode("b"),
      agentNode("c"),
    ]
    const graph = flow(nodes, ["first -> a", "a -> second", "second -> b", "second -> c if latest == 'no'"])
    const model = scriptedModel({ a: ["A"], b: ["B"], c: ["C"] })
    const run = load(graph, { model: () => model }).workflow.run("Go")
    const [one] = (await run).requests
    expect(one?.data).toMatchObject({ routes: ["a"] })
    await run.respond(one?.id ?? "", "yes")
    const [two] = (await run).requests
    expect(two).toMatchObject({ prompt: "Two?", data: { routes: ["b", "c"] } })
    await run.respond(two?.id ?? "", { route: "c" })
    expect(await run).toMatchObject({ status: "completed", outputs: ["C"] })
  })

  test("an expression can replace an output", async () => {
    const node = agentNode("a", { result: "latest.items[-1]" })
    expect((await play(flow([node], []), { a: [{ json: { items: [1, { n: 2 }] } }] })).outputs).toEqual([
      { n: 2 },
    ])
  })
})
