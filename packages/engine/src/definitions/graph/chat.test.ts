import { describe, expect, test } from "vitest"
import { jsonSchema, tool } from "../../tools/index.ts"
import { functionsFrom } from "../plan/index.ts"
import { chat, play, THINKER } from "./graph.test-support.ts"

const ROUTED = chat(["Router", "RC2"], ["Router -RC2-> RC2", "Router -END-> END", "RC2 -Router-> Router"])

describe("an agent chooses the next speaker", () => {
  test("with a JSON answer that has `next`; its message is the answer", async () => {
    const { status, outputs, visited, state, roles } = await play(ROUTED, {
      Router: [{ json: { next: "RC2", message: "RC2 will help." } }],
      RC2: ["All done."],
    })
    expect(status).toBe("completed")
    expect(visited).toEqual(["Router", "RC2"])
    expect(outputs).toEqual(["All done."])
    expect(state.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Go" }] },
      { role: "assistant", content: [{ type: "text", text: "RC2 will help." }] },
      { role: "assistant", content: [{ type: "text", text: "All done." }] },
    ])
    expect(state).toMatchObject({ next: null, lastCaller: "RC2", steps: 2 })
    expect(roles[1]).toEqual(["user", "assistant", "user"])
  })

  test("with the tool `route`, which offers the names of its edges", async () => {
    const { visited, tools, state, outputs } = await play(ROUTED, {
      Router: [{ tool_calls: [{ name: "route", args: { next: "RC2" } }] }],
      RC2: ["Hello."],
    })
    expect(visited).toEqual(["Router", "RC2"])
    expect(tools).toEqual([["route"], ["route"]])
    expect(outputs).toEqual(["Hello."])
    expect(JSON.stringify(state.messages)).toContain("RC2 continues.")
  })

  test("END with an edge to nowhere ends the run", async () => {
    const { visited, outputs } = await play(ROUTED, { Router: [{ json: { next: "END", message: "Bye." } }] })
    expect(visited).toEqual(["Router"])
    expect(outputs).toEqual(["Bye."])
  })

  test("without a choice the ALWAYS edge is followed, and without one the run ends", async () => {
    const graph = chat(["A", "B"], ["A -B-> B", "A -> B"])
    const { visited, outputs } = await play(graph, { A: ["first"], B: ["second"] })
    expect(visited).toEqual(["A", "B"])
    expect(outputs).toEqual(["second"])
  })

  test("ALWAYS with an edge to nowhere ends the run", async () => {
    const { visited, outputs } = await play(chat(["A", "B"], ["A -B-> B", "A -> END"]), {
      A: ["that is all"],
    })
    expect(visited).toEqual(["A"])
    expect(outputs).toEqual(["that is all"])
  })

  test("a name without an edge follows the ALWAYS edge; without one it is a failure that lists the choices", async () => {
    const always = await play(chat(["A", "B"], ["A -> B"]), {
      A: [{ json: { next: "X", message: "x" } }],
      B: ["b"],
    })
    expect(always.visited).toEqual(["A", "B"])
    const { status, error } = await play(ROUTED, { Router: [{ json: { next: "RC3" } }] })
    expect(status).toBe("failed")
    expect(error).toMatchObject({
      code: "ROUTE_UNKNOWN",
      message: '"Router" chose "RC3" but has no edge with that name: it can choose "RC2", "END".',
    })
  })

  test("an earlier `next` is never followed", async () => {
    const graph = chat(["A", "B"], ["A -B-> B", "B -B-> B"])
    const { visited, state } = await play(graph, {
      A: [{ json: { next: "B", message: "to B" } }],
      B: ["no word of who"],
    })
    expect(visited).toEqual(["A", "B"])
    expect(state.next).toBeNull()
  })

  test("an answer whose `next` is null chooses nobody, and its message is the answer", async () => {
    const graph = chat(["A", "B"], ["A -B-> B", "B -A-> A"])
    const { visited, outputs, state } = await play(graph, {
      A: [{ json: { next: "B", message: "to B" } }],
      B: [{ json: { next: null, message: "That is all." } }],
    })
    expect(visited).toEqual(["A", "B"])
    expect(outputs).toEqual(["That is all."])
    expect(state.next).toBeNull()
  })

  test("an answer with more than `next` and no message is sent unchanged", async () => {
    const graph = chat(["A", "B"], ["A -B-> B"])
    const { visited, outputs, state, prompts } = await play(graph, {
      A: [{ json: { next: "B", findings: ["tea is green"] } }],
      B: ["b"],
    })
    expect(visited).toEqual(["A", "B"])
    expect(outputs).toEqual(["b"])
    expect(JSON.stringify(state.messages)).toContain("tea is green")
    expect(prompts[1]).toContain("Go")
  })

  test("also if the agent has an output schema", async () => {
    const schema = { type: "object", properties: { next: { type: "string" }, message: { type: "string" } } }
    const graph = chat(["A", "B"], ["A -B-> B"], {
      agents: {
        A: { model: "offline", structured_output: { name: "turn", schema } },
        B: { model: "offline" },
      },
    })
    const { visited } = await play(graph, { A: [{ json: { next: "B", message: "over" } }], B: ["b"] })
    expect(visited).toEqual(["A", "B"])
  })
})

