/** Fields without effect, and names that match nothing, are warnings with their position. */
import { describe, expect, test } from "vitest"
import { loadDefinition } from "./load.ts"

function problemsOf(text: string, options: Parameters<typeof loadDefinition>[1] = {}): string[] {
  const { diagnostics } = loadDefinition({ file: "test.yaml", text }, { env: {}, ...options })
  return diagnostics.map(
    ({ severity, code, place, suggestion }) =>
      `${severity} ${code} ${place?.line}:${place?.column}${suggestion === undefined ? "" : ` (${suggestion}?)`}`,
  )
}

const WORKFLOW = "workflow:\n  - { type: agent, name: a }\n"

describe("fields without effect", () => {
  test("provider_opts in snake case", () => {
    const text = `models:
  m: { provider: anthropic, model: x, provider_opts: { thinking_budget: 5, effort: low } }
agents:
  a: { model: m }
${WORKFLOW}`
    expect(problemsOf(text)).toEqual(["warning NOT_SUPPORTED 2:73 (thinkingBudget?)"])
  })

  test("fields of a file with agents alone", () => {
    expect(problemsOf("agents:\n  a: { model: offline }\ncommands: {}\n")).toEqual([
      "warning NOT_SUPPORTED 3:1",
    ])
  })
})

describe("names that match nothing", () => {
  test("providers, in names of models and in their definitions", () => {
    const text = `models:
  m: { provider: antropic, model: x }
agents:
  a: { model: m }
  b: { model: opnai/gpt-5 }
  c: { model: openai/gpt-5 }
${WORKFLOW}`
    expect(problemsOf(text)).toEqual([
      "warning UNKNOWN_PROVIDER 2:18 (anthropic?)",
      "warning UNKNOWN_PROVIDER 5:15 (openai?)",
    ])
  })

  test("tools that are filtered, allowed or denied", () => {
    const text = `permissions: { deny: [writ_file, "read_*"] }
agents:
  a:
    model: offline
    permissions: { allow: [think, "shel:cmd=ls"] }
    toolsets:
      - { type: think }
      - { type: filesystem, tools: [read_file, red_file] }
      - { type: shell }
${WORKFLOW}`
    expect(problemsOf(text)).toEqual([
      "warning UNKNOWN_TOOL 5:35 (shell?)",
      "warning UNKNOWN_TOOL 8:48 (read_file?)",
      "warning UNKNOWN_TOOL 1:23 (write_file?)",
    ])
  })

  test("does not warn if only the server knows its tools", () => {
    const text = `agents:
  a:
    model: offline
    permissions: { deny: [anything] }
    toolsets: [{ type: openapi, url: "https://api.example.com/openapi.json" }]
${WORKFLOW}`
    expect(problemsOf(text)).toEqual([])
  })
})

describe("outputs that do not exist yet", () => {
  const agents = "agents:\n  a: { model: offline }\n"
  test("of later steps, of steps in other branches, of the enclosing block", () => {
    const text = `${agents}workflow:
  - { id: one, type: agent, name: a, prompt: "{{ $steps.two.output }}" }
  - { id: two, type: agent, name: a, prompt: "{{ $steps.one.output }}" }
  - type: parallel
    id: par
    steps:
      - { id: x, type: agent, name: a, prompt: "{{ $steps.y.output }} {{ $steps.one.output }}" }
      - { id: y, type: agent, name: a, prompt: "{{ $steps.par.output }}" }
`
    expect(problemsOf(text)).toEqual([
      "warning STEP_NOT_BEFORE 4:50",
      "warning STEP_NOT_BEFORE 9:52",
      "warning STEP_NOT_BEFORE 10:52",
    ])
  })

  test("does not warn in a loop, where a later step has already run", () => {
    const text = `${agents}workflow:
  - { id: one, type: agent, name: a, prompt: "{{ $steps.two.output }}" }
  - { id: two, type: agent, name: a }
  - { type: condition, condition: "{{ $steps.two.output == 'again' }}", true: [{ goto: one }] }
`
    expect(problemsOf(text)).toEqual([])
  })
})

describe("mcps", () => {
  const text = `mcps:
  search: { command: my-search, args: [--stdio] }
agents:
  a: { model: offline, toolsets: [{ type: mcp, ref: search }] }
`
  test.each([
    ["steps", `${text}${WORKFLOW}`],
    ["agents", text],
  ])("are resolved by a toolset's ref, in a file with %s", (_, source) => {
    const made: unknown[] = []
    const functions = {
      mcpToolset: {
        from: "superstep/mcp",
        make: (address: unknown) => {
          made.push(address)
          return { name: "search", tools: async () => [] }
        },
      },
    }
    const { diagnostics } = loadDefinition(
      { file: "t.yaml", text: source },
      { functions: functions as never },
    )
    expect(diagnostics).toEqual([])
    expect(made).toEqual([{ name: "search", command: "my-search", args: ["--stdio"] }])
  })

  test("that are invalid are reported at their position", () => {
    expect(problemsOf(`${text.replace("command:", "comand:")}${WORKFLOW}`)).toEqual([
      "error TOOLSET_INVALID 2:11",
    ])
  })

  test("are refused in an untrusted file", () => {
    expect(problemsOf(`${text}${WORKFLOW}`, { trust: "none" })).toContainEqual(
      expect.stringMatching(/^error UNTRUSTED 4:/),
    )
  })
})

