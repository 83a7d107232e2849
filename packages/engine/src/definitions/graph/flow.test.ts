import { describe, expect, test } from "vitest"
import { agentNode, flow, type Graph, play } from "./graph.test-support.ts"

const START = { id: "start", type: "start" }
const ANY = { "*": [{ text: "x", repeat: true as const }] }

describe("the input of a node", () => {
  test("is the output of the previous node, and the goal at first", async () => {
    const graph = flow([START, agentNode("a"), agentNode("b")], ["start -> a", "a -> b"])
    const { prompts, outputs, state, visited } = await play(
      graph,
      { a: ["from a"], b: ["from b"] },
      "the goal",
    )
    expect(prompts).toEqual(["the goal", "from a"])
    expect(outputs).toEqual(["from b"])
    expect(state).toMatchObject({ goal: "the goal", outputs: { a: "from a", b: "from b" }, steps: 3 })
    expect(visited).toEqual(["start", "a", "b"])
  })

  test("is its mapped inputs: one unchanged, several by name", async () => {
    const one = agentNode("b", { inputs: { context: "goal" } })
    const two = agentNode("c", { inputs: { question: "goal", context: "outputs.a" } })
    const graph = flow([agentNode("a"), one, two], ["a -> b", "b -> c"])
    const { prompts } = await play(graph, { a: ["found"], b: ["b"], c: ["c"] }, "why?")
    expect(prompts).toEqual(["why?", "why?", "question:\nwhy?\n\ncontext:\nfound"])
  })

  test("is its rendered prompt", async () => {
    const node = agentNode("b", { prompt: "Q: {{ goal }} A: {{ outputs.a.answer }} and {{ latest.answer }}" })
    const { prompts } = await play(
      flow([agentNode("a"), node], ["a -> b"]),
      { a: [{ json: { answer: 42 } }], b: ["b"] },
      "why?",
    )
    expect(prompts[1]).toBe("Q: why? A: 42 and 42")
  })

  test("is read from the state, to which nodes write parts of their outputs", async () => {
    const nodes = [
      agentNode("a", { outputs: { score: "review.score", text: "review.text" } }),
      agentNode("b", { inputs: { score: "review.score" }, outputs: { all: "draft" } }),
      agentNode("c", { inputs: { review: "review", draft: "state.draft" } }),
    ]
    const { prompts, state } = await play(flow(nodes, ["a -> b", "b -> c"]), {
      a: [{ json: { score: 7, text: "good" } }],
      b: ["a draft"],
      c: ["c"],
    })
    expect(prompts[1]).toBe("7")
    expect(prompts[2]).toBe('review:\n{"score":7,"text":"good"}\n\ndraft:\na draft')
    expect(state.state).toEqual({ "review.score": 7, "review.text": "good", draft: "a draft" })
  })
})

describe("edges", () => {
  test("of a conditional follow the first condition that holds, else the edge without a condition", async () => {
    const nodes = [
      agentNode("a"),
      { id: "if", type: "conditional" },
      agentNode("b"),
      agentNode("c"),
      agentNode("d"),
    ]
    const graph = flow(nodes, [
      "a -> if",
      'if -> b if "sql" in outputs.a.intents and latest.confidence >= 0.5',
      "if -> c if latest.confidence > 0.8",
      "if -> d",
    ])
    const way = async (answer: object) =>
      (await play(graph, { ...ANY, a: [{ json: answer as never }] })).visited.at(-1)
    expect(await way({ intents: ["sql"], confidence: 0.9 })).toBe("b")
    expect(await way({ intents: ["csv"], confidence: 0.9 })).toBe("c")
    expect(await way({ intents: [], confidence: 0.1 })).toBe("d")
  })

  test("of a conditional with its own condition refer to it with `true` and `false`", async () => {
    const nodes = [
      agentNode("a"),
      { id: "if", type: "conditional", condition: "latest == 'yes'" },
      agentNode("b"),
      agentNode("c"),
    ]
    const graph = flow(nodes, ["a -> if", "if -> b if true", "if -> c if false"])
    expect((await play(graph, { ...ANY, a: ["yes"] })).visited.at(-1)).toBe("b")
    expect((await play(graph, { ...ANY, a: ["no"] })).visited.at(-1)).toBe("c")
  })

  test("of a conditional fail clearly if no condition holds", async () => {
    const graph = flow(
      [agentNode("a"), { id: "if", type: "conditional" }, agentNode("b")],
      ["a -> if", "if -> b if latest == 'y'"],
    )
    const { status, error } = await play(graph, ANY)
    expect(status).toBe("failed")
    expect(error?.message).toBe(
      'No condition after "if" holds. Add an edge without a condition as the default.',
    )
  })

  test("of any other node are followed if their condition holds", async () => {
    const graph = flow(
      ["a", "b", "c", "d"].map((id) => agentNode(id)),
      ["a -> b", "a -> c if latest == 'x'", "a -> d if latest == 'y'"],
    )
    expect((await play(graph, ANY)).visited.toSorted()).toEqual(["a", "b", "c"])
  })

  test("resolve names in the state first, then in the configuration", async () => {
    const nodes = [
      agentNode("a", { outputs: { mode: "mode" } }),
      { id: "if", type: "conditional" },
      agentNode("b"),
      agentNode("c"),
    ]
    const graph = flow(nodes, ["a -> if", "if -> b if mode == 'x' and region == 'eu'", "if -> c"])
    const options = { variables: { mode: "other", region: "eu" } }
    expect((await play(graph, ANY, "Go", { options })).visited.at(-1)).toBe("b")
    expect((await play(graph, ANY, "Go", { options: { variables: { region: "us" } } })).visited.at(-1)).toBe(
      "c",
    )
  })
})

