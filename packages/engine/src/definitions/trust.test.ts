// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { loadGoalConfig } from "../patterns/goal/load-goal-config.ts"
import { agentFunctions } from "./agents/index.ts"
import { isPublicAddress, trustedFunctions } from "./check-trust.ts"
import { loadDefinition } from "./load.ts"
import { stepsFunctions } from "./steps/index.ts"

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "trust-")))
})
afterEach(() => rmSync(folder, { recursive: true }))

const mcpToolset = { from: "@superstep/mcp", make: () => ({ name: "m", tools: () => [] }) }

test.each([
  ["program", "{ type: shell }"],
  ["program", "{ type: script, shell: { a: { cmd: date } } }"],
  ["mcp program", "{ type: mcp, command: npx }"],
  ["filesystem", "{ type: filesystem, root: / }"],
  ["private addresses", "{ type: fetch, allow_private_ips: true }"],
] as const)("an untrusted file may use %s where that is allowed, and nothing else", (allowed, toolset) => {
  const codesFor = (...allow: (typeof allowed)[]) =>
    loadDefinition(
      { file: "main.yaml", text: `${agentWith(toolset)}\n    add_environment_info: true` },
      { trust: "none", allow, cwd: folder, functions: { mcpToolset }, model: () => "offline" },
    ).diagnostics.map(({ message }) => /untrusted \(([^)]+)\)/.exec(message)?.[1] ?? message)
  expect(codesFor().sort()).toEqual([allowed, "environment info"].sort())
  expect(codesFor(allowed)).toEqual(["environment info"])
  const { definition, diagnostics } = loadDefinition(
    { file: "main.yaml", text: agentWith(toolset) },
    { trust: "none", allow: [allowed], cwd: folder, functions: { mcpToolset }, model: () => "offline" },
  )
  expect(diagnostics).toEqual([])
  expect(definition).toBeDefined()
})

function load(text: string, trust: "none" | "full" = "none", file = "main.yaml") {
  const functions = { mcpToolset, other: { from: "other", make: () => 0 } }
  return loadDefinition({ file, text }, { trust, cwd: folder, functions, model: () => "offline" })
}

/** The refusals, as `capability line:column`. */
function refused(text: string): string[] {
  return load(text).diagnostics.flatMap(({ code, message, place }) => {
    const [, name] = /untrusted \(([^)]+)\)/.exec(message) ?? []
    return code === "UNTRUSTED" ? [`${name} ${place?.line}:${place?.column}`] : []
  })
}

const agentWith = (toolset: string) => `agents:\n  a:\n    toolsets:\n      - ${toolset}`

