import { expect, test } from "vitest"
import { scriptedModel } from "../models/index.ts"
import { loadDefinition } from "./load.ts"

const AGENT = "agents: { a: { model: openai/gpt-x } }\n"

function load(text: string, files: Record<string, string> = {}) {
  const read = (file: string) => {
    const found = files[file]
    if (found === undefined) throw Object.assign(new Error("gone"), { code: "ENOENT" })
    return found
  }
  return loadDefinition({ file: "main.yaml", text }, { read, model: () => "offline" })
}

function problemsOf(text: string, files?: Record<string, string>): string[] {
  return load(text, files).diagnostics.map(({ code, place }) => `${code} ${place?.line}:${place?.column}`)
}

test("a definition is recognised by its shape", () => {
  expect(load(`${AGENT}workflow: [{ type: agent, name: a }]`).definition?.dialect).toBe("steps")
  expect(load(AGENT).definition?.dialect).toBe("agents")
  expect(problemsOf("just: text")).toEqual(["DIALECT_UNKNOWN 1:1"])
})

test("in a file with only agents, root or else the first is the workflow, and its conversation continues", () => {
  const { definition } = load("agents: { a: {}, root: {} }")
  expect(definition?.workflow.name).toBe("root")
  expect(definition?.workflow.program.graph.channels.get("messages")?.lasting).toBe(true)
  expect([...(definition?.agents.keys() ?? [])]).toEqual(["a", "root"])
  expect(load(AGENT).definition?.workflow.name).toBe("a")
})

test("an agent without a model fails when it is called: no other model replaces it", async () => {
  const text = "agents: { a: {} }\nworkflow: [{ type: agent, name: a }]"
  const { definition } = loadDefinition({ file: "main.yaml", text })
  const result = await definition?.workflow.stream("x").result
  expect(result).toMatchObject({ status: "failed", error: { code: "MODEL_MISSING" } })
})

test("a missing file and a file that includes itself are reported where they are named", () => {
  const including = (file: string) => `${AGENT}workflow:\n  - { type: workflow, id: w, file: ${file} }`
  expect(problemsOf(including("none.yaml"))).toEqual(["FILE_UNREADABLE 3:36"])
  expect(problemsOf(including("main.yaml"))).toEqual(["INCLUDE_CYCLE 3:36"])
  const files = { "b.yaml": including("main.yaml") }
  expect(load(including("b.yaml"), files).diagnostics[0]?.message).toBe(
    "The file includes itself: main.yaml → b.yaml → main.yaml.",
  )
})

test("a file that is included twice is compiled once", () => {
  const files = { "b.yaml": `${AGENT}workflow: [{ type: agent, name: a }]` }
  const twice = "workflow: [{ type: workflow, id: x, file: b.yaml }, { type: workflow, id: y, file: b.yaml }]"
  const { definition } = load(twice, files)
  expect(definition?.eject().match(/= workflow\(/g)).toHaveLength(2)
})

test("a wait is ejected as the call that it is", () => {
  const step = "{ id: payment, type: wait, signal: paid, timeout: 2s, default: 0, schema: { type: number } }"
  expect(load(`workflow: [${step}]`).definition?.eject().replace(/\s+/g, " ")).toContain(
    'waitStep(steps, "payment", { signal: "paid", schema: { type: "number" }, default: 0, timeout: 2000, last: true, })',
  )
})

test("the caller's models and environment take precedence over the file's", async () => {
  const text = `agents: { a: { model: openai/gpt-x, instruction: "Say {{ $env.WORD }}" } }
workflow: [{ type: agent, name: a }]`
  const asked: string[] = []
  const script = scriptedModel({ a: ["yes"] })
  const model = () => ({
    ...script,
    doGenerate: (options: Parameters<typeof script.doGenerate>[0]) => {
      asked.push(String(options.prompt[0]?.content))
      return script.doGenerate(options)
    },
  })
  const { definition } = loadDefinition({ file: "a.yaml", text }, { model, env: { WORD: "storks" } })
  const { outputs } = (await definition?.workflow.run("?")) ?? {}
  expect(outputs).toEqual(["yes"])
  expect(asked).toEqual(["Say storks"])
})