describe("a fan-out", () => {
  const branches = ["a", "b", "c"].map((id) => agentNode(id))
  const graph = (merge: Graph) =>
    flow(
      [
        START,
        { id: "fan", type: "fanout", branches: ["a", "b", "c"] },
        ...branches,
        { id: "join", type: "merge", ...merge },
      ],
      ["start -> fan", "a -> join", "b -> join", "c -> join"],
    )
  const script = { a: ["one"], b: ["two"], c: ["three"] }

  test.each([
    [{}, "one\n\ntwo\n\nthree"],
    [{ strategy: "concat_text", separator: ", " }, "one, two, three"],
    [{ params: { strategy: "collect_list" } }, ["one", "two", "three"]],
    [{ strategy: "merge_dict" }, { a: "one", b: "two", c: "three" }],
    [{ strategy: "stitch" }, "### a\none\n\n### b\ntwo\n\n### c\nthree"],
    [
      { strategy: "custom_template", template: "{{ goal }}: {{ c }} {{ a }} of {{ size(results) }}" },
      "Go: three one of 3",
    ],
  ])("runs its branches, and merges them in order: %j", async (merge, expected) => {
    const { outputs, visited, state } = await play(graph(merge), script)
    expect(outputs).toEqual([expected])
    expect(visited.filter((id) => id !== "join").toSorted()).toEqual(["a", "b", "c", "fan", "start"])
    expect(state.steps).toBe(6)
  })

  test("merges in the order of definition, whichever finishes first", async () => {
    const nodes = [{ id: "fan", type: "fanout" }, ...branches, { id: "join", type: "merge" }]
    const edges = ["fan -> a", "fan -> b", "a -> c", "c -> join", "b -> join"]
    const { outputs, visited } = await play(flow(nodes, edges), script)
    expect(visited.slice(-3)).toEqual(["c", "join", "join"])
    expect(outputs).toEqual(["three\n\ntwo"])
  })

  test("continues after its branches with the next node that it names", async () => {
    const nodes = [
      { id: "fan", type: "fanout", branches: ["a", "b"] },
      ...branches.slice(0, 2),
      { id: "join", type: "merge" },
    ]
    const { outputs } = await play(flow(nodes, ["fan -> join"]), script)
    expect(outputs).toEqual(["one\n\ntwo"])
  })

  test("has branches with their own routes to the merge: conditionals, loops and fan-outs", async () => {
    const nodes = [
      { id: "fan", type: "fanout" },
      agentNode("a"),
      { id: "if", type: "conditional" },
      agentNode("a1"),
      agentNode("a2"),
      { id: "loop", type: "loop", max_iters: 2 },
      agentNode("b"),
      { id: "inner", type: "fanout" },
      agentNode("c"),
      agentNode("d"),
      { id: "innerJoin", type: "merge", separator: "+" },
      { id: "join", type: "merge", separator: "|" },
    ]
    const edges = [
      "fan -> a",
      "fan -> loop",
      "fan -> inner",
      "a -> if",
      "if -> a1 if latest == 'a'",
      "if -> a2",
      "a1 -> join",
      "a2 -> join",
      "loop -> b",
      "b -> loop",
      "loop -> join",
      "inner -> c",
      "inner -> d",
      "c -> innerJoin",
      "d -> innerJoin",
      "innerJoin -> join",
    ]
    const { outputs, prompts, agents } = await play(flow(nodes, edges), {
      a: ["a"],
      a1: ["A1"],
      b: ["b1", "b2"],
      c: ["c"],
      d: ["d"],
    })
    expect(outputs).toEqual(["A1|b2|c+d"])
    expect(prompts[agents.lastIndexOf("b")]).toBe("b1")
  })

  test("has one merge for everything if a branch splits again", async () => {
    const nodes = [
      ...["s", "a", "b", "x", "y"].map((id) => agentNode(id)),
      { id: "join", type: "merge", separator: "," },
    ]
    const edges = ["s -> a", "s -> b", "a -> x", "a -> y", "x -> join", "y -> join", "b -> join"]
    const { outputs, visited } = await play(flow(nodes, edges), {
      s: ["s"],
      a: ["a"],
      b: ["B"],
      x: ["X"],
      y: ["Y"],
    })
    expect(outputs).toEqual(["X,Y,B"])
    expect(visited.filter((id) => id === "join")).toHaveLength(3)
  })

  test("does not wait for a branch that ends by itself", async () => {
    const nodes = [
      { id: "fan", type: "fanout" },
      ...branches,
      { id: "if", type: "conditional" },
      { id: "join", type: "merge" },
      agentNode("last"),
    ]
    const edges = [
      "fan -> a",
      "fan -> b",
      "a -> if",
      "if -> c if latest == 'one'",
      "if -> join",
      "b -> join",
      "join -> last",
    ]
    const { outputs, prompts, agents, state } = await play(flow(nodes, edges), {
      ...script,
      last: ["the end"],
    })
    expect(prompts[agents.indexOf("last")]).toBe("two")
    expect(state.outputs).toMatchObject({ c: "three", last: "the end" })
    // The first of the final nodes, in the order of definition.
    expect(outputs).toEqual(["three"])
  })

  test("ends with its merge if another branch ended by itself", async () => {
    const nodes = [
      { id: "fan", type: "fanout" },
      agentNode("a"),
      agentNode("b"),
      { id: "join", type: "merge" },
    ]
    const edges = ["fan -> a", "fan -> b", "fan -> join", "a -> join", "b -> END"]
    const { status, outputs, visited } = await play(flow(nodes, edges), { a: ["one"], b: ["two"] }, "Go")
    expect(status).toBe("completed")
    // Of the two final nodes, `b` is the first in the definition.
    expect(outputs).toEqual(["two"])
    expect(visited.filter((id) => id === "b")).toEqual(["b"])
  })

  test("can lead two branches through the same node separately", async () => {
    const nodes = [
      { id: "fan", type: "fanout" },
      agentNode("a"),
      agentNode("b"),
      agentNode("both"),
      { id: "join", type: "merge", separator: "," },
    ]
    const edges = ["fan -> a", "fan -> b", "a -> both", "b -> both", "both -> join"]
    const { outputs, prompts } = await play(flow(nodes, edges, { limits: { max_parallel: 1 } }), {
      a: ["A"],
      b: ["B"],
      both: [
        { text: "after A", when: "A" },
        { text: "after B", when: "B" },
      ],
    })
    expect(prompts.slice(2)).toEqual(["A", "B"])
    expect(outputs).toEqual(["after A,after B"])
  })

  test("can lead two branches through the same fan-out, which merges for each of them", async () => {
    const nodes = [
      { id: "fan", type: "fanout" },
      agentNode("a"),
      agentNode("b"),
      { id: "inner", type: "fanout" },
      agentNode("x"),
      agentNode("y"),
      { id: "p", type: "parallel", nodes: ["m", "n"], aggregator: "concat_text", separator: "&" },
      agentNode("m"),
      agentNode("n"),
      { id: "join", type: "merge", separator: "+" },
    ]
    const edges = [
      "fan -> a",
      "fan -> b",
      "a -> inner",
      "b -> inner",
      "inner -> x",
      "inner -> y",
      "inner -> p",
      "x -> join",
      "y -> join",
      "p -> join",
    ]
    const after = (name: string) => [
      { text: `${name}A`, when: "A" },
      { text: `${name}B`, when: "B" },
    ]
    const script = { a: ["A"], b: ["B"], x: after("x"), y: after("y"), m: after("m"), n: after("n") }
    const { status, outputs } = await play(flow(nodes, edges), script)
    expect(status).toBe("completed")
    expect(outputs).toEqual(["xA+yA+mA&nA+xB+yB+mB&nB"])
  })

  test("merges in every pass of a loop", async () => {
    const nodes = [
      { id: "loop", type: "loop", max_iters: 2 },
      { id: "fan", type: "fanout" },
      agentNode("a"),
      agentNode("b"),
      { id: "join", type: "merge", separator: "+" },
      agentNode("end"),
    ]
    const edges = [
      "loop -> fan",
      "fan -> a",
      "fan -> b",
      "a -> join",
      "b -> join",
      "join -> loop",
      "loop -> end",
    ]
    const { prompts, agents } = await play(flow(nodes, edges), {
      a: ["a1", "a2"],
      b: ["b1", "b2"],
      end: ["."],
    })
    expect(prompts.filter((_, i) => agents[i] !== "b")).toEqual(["Go", "a1+b1", "a2+b2"])
  })

  test("limits its concurrency", async () => {
    const { visited, outputs } = await play({ ...graph({}), limits: { max_parallel: 1 } }, script)
    expect(visited.slice(2, 5)).toEqual(["a", "b", "c"])
    expect(outputs).toEqual(["one\n\ntwo\n\nthree"])
  })
})