describe("toolsets of an untrusted file", () => {
  test.each([
    ["{ type: shell }", "program 4:17"],
    ["{ type: script, shell: { a: { cmd: date } } }", "program 4:17"],
    ["{ type: mcp, command: npx }", "mcp program 4:31"],
    ["{ type: mcp, ref: 'docker:x' }", "mcp program 4:27"],
    ["{ type: mcp, remote: { url: 'https://x.example/mcp' }, sampling: true }", "mcp sampling 4:74"],
    ["{ type: mcp, remote: { url: 'https://x.example/mcp', oauth: {} } }", "mcp login 4:69"],
    ["{ type: mcp, remote: { url: 'https://x.example/mcp' }, roots: true }", "mcp roots 4:71"],
    ["{ type: a2a, url: 'https://x.example' }", "unknown toolset 4:17"],
    ["{ type: lsp, command: gopls }", "program 4:17"],
    ["{ type: filesystem, post_edit: [{ path: '*', cmd: x }] }", "program 4:40"],
    ["{ type: rag, docs: [a] }", "documents 4:17"],
    ["{ type: memory, scope: user }", "memories 4:32"],
    ["{ type: filesystem, root: / }", "filesystem 4:35"],
    ["{ type: filesystem, root: .. }", "filesystem 4:35"],
    ["{ type: fetch, allow_private_ips: true }", "private addresses 4:43"],
    ["{ type: mcp, remote: { url: 'http://localhost:1/mcp' } }", "private address 4:37"],
    ["{ type: mcp, remote: { url: 'http://10.0.0.1/mcp' } }", "private address 4:37"],
    [
      "{ type: mcp, remote: { url: 'https://x.example/mcp', allow_private: true } }",
      "private addresses 4:77",
    ],
    ["{ type: api, api_config: { name: a, endpoint: 'http://169.254.169.254/' } }", "private address 4:55"],
    ["{ type: api, api_config: { name: a, endpoint: 'http://[::1]/' } }", "private address 4:55"],
    ["{ type: openapi, url: 'http://192.168.1.1/api.json' }", "private address 4:31"],
    ["{ type: openapi, url: 'file:///etc/passwd' }", "private address 4:31"],
    ["{ type: openapi, url: 'https://x.example/api', server: 'http://intranet' }", "private address 4:64"],
  ])("%s is refused at its position", (toolset, expected) => {
    expect(refused(agentWith(toolset))).toEqual([expected])
  })

  test.each([
    "{ type: think }",
    "{ type: todo }",
    "{ type: memory }",
    "{ type: filesystem }",
    "{ type: filesystem, root: sub }",
    "{ type: fetch, allowed_domains: [x.example] }",
    "{ type: api, api_config: { name: a, endpoint: 'https://x.example/{id}', args: { id: {} } } }",
    "{ type: openapi, url: api.json }",
    "{ type: mcp, remote: { url: 'https://x.example/mcp' } }",
    "{ type: tasks }",
    "{ type: user_prompt, defer: true }",
    "{ type: model_picker, models: [openai/x] }",
  ])("%s is allowed", (toolset) => {
    mkdirSync(join(folder, "sub"))
    const { definition, diagnostics } = load(agentWith(toolset))
    expect(diagnostics).toEqual([])
    expect(definition).toBeDefined()
  })

  test.each([
    ["hooks: { stop: [{ type: command, command: date }] }", ["program 3:12"]],
    ["rag: [notes]", ["documents 3:10"]],
    ["use_mcps: [x]", ["mcp program 3:15"]],
    ["skills: true", []],
    ["model: openai/x, openai/y", []],
    ["guardrails: [{ name: g, on: input, pattern: x }]", []],
  ])("an agent with %s", (field, expected) => {
    expect(refused(`agents:\n  a:\n    ${field}`)).toEqual(expected)
    if (expected.length > 0) return
    expect(load(`agents:\n  a:\n    ${field}`)).toMatchObject({ diagnostics: [], definition: {} })
  })

  test("a folder that is a link to elsewhere is outside", () => {
    symlinkSync(tmpdir(), join(folder, "sub"))
    expect(refused(agentWith("{ type: filesystem, root: sub }"))).toEqual(["filesystem 4:35"])
  })

  test("are found in steps of blocks, in nodes, in lists of rows and by name alone", () => {
    const steps = `agents: { a: {} }
workflow:
  - type: parallel
    steps:
      - { type: map, id: m, over: "[1]", step: { type: tool, tool: x, toolset: { type: shell } } }
  - { type: condition, condition: "true", true: [{ type: tool, tool: x, toolset: { type: mcp, command: x } }] }`
    expect(refused(steps)).toEqual(["program 5:88", "mcp program 6:104"])
    const graph = `nodes:
  - { id: a, type: agent, agent_id: a }
  - { id: t, type: tool, tool: x, toolset: { type: script, shell: {} } }
edges: []
agents:
  - { id: a, tools: [shell] }`
    expect(refused(graph).sort()).toEqual(["program 3:52", "program 6:22"])
  })
})

