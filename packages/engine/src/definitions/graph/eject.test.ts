import { describe, expect, test } from "vitest"
import { agent, conversation } from "../../agents/index.ts"
import { type Workflow, workflow } from "../../builder/index.ts"
import { type Script, scriptedModel } from "../../models/index.ts"
import { think } from "../../tools/index.ts"
import { agentNode, chat, flow, type Graph, load, THINKER } from "./graph.test-support.ts"
import { graphFunctions } from "./index.ts"

/** Runs what `eject` printed, with the functions that it imports. */
function made(code: string, model: ReturnType<typeof scriptedModel>): Workflow<string, unknown> {
  const functions: Record<string, unknown> = { workflow, think, conversation }
  for (const [name, { make }] of Object.entries(graphFunctions)) functions[name] = make
  functions.agent = (options: Parameters<typeof agent>[0]) => agent({ ...options, model })
  const body = code
    .replace(/^import [^;]*? from ".*"$/gm, "")
    .replace(/^export default (.*)$/m, "return $1")
    .replace(/^export /gm, "")
  return new Function(...Object.keys(functions), body)(...Object.values(functions)) as Workflow<
    string,
    unknown
  >
}

const WAYS = flow(
  [
    { id: "start", type: "start" },
    { id: "fan", type: "fanout" },
    agentNode("a"),
    agentNode("b", { prompt: `{{ goal }}\n\`\${x}\` \\ ` }),
    { id: "join", type: "merge", strategy: "stitch" },
    { id: "loop", type: "loop", max_iters: 2, loop_condition: "latest != 'fine'" },
    agentNode("review"),
    { id: "d", type: "decision", options: ["end", "other"], decide: "mood" },
    agentNode("end"),
    agentNode("other"),
  ],
  [
    "start -> fan",
    "fan -> a",
    "fan -> b",
    "a -> join",
    "b -> join",
    "join -> loop",
    "loop -> review",
    "review -> loop",
    "loop -> d",
  ],
)

const WAITS = flow(
  [
    {
      id: "paid",
      type: "wait",
      signal: "paid",
      timeout: "2s",
      default: { usd: 3 },
      outputs: { usd: "money" },
    },
    agentNode("thank", { prompt: "{{ money }} {{ outputs.paid.usd }}" }),
  ],
  ["paid -> thank"],
)

describe("ejected code", () => {
  test.each<[string, Graph, Script]>([
    ["ways", WAYS, { a: ["A"], b: ["B"], review: ["hm", "fine"], other: ["the end"], "*": [] }],
    [
      "a conversation",
      chat(["A", "tools", "B", "person"], ["A -tools-> tools", "A -B-> B", "tools -> A"], {
        agents: { A: THINKER, B: { model: "offline", instruction: "Help with {{ goal }}." } },
        isConversational: true,
      }),
      {
        A: [
          { tool_calls: [{ name: "think", args: { thought: "hm" } }] },
          { json: { next: "B", message: "over" } },
        ],
        B: [{ tool_calls: [{ name: "end", args: { message: "bye" } }] }],
      },
    ],
  ])("behaves the same: %s", async (_, graph, script) => {
    const options = { variables: { mood: "other" } }
    const [first, second] = [scriptedModel(script), scriptedModel(script)]
    const definition = load(graph, { ...options, model: () => first })
    const ran = await definition.workflow.run("Go").result
    const again = await made(definition.eject(), second).run("Go").result
    expect(ran.status).toBe("completed")
    expect(again).toMatchObject({ status: ran.status, outputs: ran.outputs, state: ran.state })
    expect(second.calls.map(({ prompt }) => prompt)).toEqual(first.calls.map(({ prompt }) => prompt))
  })

  test("runs the same: a wait, whose output is the signal's value", async () => {
    const script = { thank: ["thanks"] }
    const [first, second] = [scriptedModel(script), scriptedModel(script)]
    const definition = load(WAITS, { model: () => first })
    for (const workflow of [definition.workflow, made(definition.eject(), second)]) {
      const run = workflow.run("Go")
      expect((await run).waits).toMatchObject([{ name: "paid", node: "paid" }])
      await run.signal("paid", { usd: 7 })
      expect(await run).toMatchObject({ status: "completed", outputs: ["thanks"] })
    }
    for (const { calls } of [first, second]) expect(JSON.stringify(calls[0]?.prompt)).toContain("7 7")
    expect(definition.eject()).toContain(
      'const paid = graphWait(graph, "paid", {\n  signal: "paid",\n  timeout: 2000,',
    )
  })

  test("is readable", () => {
    const graph = chat(
      ["Router", "tools"],
      ["Router -tools-> tools", "Router -END-> END", "tools -> Router"],
      {
        agents: { Router: THINKER },
      },
    )
    expect(load(graph).eject()).toBe(`// Generated from graph.json.
import { workflow } from "superstep"
import { agent } from "superstep/agents"
import {
  chatAgent,
  chatChannels,
  chatTools,
  graphInfo,
  graphStart,
  leadsTo,
} from "superstep/definitions"
import { think } from "superstep/tools"

const graph = graphInfo({ maxSteps: 15, chat: true })

const router = agent({ name: "Router", model: "offline", tools: [think()] })

const start = graphStart(graph, "#start", { edges: [{ to: "Router" }] })

const routerNode = chatAgent(graph, "Router", router, {
  edges: [{ to: "tools", when: "tools" }, { to: null, when: "END" }],
  executor: { node: "tools", name: "tools" },
})

const tools = chatTools(graph, "tools", { edges: [{ to: "Router" }], callers: { Router: router } })

export const chat = workflow("Chat", {
  schedule: "flow",
  limits: { supersteps: 1000000 },
  timeout: 90000,
  state: chatChannels(),
})
  .start(start)
  .edge(start, routerNode)
  .switch(routerNode, [{ when: leadsTo("tools"), label: "tools", to: tools }])
  .edge(tools, routerNode, { when: leadsTo("Router") })
  .build()

export default chat
`)
  })
})