test("a merge without a fan-out passes its input on", async () => {
  const graph = flow(
    [agentNode("a"), { id: "join", type: "merge", strategy: "stitch" }, agentNode("b")],
    ["a -> join", "join -> b"],
  )
  const { prompts } = await play(graph, { a: ["just this"], b: ["b"] })
  expect(prompts[1]).toBe("just this")
})

describe("a loop", () => {
  const nodes = (more: Graph) => [{ id: "loop", type: "loop", ...more }, agentNode("draft"), agentNode("end")]
  const edges = ["loop -> draft", "draft -> loop", "loop -> end"]
  const drafts = { draft: ["one", "two", "three", "four"], end: ["done"] }

  test("passes the output of a pass to the next, and ends after its limit", async () => {
    const { prompts, agents } = await play(flow(nodes({ max_iters: 2 }), edges), drafts, "goal")
    expect(agents).toEqual(["draft", "draft", "end"])
    expect(prompts).toEqual(["goal", "one", "two"])
  })

  test("uses the limit of the graph, and 3 by default", async () => {
    const own = await play(flow(nodes({}), edges, { limits: { max_iters: 1 } }), drafts)
    expect(own.agents).toEqual(["draft", "end"])
    expect((await play(flow(nodes({}), edges), drafts)).agents).toHaveLength(4)
  })

  test("ends early if its condition is false; the first pass always runs", async () => {
    const until = await play(flow(nodes({ max_iters: 9, loop_condition: "latest != 'two'" }), edges), drafts)
    expect(until.agents).toEqual(["draft", "draft", "end"])
    const never = await play(flow(nodes({ loop_condition: "false" }), edges), drafts)
    expect(never.agents).toEqual(["draft", "end"])
  })

  test("has explicit edges if both might lead back", async () => {
    const both = ["loop -> draft if continue", "draft -> loop", "loop -> end if exit"]
    expect((await play(flow(nodes({ max_iters: 1 }), both), drafts)).agents).toEqual(["draft", "end"])
  })
})