describe("other capabilities of an untrusted file", () => {
  test.each([
    ["models: { m: { provider: openai, model: x, base_url: 'https://evil.example' } }", "model address 2:54"],
    [
      "models: { m: { provider: openai, model: x, base_url: 'http://api.openai.com/v1' } }",
      "model address 2:54",
    ],
    [
      "models: { m: { provider: azure, model: x, base_url: 'https://e.openai.azure.com' } }",
      "model address 2:53",
    ],
    ["models: { m: { provider: openai, model: x, token_key: AWS_SECRET } }", "model key 2:55"],
    ["models: { m: { provider: ollama, model: x, token_key: OPENAI_API_KEY } }", "model key 2:55"],
    ["providers: { p: { base_url: 'https://evil.example' } }", "provider address 2:29"],
    ["providers: { p: { provider: openai, token_key: HOME } }", "provider key 2:48"],
    ["permissions: { allow: ['*'] }", "consent 2:23"],
    ["metadata: 'about ${env.HOME}'", "environment 2:11"],
    ["description: '{{ $env.HOME }}'", "environment 2:14"],
    ["description: '{{ $ env.HOME }}'", "environment 2:14"],
  ])("%s", (line, expected) => {
    expect(refused(`agents: { a: {} }\n${line}`)).toEqual([expected])
  })

  test.each([
    "models: { m: { provider: openai, model: x, base_url: 'https://api.openai.com/v1', token_key: OPENAI_API_KEY } }",
    "permissions: { deny: ['*'], ask: [x], allow: [] }",
  ])("are allowed: %s", (line) => {
    expect(refused(`agents: { a: {} }\n${line}`)).toEqual([])
  })

  test("include agents that allow their own tools or reveal the machine, and documents of a research", () => {
    const text = `agents:
  a: { add_environment_info: true, permissions: { allow: [x] } }
workflow:
  - { type: research, tools: [{ type: page }, { type: documents, paths: [a.md] }] }`
    expect(refused(text)).toEqual(["environment info 2:30", "consent 2:58", "documents 4:55"])
  })

  test("include schedules: a file that nobody trusts does not start itself", () => {
    const text = `agents: { a: { model: offline } }
schedules:
  - { id: hourly, cron: "0 * * * *" }
workflow:
  - { type: agent, name: a }
`
    expect(refused(text)).toEqual(["schedules 3:5"])
    const allowed = loadDefinition(
      { file: "main.yaml", text },
      { trust: "none", allow: ["schedules"], cwd: folder },
    )
    expect(allowed.diagnostics).toEqual([])
  })

  test("are all reported together, with the other problems", () => {
    const text = `agents:
  a: { toolsets: [{ type: shell }, { type: mcp, command: x }] }
models: { m: { provider: openai, model: x, base_url: 'http://10.0.0.1' } }
workflow: [{ type: agent, name: b, prompt: "{{ $env.HOME }}" }]`
    const codes = load(text).diagnostics.map(({ code }) => code)
    expect(codes.filter((code) => code === "UNTRUSTED")).toHaveLength(4)
    expect(codes).toContain("UNKNOWN_AGENT")
    expect(load(text).definition).toBeUndefined()
  })

  test("are restricted in included files, and in agents from another file", () => {
    writeFileSync(join(folder, "b.yaml"), "agents: { b: { toolsets: [{ type: shell }] } }\nworkflow: []")
    const including = "agents: { a: {} }\nworkflow: [{ type: workflow, id: w, file: b.yaml }]"
    expect(load(including).diagnostics).toContainEqual(
      expect.objectContaining({ code: "UNTRUSTED", place: expect.objectContaining({ file: "b.yaml" }) }),
    )
    writeFileSync(join(folder, "agents.yaml"), "agents: { a: { toolsets: [{ type: shell }] } }")
    const graph = "nodes: [{ id: n, type: agent, agent_id: a }]\nedges: []"
    const { diagnostics } = loadDefinition(
      { file: "main.yaml", text: graph },
      { trust: "none", cwd: folder, agents: "agents.yaml" },
    )
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: "UNTRUSTED" }))
  })

  test("include variables of a graph: they come from the caller, not from the environment", () => {
    const text = "nodes: [{ id: n, type: agent, agent_id: '${AGENT}' }]\nedges: []\nagents: { a: {} }"
    const options = { cwd: folder, env: { AGENT: "a" } }
    const codes = (more: object) =>
      loadDefinition({ file: "m.yaml", text }, { ...options, ...more }).diagnostics.map(({ code }) => code)
    expect(codes({})).toEqual([])
    expect(codes({ trust: "none" })).toContain("VARIABLE_MISSING")
    expect(codes({ trust: "none", variables: { AGENT: "a" } })).toEqual([])
  })

  test("include the searches and the environment of a goal configuration", () => {
    const text = `agents: { triage: {}, reviewer: {}, a: { toolsets: [{ type: shell }] } }
assistants: [a]
name: \${HOME}
search:
  databases: [{ type: csv, id: d, folder: data }]
  graph: { type: neo4j, url: "bolt://10.0.0.1" }`
    const { diagnostics } = loadGoalConfig(
      { file: "goal.yaml", text },
      { trust: "none", cwd: folder, env: { HOME: "/home" } },
    )
    expect(diagnostics.filter(({ code }) => code === "UNTRUSTED").map(({ place }) => place?.line)).toEqual([
      1, 5, 6,
    ])
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: "VARIABLE_MISSING" }))
  })

  test("are all allowed in a trusted file", () => {
    const text = `agents: { a: { toolsets: [{ type: shell }, { type: mcp, command: x }] } }
permissions: { allow: ["*"] }
models: { m: { provider: openai, model: x, base_url: "http://10.0.0.1" } }`
    expect(load(text, "full").diagnostics).toEqual([])
  })
})

test("an untrusted file that names a module gets one error, whether the module exists or not", () => {
  const text = "workflow: [{ type: function, module: ./none.ts#score }]"
  const { diagnostics } = loadDefinition({ file: "a.yaml", text }, { trust: "none" })
  expect(diagnostics.map(({ code }) => code)).toEqual(["UNTRUSTED"])
})