describe("a conversation that agents can end", () => {
  const graph = chat(["A", "B"], ["A -B-> B", "A -> B"], { isConversational: true })

  test("gives every agent the tool `end`, and explains when to use it", async () => {
    const { tools, systems, visited, outputs, state } = await play(graph, {
      A: [{ tool_calls: [{ name: "end", args: { message: "Goodbye!" } }] }],
    })
    expect(tools).toEqual([["route", "end"]])
    expect(systems[0]).toContain("call the tool `end`")
    expect(visited).toEqual(["A"])
    expect(outputs).toEqual(["Goodbye!"])
    expect(state.next).toBe("END")
  })

  test("gives no agent the tool if the conversation is not conversational", async () => {
    const { tools, systems } = await play(ROUTED, { Router: ["hi"] })
    expect(tools).toEqual([["route"]])
    expect(systems).toEqual([""])
  })
})

describe("a tool executor", () => {
  const agents = { Router: THINKER, Other: THINKER, Thinker: THINKER }

  test("runs the calls of the last turn in order, adds their results, and returns to the caller", async () => {
    const graph = chat(["Router", "tools"], ["Router -tools-> tools"], { agents })
    const { visited, state, outputs, roles } = await play(graph, {
      Router: [
        {
          tool_calls: [
            { name: "think", args: { thought: "one" } },
            { name: "think", args: { thought: "two" } },
          ],
        },
        "Thought through.",
      ],
    })
    expect(visited).toEqual(["Router", "tools", "Router"])
    expect(outputs).toEqual(["Thought through."])
    expect(roles[1]).toEqual(["system", "user", "assistant", "tool"])
    expect(state).toMatchObject({ lastTool: "think", lastCaller: "Router", steps: 3 })
    const results = (state.messages as { role: string; content: unknown[] }[]).filter(
      ({ role }) => role === "tool",
    )
    expect(results).toHaveLength(1)
    expect(results[0]?.content).toHaveLength(2)
  })

  test("continues by the tool's name, else with the ALWAYS edge", async () => {
    const nodes = ["Router", "tools", "Thinker", "Other"]
    const named = chat(nodes, ["Router -tools-> tools", "tools -think-> Thinker", "tools -> Other"], {
      agents,
    })
    const script = {
      Router: [{ tool_calls: [{ name: "think", args: { thought: "hm" } }] }],
      Thinker: ["t"],
      Other: ["o"],
    }
    expect((await play(named, script)).visited).toEqual(["Router", "tools", "Thinker"])
    const always = chat(nodes, ["Router -tools-> tools", "tools -look-> Thinker", "tools -> Other"], {
      agents,
    })
    expect((await play(always, script)).visited).toEqual(["Router", "tools", "Other"])
  })

  test("is required: a call without an edge to one fails with a clear message", async () => {
    const graph = chat(["Router", "tools"], [], { agents })
    const { status, error } = await play(graph, {
      Router: [{ tool_calls: [{ name: "think", args: { thought: "hm" } }] }],
    })
    expect(status).toBe("failed")
    expect(error).toMatchObject({
      code: "NO_TOOL_EXECUTOR",
      message: '"Router" called "think" but has no edge to a TOOL_EXECUTOR node, which runs tools. Add one.',
    })
  })

  test("runs before a choice in the same turn, which gets a result immediately and is not followed", async () => {
    const graph = chat(["Router", "tools", "Other"], ["Router -tools-> tools", "Router -Other-> Other"], {
      agents,
    })
    const { visited, prompts, roles, state } = await play(graph, {
      Router: [
        {
          tool_calls: [
            { name: "route", args: { next: "Other" } },
            { name: "think", args: { thought: "hm" } },
          ],
        },
        { json: { next: "Other", message: "over to Other" } },
      ],
      Other: ["done"],
    })
    expect(visited).toEqual(["Router", "tools", "Router", "Other"])
    expect(prompts).toHaveLength(3)
    expect(roles[1]).toEqual(["system", "user", "assistant", "tool"])
    expect(JSON.stringify(state.messages)).toContain("the other calls of this turn run first")
  })
})