describe("the agents of a graph", () => {
  const graph = `id: g
name: g
entrypointNodeId: n
nodes:
  - { id: n, workflowId: g, nodeType: AGENT, nodeName: N, agentId: a }
edges:
  - { id: e, workflowId: g, sourceNodeId: n, targetNodeId: null, conditionType: ALWAYS, conditionValue: null }
`
  test("are checked like in any other file", () => {
    const text = `${graph}models:
  m: { provider: antropic, model: x, provider_opts: { thinking_budget: 5 } }
agents:
  a: { model: m, permissions: { deny: [writ_file] } }
`
    expect(problemsOf(text)).toEqual([
      "warning UNKNOWN_PROVIDER 9:18 (anthropic?)",
      "warning NOT_SUPPORTED 9:72 (thinkingBudget?)",
      "warning UNKNOWN_TOOL 11:40",
    ])
  })

  test("do not get the offline model if theirs is misspelled", () => {
    const text = `${graph}models: { fast: { provider: openai, model: gpt-5 } }\nagents:\n  a: { model: fats }\n`
    expect(problemsOf(text)).toEqual(["error UNKNOWN_MODEL 10:15 (fast?)"])
    const { definition } = loadDefinition({ file: "test.yaml", text }, { env: {} })
    expect(definition).toBeUndefined()
  })

  test("in another file are checked there", () => {
    const read = (file: string) => (file.endsWith("agents.yaml") ? "agents:\n  a: { model: gpt5 }\n" : graph)
    expect(problemsOf(graph, { agents: "agents.yaml", read } as never)).toEqual(["error UNKNOWN_MODEL 2:15"])
  })
})

describe("what cagent has and Superstep does not", () => {
  const functions = { mcpToolset: { from: "test", make: () => [] } }
  const warningsOf = (text: string) =>
    loadDefinition({ file: "test.yaml", text }, { env: {}, functions }).diagnostics.map(
      ({ severity, message, place }) => `${severity} ${place?.line} ${message}`,
    )

  test("fields of models, toolsets, servers, commands and answers are named, and the rest works", () => {
    const text = `models:
  m: { provider: anthropic, model: x, description: For drafts, task_budget: 9000, compaction_model: y }
agents:
  root:
    model: m
    commands: { plan: { description: Plan, agent: root }, docs: { url: "https://example.com" } }
    structured_output: { name: n, mode: tool, schema: { type: object } }
    toolsets:
      - { type: think, lifecycle: { profile: strict } }
      - { type: mcp_catalog }
      - type: mcp
        remote: { url: "https://example.com/mcp", oauth: { callbackPort: 8765, callbackRedirectURL: "https://example.com" } }
`
    expect(warningsOf(text).toSorted()).toEqual(
      [
        'warning 2 "task_budget" of a model is not supported and has no effect.',
        'warning 2 "compaction_model" of a model is not supported and has no effect.',
        'warning 6 "commands.plan.agent" of an agent is not supported and has no effect.',
        'warning 6 "commands.docs.url" of an agent is not supported and has no effect.',
        'warning 7 "structured_output.mode" of an agent is not supported and has no effect.',
        'warning 9 "lifecycle" of a toolset is not supported and has no effect.',
        'warning 10 The toolset "mcp_catalog" is not supported and is left out.',
        'warning 12 "remote.oauth.callbackRedirectURL" of a toolset is not supported and has no effect.',
      ].toSorted(),
    )
  })

  test("hooks of other kinds and events are left out; a model that judges calls becomes a question", () => {
    const text = `agents:
  root:
    model: offline
    hooks:
      turn_start: [{ type: builtin, command: snapshot }]
      session_end: [{ type: builtin, command: snapshot }]
      pre_tool_use:
        - { matcher: shell, hooks: [{ type: model, model: openai/x, prompt: Safe? }] }
      post_tool_use:
        - { hooks: [{ type: command, name: note, command: cat, on_error: warn }] }
`
    expect(warningsOf(text)).toEqual([
      'warning 5 The hook "turn_start" is not supported and has no effect.',
      "warning 8 A hook of type model is not supported: a person is asked before these calls.",
      'warning 10 "on_error" of a hook is not supported and has no effect.',
      "warning 6 A hook of type builtin is not supported: it is left out.",
    ])
  })

  test("an allow_list is the folder that the tools are confined to; folders outside stay out of reach", () => {
    const file = (list: string) => `agents:
  root: { model: offline, toolsets: [{ type: filesystem, allow_list: ${list} }] }
`
    expect(warningsOf(file('["."]'))).toEqual([])
    expect(warningsOf(file("[./src/]"))).toEqual([])
    expect(warningsOf(file('[".", "~"]'))).toEqual([
      'warning 2 "~" in allow_list has no effect: the tools reach files in the working directory only.',
    ])
    for (const list of ["[a, b]", '["~"]', "[]"]) {
      expect(warningsOf(file(list))).toEqual([
        expect.stringMatching(/^error 2 "allow_list" is not supported: remove it and set `root`/),
      ])
    }
  })
})