describe("the result", () => {
  test("is the output of the first final node that was reached, in the order of definition", async () => {
    const nodes = ["s", "last", "first", "between"].map((id) => agentNode(id))
    const graph = flow(nodes, ["s -> between", "between -> last", "s -> first"])
    const { outputs, visited } = await play(graph, {
      s: ["s"],
      between: ["b"],
      last: ["last"],
      first: ["first"],
    })
    expect(visited.at(-1)).toBe("last")
    expect(outputs).toEqual(["last"])
  })

  test("is the output of the last node if no final node was reached", async () => {
    const graph = flow(
      ["a", "b", "c"].map((id) => agentNode(id)),
      ["a -> b", "b -> c if latest == 'y'"],
    )
    expect((await play(graph, { a: ["a"], b: ["b"] })).outputs).toEqual(["b"])
  })

  test("has a fixed text if there is no output", async () => {
    expect((await play(flow([agentNode("a")], []), { a: [{ text: "" }] })).outputs).toEqual([
      "No output generated",
    ])
  })
})

test("variables are filled in", async () => {
  const graph = flow([{ id: "a", type: "agent", agent_id: "$" + "{WRITER:-nobody}" }], [], {
    agents: { jo: { model: "offline" } },
  })
  const { agents } = await play(graph, { jo: ["hi"] }, "Go", { options: { env: { WRITER: "jo" } } })
  expect(agents).toEqual(["jo"])
})

test("instructions of agents see the state", async () => {
  const agents = {
    a: { model: "offline" },
    b: { model: "offline", instruction: "Goal: {{ goal }}. Found: {{ outputs.a }}. Braces: {{x}}" },
  }
  const plain = { ...agents, b: { ...agents.b, instruction: "Goal: {{ goal }}. Found: {{ outputs.a }}." } }
  const nodes = [agentNode("a"), agentNode("b")]
  const shown = await play(flow(nodes, ["a -> b"], { agents: plain }), { a: ["it"], b: ["b"] }, "why?")
  expect(shown.systems[1]).toBe("Goal: why?. Found: it.")
  const text = await play(flow(nodes, ["a -> b"], { agents }), { a: ["it"], b: ["b"] })
  expect(text.systems[1]).toBe(agents.b.instruction)
})