describe("a node that fails", () => {
  test("leaves no trace in the state: neither its messages nor its turn", async () => {
    const graph = chat(["A", "B"], ["A -> B", "B -A-> A"])
    const { status, error, state } = await play(graph, {
      A: ["from A"],
      B: [{ json: { next: "nobody", message: "a word that is lost" } }],
    })
    expect(status).toBe("failed")
    expect(error).toMatchObject({ code: "ROUTE_UNKNOWN" })
    expect(JSON.stringify(state)).not.toContain("a word that is lost")
    expect(state).toMatchObject({ next: null, lastCaller: "A", outputs: { A: "from A" }, steps: 2 })
    expect(state.messages).toHaveLength(2)
  })

  test("as a member of a parallel node results in null, and does not stop the others; a call that no node runs is a failure", async () => {
    const graph = chat(["A", "B", "C", "tools"], ["p -> C", "B -tools-> tools"], {
      agents: { A: { model: "offline" }, B: THINKER, C: { model: "offline" } },
      entrypointNodeId: "p",
    })
    const nodes = [
      ...(graph.nodes as object[]),
      { id: "p", workflowId: "chat", nodeType: "PARALLEL", nodes: ["A", "B"] },
    ]
    const refused = await play(
      { ...graph, nodes },
      {
        A: [{ error: { code: 400, message: "no" } }],
        B: [{ tool_calls: [{ name: "think", args: { thought: "hm" } }] }],
        C: ["done"],
      },
    )
    expect(refused).toMatchObject({ status: "completed", outputs: ["done"] })
    expect(refused.state.outputs).toMatchObject({ p: [null, null] })
    expect(JSON.stringify(refused.state.messages)).not.toContain("think")
    const one = await play({ ...graph, nodes }, { A: ["a"], B: ["b"], C: ["done"] })
    expect(one.state.outputs).toMatchObject({ p: ["a", "b"] })
  })
})

describe("a tool with secret arguments", () => {
  const graph = chat(["A", "tools"], ["A -tools-> tools"], { agents: { A: THINKER } })

  test("is refused before the model is called, because the secrets would never reach the node that calls it", async () => {
    const login = tool({
      name: "login",
      description: "Logs in.",
      input: jsonSchema({ type: "object", properties: { password: { type: "string" } } }),
      secret: ["password"],
      run: () => "in",
    })
    const functions = functionsFrom("some/entry", { think: () => login })
    const call = { name: "login", args: { password: "hunter2" } }
    const { status, error, agents } = await play(graph, { A: [{ tool_calls: [call] }] }, "Go", {
      options: { functions },
    })
    expect(status).toBe("failed")
    expect(error).toMatchObject({ code: "TOOL_SECRET_UNSUPPORTED" })
    expect(error?.message).toMatch(/"login" of agent "A".*steps workflow.*from the environment/)
    expect(agents).toEqual([])
  })
})

describe("other nodes in a conversation", () => {
  test("the output of another workflow is a message, and the latest output", async () => {
    const graph = chat(["A", "B"], ["A -W-> W", "W -> B"])
    const nodes = [
      ...(graph.nodes as object[]),
      { id: "W", workflowId: "chat", nodeType: "WORKFLOW", nodeName: "W", file: "inner.json" },
    ]
    const inner = JSON.stringify({ nodes: [{ id: "in", type: "agent", agent_id: "in" }], agents: { in: {} } })
    const { visited, state, prompts } = await play(
      { ...graph, nodes },
      { A: [{ json: { next: "W", message: "Look into it." } }], in: ["Found it."], B: ["So it is."] },
      "Go",
      { options: { read: () => inner } },
    )
    expect(visited).toEqual(["A", "W", "in", "B"])
    expect(prompts[1]).toBe("Look into it.")
    expect(JSON.stringify(state.messages)).toContain("Found it.")
    expect(state.outputs).toMatchObject({ W: "Found it." })
  })

  test("a choice without a message adds no message", async () => {
    const { state } = await play(ROUTED, { Router: [{ json: { next: "RC2" } }], RC2: ["Done."] })
    expect(state.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Go" }] },
      { role: "assistant", content: [{ type: "text", text: "Done." }] },
    ])
  })
})
