/** What an editor shows in a definition, with the schemas of `superstep schema`: completion, hints and problems. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { jsonSchemas } from "@superstep/engine/definitions"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { getLanguageService, TextDocument } from "vscode-json-languageservice"
import { type Position, YamlLanguageServer } from "./language-server.ts"

const folder = mkdtempSync(join(tmpdir(), "editors-"))
let server: YamlLanguageServer
let opened = 0

beforeAll(async () => {
  for (const dialect of ["steps", "graph"] as const) {
    writeFileSync(join(folder, `${dialect}.schema.json`), JSON.stringify(jsonSchemas[dialect]()))
  }
  server = await YamlLanguageServer.start(folder, {
    [join(folder, "steps.schema.json")]: ["*.steps.yaml"],
    [join(folder, "graph.schema.json")]: ["*.graph.yaml", "*.graph.json"],
  })
})

afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** Splits the text at the cursor `█`. */
function cursorIn(marked: string): { readonly text: string; readonly position: Position } {
  const before = marked.slice(0, marked.indexOf("█")).split("\n")
  const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 }
  return { text: marked.replace("█", ""), position }
}

/** Opens a document in the editor. Problems are `line:column message`. */
async function edit(name: string, marked: string) {
  const { text, position } = cursorIn(marked)
  const uri = pathToFileURL(join(folder, `${++opened}.${name}`)).href
  const found = await server.open(uri, text)
  const problems = found.map(
    ({ message, range: { start } }) => `${start.line + 1}:${start.character + 1} ${message}`,
  )
  return {
    problems,
    labels: async () => (await server.complete(uri, position)).map(({ label }) => label),
    hover: () => server.hover(uri, position),
  }
}

const STEPS = "agents:\n  writer: { model: offline }\nworkflow:\n"
const ROWS =
  "entrypointNodeId: a\nnodes:\n  - { id: a, nodeType: AGENT, agentId: a }\n  - { id: t, nodeType: TOOL_EXECUTOR, agentId: null }\n"
const RUN = ["retry", "timeout", "on_error"]

describe("completion in YAML", () => {
  test.concurrent.each<[string, string, string, readonly string[], readonly string[]]>([
    ["a new step needs its type first", "steps", `${STEPS}  - █\n`, ["type"], ["prompt", "over"]],
    ["the types of steps", "steps", `${STEPS}  - type: █\n`, ["agent", "human", "goto"], ["prompt"]],
    [
      "the fields of a human step",
      "steps",
      `${STEPS}  - type: human\n    █\n`,
      ["id", "when", ...RUN, "prompt", "choices", "schema", "to", "default"],
      ["over", "tool", "condition", "agents", "goto"],
    ],
    [
      "the fields of a step inside of another",
      "steps",
      `${STEPS}  - type: parallel\n    steps:\n      - type: wait\n        █\n`,
      ["signal", "schema", "default"],
      ["steps", "prompt"],
    ],
    [
      "the fields of a magentic team",
      "steps",
      `${STEPS}  - type: team\n    mode: magentic\n    █\n`,
      ["agents", "manager", "plan_review", "max_stalls"],
      ["terminate", "aggregate", "start"],
    ],
    [
      "the fields of a toolset",
      "steps",
      "agents:\n  a:\n    toolsets:\n      - type: shell\n        █\n",
      ["allow", "deny", "timeout"],
      ["api_config", "root", "remote"],
    ],
    [
      "the types of nodes as rows spell them",
      "graph",
      `${ROWS}  - id: b\n    nodeType: █\n`,
      ["AGENT", "TOOL_EXECUTOR", "HUMAN_HANDOFF"],
      ["agent"],
    ],
    [
      "the fields of a row",
      "graph",
      `${ROWS}  - id: b\n    nodeType: AGENT\n    █\n`,
      ["agentId", "nodeName"],
      ["agent_id", "prompt", "branches", "type"],
    ],
    [
      "the fields of an edge of rows",
      "graph",
      `${ROWS}edges:\n  - sourceNodeId: a\n    █\n`,
      ["targetNodeId", "conditionType", "conditionValue"],
      ["from_node", "to_node", "condition"],
    ],
    [
      "the fields of a node of the executor's JSON",
      "graph",
      "nodes:\n  - id: w\n    type: wait\n    █\n",
      ["signal", "timeout", "default", "outputs"],
      ["agent_id", "agentId", "nodeType", "branches"],
    ],
    [
      "the fields of an edge of the executor's JSON",
      "graph",
      "nodes:\n  - { id: w, type: wait, signal: go }\nedges:\n  - from_node: w\n    █\n",
      ["to_node", "condition"],
      ["sourceNodeId", "conditionValue"],
    ],
  ])("offers %s", async (_, dialect, text, offered, hidden) => {
    const labels = await (await edit(`${dialect}.yaml`, text)).labels()
    expect(labels).toEqual(expect.arrayContaining([...offered]))
    expect(labels.filter((label) => hidden.includes(label))).toEqual([])
  })
})