test("an untrusted plan is linked without functions that access external resources, whatever provides them", () => {
  const make = () => 0
  const functions = trustedFunctions(stepsFunctions, {
    ...agentFunctions,
    mcpToolset,
    documentsIn: { from: "x", make },
  })
  const names = Object.keys(functions)
  expect(names).toContain("mcpToolset")
  for (const name of ["shell", "script", "documentsIn", "lsp", "commandHooks", "a2aTool"])
    expect(names).not.toContain(name)
  const added = { ...agentFunctions, brandNew: { from: "x", make } }
  expect(Object.keys(trustedFunctions({}, added))).not.toContain("brandNew")
})

describe("files that a definition names, trusted or not", () => {
  const including = (file: string) =>
    `agents: { a: {} }\nworkflow:\n  - { type: workflow, id: w, file: ${JSON.stringify(file)} }`
  const codes = (text: string) =>
    load(text, "full", "own/main.yaml").diagnostics.map(
      ({ code, place }) => `${code} ${place?.line}:${place?.column}`,
    )

  beforeEach(() => {
    mkdirSync(join(folder, "own"))
    writeFileSync(join(folder, "secret.yaml"), "top: secret")
    symlinkSync(join(folder, "secret.yaml"), join(folder, "own", "link.yaml"))
  })

  test.each(["/etc/passwd", "../secret.yaml", "link.yaml", "/dev/zero", "/proc/self/environ"])(
    "%s is outside of its folder, and none of its content is shown",
    (file) => {
      const { diagnostics, sources } = load(including(file), "full", "own/main.yaml")
      expect(diagnostics.map(({ code }) => code)).toEqual(["FILE_OUTSIDE"])
      expect(codes(including(file))).toEqual(["FILE_OUTSIDE 3:36"])
      expect([...sources.keys()]).toEqual(["own/main.yaml"])
    },
  )

  test("a folder and a file that is too large are refused where they are named", () => {
    mkdirSync(join(folder, "own", "sub"))
    writeFileSync(join(folder, "own", "big.yaml"), "x".repeat(1_000_001))
    expect(codes(including("sub"))).toEqual(["FILE_NOT_REGULAR 3:36"])
    expect(codes(including("big.yaml"))).toEqual(["FILE_TOO_LARGE 3:36"])
  })

  test("an included file may name files in the folder of the first", () => {
    mkdirSync(join(folder, "own", "sub"))
    writeFileSync(join(folder, "own", "sub", "b.yaml"), including("../c.yaml"))
    writeFileSync(join(folder, "own", "c.yaml"), "agents: { a: {} }\nworkflow: [{ type: agent, name: a }]")
    expect(codes(including("sub/b.yaml"))).toEqual([])
  })

  test("prompt files, memories and OpenAPI files are restricted too; documents may be anywhere", () => {
    const text = `agents:
  a:
    add_prompt_files: [/etc/passwd, ok.md]
    toolsets: [{ type: memory, path: ../m.jsonl }, { type: openapi, url: /etc/hosts }]
workflow:
  - { type: research, tools: [{ type: documents, paths: [.., notes] }] }`
    expect(codes(text).sort()).toEqual(["FILE_OUTSIDE 3:24", "FILE_OUTSIDE 4:38", "FILE_OUTSIDE 4:74"])
  })

  test("the graph of a goal, and its data if the file is untrusted", () => {
    const text = `agents: { triage: {}, reviewer: {}, a: {} }
assistants: [a]
graph_definition: ../graph.json
search:
  databases: [{ type: csv, id: d, folder: / }, { type: csv, id: e, files: [/etc/passwd] }]
  vector: { index: ../docs.db }
  graph: { type: ladybug, path: /elsewhere }`
    const outside = (trust: "full" | "none") =>
      loadGoalConfig(
        { file: "own/goal.yaml", text },
        { cwd: folder, env: {}, trust, backends: () => ({}) as never },
      ).diagnostics.flatMap(({ code, place }) => (code === "FILE_OUTSIDE" ? [place?.line] : []))
    expect(outside("full")).toEqual([3])
    expect(outside("none")).toEqual([3, 5, 5, 6, 7])
  })
})

test.each([
  ["https://example.com/x", true],
  ["http://93.184.216.34/", true],
  ["https://localhost./", false],
  ["https://a.localhost/", false],
  ["http://2130706433/", false],
  ["http://0x7f.1/", false],
  ["http://[::ffff:127.0.0.1]/", false],
  ["https://metadata.google.internal/", false],
  ["https://${host}/", false],
  ["https://{host}.example.com/", false],
  ["https://printer/", false],
  ["ftp://example.com/", false],
  ["//example.com/", false],
])("%s looks like a public address: %s", (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected)
})
