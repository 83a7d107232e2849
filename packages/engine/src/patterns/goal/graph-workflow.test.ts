// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a variable of the graph.
import { describe, expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { type Model, scriptedModel } from "../../models/index.ts"
import type { Run } from "../../runtime/index.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { team, triaged } from "./goal.test-support.ts"
import {
  type GraphGoalConfig,
  goalWorkflow,
  graphWorkflow,
  runGoal,
  runGraphWorkflow,
} from "./graph-workflow.ts"

const GRAPH = {
  agents: { writer: { model: "offline" } },
  nodes: [
    { id: "start", type: "start" },
    { id: "write", type: "agent", agent_id: "${WRITER}" },
  ],
  edges: [{ from_node: "start", to_node: "write" }],
}

function config(model: Model, more: Partial<GraphGoalConfig> = {}): GraphGoalConfig {
  return {
    ...team({ a: ["from the chain"] }),
    definition: { file: "graph.json", text: JSON.stringify(GRAPH) },
    load: { variables: { WRITER: "writer" }, env: {}, model: () => model },
    ...more,
  }
}

const answers = (text: string) => scriptedModel([text])
/** Asks, and gets no answer. */
function hangs(asked?: () => void): Model {
  const wait = () => {
    asked?.()
    return new Promise<never>(() => undefined)
  }
  return { ...answers(""), doGenerate: wait, doStream: wait } as unknown as Model
}
const fails = () => scriptedModel([{ error: { code: 400, message: "no" } }])

async function logsOf(goal: GraphGoalConfig) {
  const run = graphWorkflow(goal).stream("go")
  const logs: string[] = []
  for await (const event of run) if (event.type === "log") logs.push(`${event.level}: ${event.message}`)
  return { logs, outputs: (await run.result).outputs }
}

describe("a graph definition", () => {
  test("answers the goal", async () => {
    const model = answers("from the graph")
    expect(await runGraphWorkflow(config(model), "go")).toBe("from the graph")
    expect(model.calls).toHaveLength(1)
  })

  test("accepts only a string, with or without a graph", async () => {
    for (const more of [{}, { fallback: false }, { definition: "nowhere.json" }]) {
      const run = runGraphWorkflow(config(answers("x"), more), 5 as never)
      await expect(run).rejects.toMatchObject({ code: "INPUT_INVALID" })
    }
  })

  test("that cannot be loaded is logged, and the pipeline answers", async () => {
    const { logs, outputs } = await logsOf(config(answers(""), { definition: "nowhere.json" }))
    expect(outputs).toEqual(["from the chain"])
    expect(logs[0]).toContain("error: The graph is unusable; the pipeline answers instead.")
    expect(logs[0]).toContain("nowhere.json")
  })

  test("that is invalid is logged with its problems, and the pipeline answers", async () => {
    const text = JSON.stringify({ ...GRAPH, edges: [{ from_node: "start", to_node: "rite" }] })
    const { logs, outputs } = await logsOf(config(answers(""), { definition: { file: "g.json", text } }))
    expect(outputs).toEqual(["from the chain"])
    expect(logs[0]).toContain("rite")
  })

  test("that fails is logged, and the pipeline answers", async () => {
    const { logs, outputs } = await logsOf(config(fails()))
    expect(outputs).toEqual(["from the chain"])
    expect(logs[0]).toMatch(/^error: The graph failed; the pipeline answers instead\. .*400/s)
  })

  test("that fails leaves the problems of the pipeline's answer in the state of the run", async () => {
    const triage = triaged({ intents: ["ai_search"], preferred_agent: "vector" })
    const databases = {
      listDatabases: async () => {
        throw new Error("no connection")
      },
      findBestDatabase: async () => undefined,
    }
    const goal = config(fails(), { ...team({ triage: [triage], a: ["x"] }), databases })
    const { outputs, state } = await graphWorkflow(goal).run("go")
    expect(outputs).toEqual(["Incomplete: databases: no connection\n\nx"])
    expect(state.incomplete).toEqual([{ source: "databases", reason: "no connection" }])
  })

  test("that exceeds its step limit counts as failed", async () => {
    const text = JSON.stringify({ ...GRAPH, limits: { max_steps: 1 } })
    const { logs, outputs } = await logsOf(config(answers("x"), { definition: { file: "g.json", text } }))
    expect(outputs).toEqual(["from the chain"])
    expect(logs[0]).toContain("Execution exceeded max steps limit: 1")
  })

  test("that exceeds its time limit counts as failed", async () => {
    const text = JSON.stringify({ ...GRAPH, limits: { timeout_ms: 1 } })
    const { logs, outputs } = await logsOf(config(hangs(), { definition: { file: "g.json", text } }))
    expect(outputs).toEqual(["from the chain"])
    expect(logs[0]).toBe("error: The graph failed; the pipeline answers instead. The run's time is up.")
  })

  test("that returns nothing has a fixed answer", async () => {
    expect(await runGraphWorkflow(config(answers("")), "go")).toBe("No output generated")
  })

  test("a cancelled run does not fall back to the pipeline", async () => {
    let run: Run<string> | undefined
    const hanging = hangs(() => void run?.cancel("enough"))
    const agents = team({ a: ["from the chain"] })
    run = graphWorkflow({ ...config(hanging), ...agents }).run("go")
    expect((await run.result).status).toBe("cancelled")
    expect(agents.callers()).toEqual([])
  })

  test("with fallback: false, fails the run instead", async () => {
    await expect(runGraphWorkflow(config(fails(), { fallback: false }), "go")).rejects.toThrow(/400/)
    expect(() => graphWorkflow(config(answers(""), { fallback: false, definition: "nowhere.json" }))).toThrow(
      /nowhere\.json/,
    )
  })

  test("that is invalid is refused with one error that has all problems", () => {
    const edges = [{ from_node: "nobody", to_node: "nowhere" }]
    const definition = { file: "g.json", text: JSON.stringify({ ...GRAPH, edges }) }
    expect(() => graphWorkflow(config(answers(""), { fallback: false, definition }))).toThrow(
      /^Graph validation failed:\n[\s\S]*Edge source node nobody not found[\s\S]*Edge target node nowhere not found/,
    )
  })

  test("an exhausted budget does not fall back to the pipeline", async () => {
    const { status } = await graphWorkflow(config(answers("x"))).run("go", { budget: { modelCalls: 0 } })
      .result
    expect(status).toBe("limit")
  })

  test("a graph has the same answer, wherever its process crashes, and no call is paid for twice", async () => {
    const model = pureModel(() => "from the graph")
    const make = (name: string) => agent({ name, model, stream: false })
    const agents = { triage: make("triage"), reviewer: make("reviewer"), assistants: [make("a")] }
    const { outcome } = await crashTest(graphWorkflow(config(model, agents)), "go")
    expect(outcome).toMatchObject({ outputs: ["from the graph"], usage: { modelCalls: 1 } })
  })

  test("a failed graph does not run again after a crash", async () => {
    const model = pureModel((_, __, name) => {
      if (name === "writer")
        throw Object.assign(new Error("no"), { name: "AI_APICallError", isRetryable: false })
      if (name === "reviewer") return '{"decision":"accept"}'
      return name === "triage" ? "?" : "from the chain"
    })
    const make = (name: string) => agent({ name, model, stream: false })
    const agents = { triage: make("triage"), reviewer: make("reviewer"), assistants: [make("a")] }
    const { outcome } = await crashTest(graphWorkflow(config(model, agents)), "go", {
      compare: ({ result }) => result.outputs,
    })
    expect(outcome).toEqual(["from the chain"])
  })
})

describe("the switch", () => {
  const both = (more: Partial<GraphGoalConfig>) => config(answers("from the graph"), more)
  const env = (USE_GRAPH_EXECUTION: string) => ({
    load: { ...config(answers("from the graph")).load, env: { USE_GRAPH_EXECUTION } },
  })

  test.each<[string, Partial<GraphGoalConfig>, string]>([
    ["useGraphExecution: true", { useGraphExecution: true, ...env("false") }, "from the graph"],
    ["useGraphExecution: false", { useGraphExecution: false, ...env("true") }, "from the chain"],
    ["USE_GRAPH_EXECUTION=true", env("true"), "from the graph"],
    ["USE_GRAPH_EXECUTION=0", env("0"), "from the chain"],
    ["nothing, with a graph", env(""), "from the graph"],
    ["nothing, without one", { ...env(""), definition: undefined }, "from the chain"],
  ])("%s", async (_, more, answer) => {
    expect(await runGoal(both(more), "go")).toBe(answer)
  })

  test("also selects the workflow", () => {
    expect(goalWorkflow(both({ useGraphExecution: true })).name).toBe("graph-goal")
    expect(goalWorkflow(both({ useGraphExecution: false })).name).toBe("sequential-goal")
  })
})