describe("a hint in YAML", () => {
  test.concurrent.each<[string, string, string, readonly string[]]>([
    [
      "what a field means for the type of step",
      "steps",
      `${STEPS}  - type: human\n    pro█mpt: Hi\n`,
      ["The question."],
    ],
    [
      "the default",
      "steps",
      `${STEPS}  - type: agent\n    name: writer\n    retry: { back█off: fixed }\n`,
      ["exponential waits 1, 2, 4 s", "fixed"],
    ],
    [
      "what a node's field means",
      "graph",
      "nodes:\n  - { id: p, type: parallel, no█des: [a] }\n",
      ["The nodes that run at the same time."],
    ],
  ])("says %s", async (_, dialect, text, parts) => {
    const hint = await (await edit(`${dialect}.yaml`, text)).hover()
    for (const part of parts) expect(hint).toContain(part)
  })
})

describe("a mistake in YAML is underlined once, where it is", () => {
  test.concurrent.each<[string, string, string, string]>([
    ["a type", "steps", `${STEPS}  - type: humn\n    prompt: Hi\n`, "4:11 Value is not accepted"],
    ["no type", "steps", `${STEPS}  - name: writer\n`, '4:5 Missing property "type"'],
    [
      "a field of another type",
      "steps",
      `${STEPS}  - type: human\n    prompt: Hi\n    over: x\n`,
      "6:5 Property over",
    ],
    ["a required field", "steps", `${STEPS}  - type: wait\n    id: w\n`, '4:5 Missing property "signal"'],
    [
      "a kind of value",
      "steps",
      `${STEPS}  - type: agent\n    name: writer\n    loop: maybe\n`,
      "6:11 Incorrect type",
    ],
    [
      "a mode of teams",
      "steps",
      `${STEPS}  - type: team\n    mode: solo\n    agents: [writer]\n`,
      "5:11 Value is not",
    ],
    [
      "a field of a toolset",
      "steps",
      "agents:\n  a:\n    toolsets:\n      - type: think\n        root: x\n",
      "5:9 Property root",
    ],
    ["a type of nodes", "graph", `${ROWS}  - { id: b, nodeType: AGNT }\n`, "5:24 Value is not accepted"],
    ["an agent", "graph", `${ROWS}  - { id: b, nodeType: AGENT }\n`, '5:5 Missing property "agentId"'],
    [
      "an end of an edge",
      "graph",
      `${ROWS}edges:\n  - sourceNodeId: a\n`,
      '6:5 Missing property "targetNodeId"',
    ],
    [
      "a field of another node",
      "graph",
      "nodes:\n  - id: f\n    type: fanout\n    file: x\n",
      "4:5 Property file",
    ],
  ])("%s", async (_, dialect, text, problem) => {
    expect((await edit(`${dialect}.yaml`, text)).problems).toEqual([expect.stringContaining(problem)])
  })
})

test("valid files of every dialect have no problems", async () => {
  const steps = `${STEPS}  - { type: agent, name: writer }\n  - goto: writer\n`
  const rows = `${ROWS}  - { id: human_handoff }\nedges:\n  - { sourceNodeId: a, targetNodeId: null, conditionType: ALWAYS, conditionValue: null }\n`
  const flow =
    "entry: a\nexits: [a]\nnodes:\n  - { id: a, type: agent, agent_id: a, prompt: Hi }\nedges: []\n"
  expect((await edit("steps.yaml", steps)).problems).toEqual([])
  expect((await edit("graph.yaml", rows)).problems).toEqual([])
  expect((await edit("graph.yaml", flow)).problems).toEqual([])
})

describe("JSON, in the language service of VS Code", () => {
  const schema = {
    uri: "file:///graph.schema.json",
    fileMatch: ["*.json"],
    schema: jsonSchemas.graph() as object,
  }
  const service = getLanguageService({})
  service.configure({ validate: true, schemas: [schema] })
  const parse = (marked: string) => {
    const { text, position } = cursorIn(marked)
    const document = TextDocument.create("file:///g.json", "json", 1, text)
    return { document, json: service.parseJSONDocument(document), position }
  }

  test("completion offers the fields of the type of node", async () => {
    const { document, json, position } = parse('{ "nodes": [{ "id": "w", "type": "wait", █ }] }')
    const labels = (await service.doComplete(document, position, json))?.items.map(({ label }) => label)
    expect(labels).toEqual(expect.arrayContaining(["signal", "timeout"]))
    expect(labels).not.toContain("branches")
    expect(labels).not.toContain("agentId")
  })

  test("a hint explains a field", async () => {
    const { document, json, position } = parse(
      '{ "nodes": [{ "id": "w", "type": "wait", "sig█nal": "go" }] }',
    )
    const hint = await service.doHover(document, position, json)
    expect(JSON.stringify(hint?.contents)).toContain("The name of the signal")
  })

  test("a mistake is underlined where it is", async () => {
    const text = '{\n  "nodes": [\n    { "id": "w", "type": "wait", "signal": "go", "file": "x" }\n  ]\n}'
    const { document, json } = parse(`${text}█`)
    const found = await service.doValidation(document, json)
    expect(found.map(({ message, range }) => [range.start.line + 1, message])).toEqual([
      [3, "Property file is not allowed."],
    ])
  })
})
