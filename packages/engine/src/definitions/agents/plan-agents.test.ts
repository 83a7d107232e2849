import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Diagnostic, parseDocument, Report } from "../../document/index.ts"
import { DocumentReport } from "../dialect-input.ts"
import { type Arg, eject, PlanWriter } from "../plan/index.ts"
import { agentFunctions } from "./agent-functions.ts"
import { agentShape, modelShape, permissionsShape, providerShape } from "./agent-shape.ts"
import { planAgents } from "./plan-agents.ts"
import { ragSourceShape } from "./rag.ts"

const file = z.strictObject({
  agents: z.record(z.string(), agentShape),
  models: z.record(z.string(), modelShape).optional(),
  providers: z.record(z.string(), providerShape).optional(),
  permissions: permissionsShape.optional(),
  rag: z.record(z.string(), ragSourceShape).optional(),
})

/** The code that the agents of a file become, and the reported problems. */
function planned(yaml: string): { code: string; problems: string[] } {
  const report = new Report()
  const { document, diagnostics } = parseDocument(yaml, "agents.yaml")
  report.add(diagnostics)
  if (document === undefined) throw new Error(diagnostics[0]?.message)
  const reading = new DocumentReport(document, report)
  const value = reading.read(file)
  const writer = new PlanWriter(Object.keys(agentFunctions))
  if (value === undefined) return { code: "", problems: report.diagnostics.map(line) }
  const instructions = (text: string): Arg => `<${text}>`
  const { agents: written } = value
  const agents = planAgents({
    report: reading,
    agents: written,
    file: value,
    writer,
    instructions,
  })
  const [first = ""] = agents.names
  const plan = writer.plan(agents.get(first)?.ref as never)
  const more = {
    mcpToolset: { from: "@superstep/mcp", make: () => 0 },
    documentsIn: { from: "@superstep/retrieval", make: () => 0 },
  }
  return { code: eject(plan, { ...agentFunctions, ...more }), problems: report.diagnostics.map(line) }
}

function line({ severity, code, place, suggestion }: Diagnostic): string {
  const where = place === undefined ? "" : ` ${place.line}:${place.column}`
  return `${severity} ${code}${where}${suggestion === undefined ? "" : ` ${suggestion}?`}`
}

/** The code of a file with one agent, on one line. */
function code(yaml: string): string {
  const { code: text, problems } = planned(`agents:\n  a:\n${yaml.replace(/^/gm, "    ")}`)
  expect(problems).toEqual([])
  return text.replace(/\s+/g, " ").replaceAll(", }", " }")
}

describe("models", () => {
  const models = `
models:
  fast: { provider: openai, model: gpt-x }
  own: { provider: router, model: m, temperature: 0, max_tokens: 9, token_key: KEY }
providers:
  router: { base_url: "https://router.example/v1", token_key: OTHER }
`
  const agentWith = (name: string) =>
    planned(`agents: { a: { model: ${name} } }${models}`).code.replace(/\s+/g, " ").replaceAll(", }", " }")

  test("are a name in the file, a model of a provider, or absent", () => {
    expect(agentWith("fast")).toContain('{ name: "a", model: "openai/gpt-x" }')
    expect(agentWith("anthropic/claude")).toContain('{ name: "a", model: "anthropic/claude" }')
    expect(code("{}")).toContain('{ name: "a", model: "offline/unnamed" }')
  })

  test("have settings, a server and the variable of its key, which the file's providers may set", () => {
    const where = 'baseUrl: "https://router.example/v1"'
    const settings = "settings: { temperature: 0, maxOutputTokens: 9 }"
    expect(agentWith("own")).toContain(
      `model: { provider: "openai-compatible", model: "m", ${where}, tokenKey: "KEY", ${settings} }`,
    )
    expect(agentWith("router/z")).toContain(`model: "z", ${where}, tokenKey: "OTHER" }`)
  })

  test("have the settings of their provider that they do not set themselves", () => {
    const text = `agents: { a: { model: m } }
models: { m: { provider: own, model: x, temperature: 1 } }
providers:
  own: { provider: openai, temperature: 0, max_tokens: 50, thinking_budget: low, provider_opts: { user: u } }`
    const { code: written, problems } = planned(text)
    expect(problems).toEqual([])
    expect(written.replace(/\s+/g, " ").replaceAll(", }", " }")).toContain(
      'settings: { temperature: 1, maxOutputTokens: 50, providerOptions: { openai: { reasoningEffort: "low", user: "u" } } }',
    )
  })

  test("pass provider options under the name of the provider that is called", () => {
    const text = `agents: { a: { model: m } }
models: { m: { provider: router, model: x, provider_opts: { seed: 1 } } }
providers: { router: { base_url: "https://r.example" } }`
    expect(planned(text).code.replace(/\s+/g, " ")).toContain(
      'providerOptions: { "openai-compatible": { seed: 1 } }',
    )
  })

  test("that are separated by commas take turns", () => {
    const flat = code("model: openai/x, anthropic/y")
    expect(flat).toContain(
      'model: "openai/x", models: { "openai/x": "openai/x", "anthropic/y": "anthropic/y" }',
    )
    expect(flat).toContain('prepareStep: rotateModels(["openai/x", "anthropic/y"])')
    expect(planned("agents: { a: { model: 'openai/x,nobody' } }").problems).toEqual([
      "error UNKNOWN_MODEL 1:23",
    ])
  })

  test("with routes leave messages that are like the examples to other models", () => {
    const text = `agents: { a: { model: chat } }
models:
  chat: { provider: openai, model: small, routing: [{ model: math, examples: ["Solve this equation"] }] }
  math: { provider: openai, model: large }`
    const { code: written, problems } = planned(text)
    expect(problems).toEqual([])
    expect(written.replace(/\s+/g, " ")).toMatch(
      /model: "openai\/small", models: \{ math: "openai\/large",? \}, prepareStep: routeModels\(\[/,
    )
    expect(planned(text.replace("model: math,", "model: maths,")).problems).toEqual([
      "error UNKNOWN_MODEL 3:62 math?",
    ])
  })

  test("auto is the model of whichever provider has a key", () => {
    expect(code("model: auto")).toContain('model: "auto"')
  })

  test.each([
    ["openai", "low", '{ openai: { reasoningEffort: "low" } }'],
    ["openai", 0, '{ openai: { reasoningEffort: "none" } }'],
    ["anthropic", 2048, '{ anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } }'],
    ["anthropic", "none", '{ anthropic: { thinking: { type: "disabled" } } }'],
    ["anthropic", "high", '{ anthropic: { effort: "high" } }'],
    ["anthropic", "adaptive/low", '{ anthropic: { thinking: { type: "adaptive" }, effort: "low" } }'],
    ["openai", "max", '{ openai: { reasoningEffort: "xhigh" } }'],
    ["google", -1, "{ google: { thinkingConfig: { thinkingBudget: -1 } } }"],
    ["google", "low", '{ google: { thinkingConfig: { thinkingLevel: "low" } } }'],
    ["amazon-bedrock", 1024, '{ bedrock: { reasoningConfig: { type: "enabled", budgetTokens: 1024 } } }'],
    ["nebius", "low", '{ nebius: { reasoningEffort: "low" } }'],
  ])("of %s that think with the budget %s: %s", (provider, budget, options) => {
    const text = `agents: { a: { model: m } }
models: { m: { provider: ${provider}, model: x, thinking_budget: ${budget} } }`
    const { code: written, problems } = planned(text)
    expect(problems).toEqual([])
    expect(written.replace(/\s+/g, " ").replaceAll(", }", " }")).toContain(`providerOptions: ${options}`)
  })

  test("warn of settings that the provider does not have", () => {
    const text = `agents: { a: { model: m } }
models:
  m: { provider: openai, model: x, thinking_budget: 4096 }
  n: { provider: ollama, model: x, thinking_budget: low, parallel_tool_calls: false }`
    expect(planned(text).problems).toEqual([
      "warning NOT_SUPPORTED 3:53",
      "warning NOT_SUPPORTED 4:53",
      "warning NOT_SUPPORTED 4:79",
    ])
    const parallel = (provider: string) =>
      planned(`agents: { a: { model: m } }
models: { m: { provider: ${provider}, model: x, parallel_tool_calls: false } }`).code.replace(/\s+/g, " ")
    expect(parallel("openai")).toContain("parallelToolCalls: false")
    expect(parallel("anthropic")).toContain("disableParallelToolUse: true")
  })

  test("of a server may use the newer API", () => {
    const text = `agents: { a: { model: r/x } }
providers: { r: { base_url: "https://r.example/v1", api_type: openai_responses } }`
    expect(planned(text).code.replace(/\s+/g, " ")).toContain(
      'model: { provider: "openai-compatible", model: "x", baseUrl: "https://r.example/v1", api: "responses"',
    )
  })

  test("report an unknown name at its position, with the nearest known one", () => {
    expect(planned(`agents:\n  a: { model: fsat }${models}`).problems).toEqual([
      "error UNKNOWN_MODEL 2:15 fast?",
    ])
  })

  test("have fallbacks for when the first does not answer", () => {
    expect(code("model: openai/x\nfallback: { models: [anthropic/y] }")).toContain(
      'model: ["openai/x", "anthropic/y"]',
    )
    const retries = (n: number) => code(`fallback: { models: [offline], retries: ${n} }`)
    expect(retries(2)).toContain("calling: { retry: { attempts: 3 } }")
    expect(retries(-1)).toContain("calling: { retry: { attempts: 1 } }")
    expect(retries(0)).not.toContain("calling")
  })
})

describe("agents", () => {
  test("compile their instructions with the dialect, and append more", () => {
    expect(code("instruction: be kind")).toContain('instructions: "<be kind>"')
    const extended = code("instruction: hi\nadd_date: true\nadd_environment_info: false")
    expect(extended).toContain('instructions: agentText("<hi>", { date: true })')
    expect(code("add_environment_info: true\nadd_prompt_files: [rules.md]")).toContain(
      'instructions: agentText("", { environment: true, files: ["rules.md"], folder: "." })',
    )
  })

  test("have structured answers, iterations and history", () => {
    expect(code("structured_output: { name: x, schema: { type: object } }")).toContain(
      'output: jsonSchema({ title: "x", type: "object" })',
    )
    expect(code("max_iterations: 3")).toContain("limits: { iterations: 3 }")
    expect(code("on_limit: answer")).toContain('onLimit: "answer"')
    expect(code("num_history_items: 5")).toContain("history: lastItems(5)")
    expect(code("on_truncated: continue")).toContain('onTruncated: "continue"')
  })

  test("have tools that run at the provider", () => {
    expect(
      code("toolsets: [{ type: provider, id: openai.web_search, args: { searchContextSize: low } }]"),
    ).toContain(
      'providerTool({ type: "provider", id: "openai.web_search", args: { searchContextSize: "low" } })',
    )
  })

  test("refer to each other in any order", () => {
    const { code: text, problems } = planned("agents:\n  a: { sub_agents: [b] }\n  b: { handoffs: [a] }")
    expect(problems).toEqual([])
    expect(text).toContain('import { agent, type Agent } from "superstep/agents"')
    expect(text).toContain("subAgents: (): Agent[] => [b]")
    expect(text).toContain("handoffs: (): Agent[] => [a],")
    expect(text).toContain('handoffTools: "one"')
  })

  test("report an unknown sub-agent at its position", () => {
    const { problems } = planned("agents:\n  writer: { sub_agents: [writre] }")
    expect(problems).toEqual(["error UNKNOWN_AGENT 2:26 writer?"])
    const twice = planned("agents:\n  a: { sub_agents: [c] }\n  b: { handoffs: [c] }")
    expect(twice.problems).toEqual(["error UNKNOWN_AGENT 2:21"])
  })

  test("warn about fields of cagent that are not supported, and refuse unknown fields", () => {
    for (const field of ["cache: {}", "code_mode_tools: true"]) {
      expect(planned(`agents:\n  a:\n    ${field}\n`).problems).toEqual(["warning NOT_SUPPORTED 3:5"])
    }
    expect(planned("agents:\n  a:\n    code_mode_tools: false\n").problems).toEqual([])
    expect(planned("agents:\n  a:\n    modle: offline\n").problems).toEqual([
      "error UNKNOWN_FIELD 3:5 model?",
    ])
    // Two mistakes: the field counts as the one that was meant.
    expect(planned("agents:\n  a:\n    modle: x\n").problems).toEqual([
      "error UNKNOWN_FIELD 3:5 model?",
      "error UNKNOWN_MODEL 3:12",
    ])
  })

  test("do so inside their fields, and for models and providers", () => {
    const { problems } = planned(`agents:
  a:
    fallback: { models: [offline], cooldown: 1m, no_fallback_status_codes: [400] }
    structured_output: { name: x, schema: {}, strict: false }
models:
  m: { provider: p, model: x, name: y, track_usage: true }
providers:
  p: { base_url: "https://x.example" }
`)
    expect(problems.toSorted()).toEqual([
      "warning NOT_SUPPORTED 3:36",
      "warning NOT_SUPPORTED 3:50",
      "warning NOT_SUPPORTED 4:47",
      "warning NOT_SUPPORTED 6:37",
      "warning NOT_SUPPORTED 6:53",
    ])
  })

  test("have the permissions of the file and of the agent, under Superstep's tool names", () => {
    const { code: text } = planned(
      'permissions: { deny: ["shell:cmd=rm*"] }\nagents:\n  a: { permissions: { allow: [list_todos, "mcp:gh:get_*"] } }',
    )
    expect(text).toContain('approval: { deny: ["shell:cmd=rm*"], allow: ["todo_read", "get_*"] }')
  })
})

describe("toolsets", () => {
  const tools = (yaml: string) => code(`toolsets:\n  - ${yaml}`)

  test.each([
    ["{ type: think }", "[think()]"],
    ["{ type: todo }", "[todo()]"],
    ["{ type: filesystem, readonly: true }", '[filesystem({ root: ".", readOnly: true })]'],
    ["{ type: fetch }", "[webFetch()]"],
    ["{ type: fetch, timeout: 2.5 }", "[webFetch({ timeout: 2500 })]"],
    ["{ type: think, tools: [think] }", '[toolsetWith(think(), { tools: ["think"] })]'],
    ["{ type: todo, shared: true }", "[todo({ shared: true })]"],
    ["{ type: memory, path: notes.jsonl }", '[memory({ file: "notes.jsonl" })]'],
    ["{ type: memory }", '[memory({ file: ".superstep/memory.jsonl" })]'],
    [
      "{ type: memory, scope: user }",
      '[memory({ index: memoryIndex(".superstep/memories"), scope: "user" })]',
    ],
    [
      "{ type: memory, scope: [tenant, user], path: m, embeddings: false, tools: [recall] }",
      '[ toolsetWith( memory({ index: memoryIndex("m", { embeddings: false }), scope: ["tenant", "user"] }), { tools: ["recall"] }, ), ]',
    ],
    [
      "{ type: shell, allow: [ls], deny: [rm], timeout: 2 }",
      '[ shell({ enabled: true, root: ".", allow: ["ls"], shellStrings: false, deny: ["rm"], timeout: 2000 }), ]',
    ],
    [
      "{ type: script, shell: { hi: { cmd: ls, description: d, args: { a: { type: string } }, required: [a], env: { X: y }, working_dir: w } } }",
      '[ script({ tools: { hi: { cmd: "ls", description: "d", args: { a: { type: "string" } }, required: ["a"], env: { X: "y" }, working_dir: "w" } }, approval: "always" }), ]',
    ],
    [
      '{ type: api, api_config: { name: n, instruction: i, endpoint: "https://x.example/{a}", method: POST, headers: { K: v }, args: { a: { type: string } }, required: [a] } }',
      '[ api({ name: "n", description: "i", endpoint: "https://x.example/{a}", method: "POST", headers: { K: "v" }, args: { a: { type: "string" } }, required: ["a"] }), ]',
    ],
    [
      '{ type: openapi, url: "https://x.example/o.json", headers: { K: v }, timeout: 1 }',
      '[ openapi({ document: { url: "https://x.example/o.json" }, headers: { K: "v" }, timeout: 1000 }), ]',
    ],
    ["{ type: openapi, url: o.json }", '[openapi({ document: { file: "o.json" } })]'],
    [
      '{ type: mcp, remote: { url: "https://x.example/m", transport_type: sse, headers: { K: v } } }',
      '[ mcpToolset( { name: "x.example", url: "https://x.example/m", transport: "sse", headers: { K: "v" } }, { approval: "always" }, ), ]',
    ],
    [
      "{ type: mcp, name: m, remote: { url: 'https://x.example/m', oauth: { clientId: c, scopes: [s] } }, revision: '2025-11-25' }",
      '[ mcpToolset({ name: "m", url: "https://x.example/m", oauth: { clientId: "c", scopes: ["s"] } }, { approval: "always", revision: "2025-11-25" }), ]',
    ],
    [
      "{ type: mcp, name: m, command: x, elicitation: false, sampling: { approval: never, max_tokens: 9 }, roots: true }",
      '[ mcpToolset({ name: "m", command: "x" }, { approval: "always", elicitation: false, sampling: { approval: "never", maxTokens: 9 }, roots: ["."] }), ]',
    ],
    [
      "{ type: mcp, name: m, command: npx, args: [-y, x], env: { A: b } }",
      '[ mcpToolset({ name: "m", command: "npx", args: ["-y", "x"], env: { A: "b" } }, { approval: "always" }), ]',
    ],
  ])("%s", (yaml, expected) => {
    expect(tools(yaml)).toContain(`tools: ${expected}`)
  })

  test("a domain includes its subdomains", () => {
    expect(tools("{ type: fetch, allowed_domains: [a.org] }")).toContain(
      '[webFetch({ allowHosts: ["a.org", "*.a.org"] })]',
    )
  })

  test("a shell without a list of programs runs any program, after approval", () => {
    expect(tools("{ type: shell }")).toContain(
      'shell({ enabled: true, root: ".", allow: ["*"], shellStrings: true })',
    )
  })

  test("script commands need approval, also in the old spelling", () => {
    const script = (type: string) => tools(`{ type: ${type}, shell: { hi: { cmd: echo } } }`)
    expect(script("script")).toContain('script({ tools: { hi: { cmd: "echo" } }, approval: "always" })')
    expect(script("shell")).toBe(script("script"))
  })

  test("an MCP server is exactly one of a program, a URL, or a name in Docker's catalogue", () => {
    const mcp = (yaml: string) => tools(`{ type: mcp, ${yaml} }`)
    expect(mcp("command: npx, args: [x]")).toContain('{ name: "npx", command: "npx", args: ["x"] }')
    expect(mcp('remote: { url: "https://h.example/m" }')).toContain(
      '{ name: "h.example", url: "https://h.example/m" }',
    )
    expect(mcp('ref: "docker:gh"')).toContain('args: ["mcp", "gateway", "run", "--servers", "gh"]')
    expect(planned("agents: { a: { toolsets: [{ type: mcp }] } }").problems).toEqual([
      "error TOOLSET_INVALID 1:27",
    ])
  })

  test("a field that would restrict an agent is refused, not ignored", () => {
    expect(planned("agents: { a: { toolsets: [{ type: shell, sandbox: {} }] } }").problems[0]).toContain(
      "error",
    )
    expect(
      planned("agents: { a: { toolsets: [{ type: filesystem, allow_list: [src, docs] }] } }").problems[0],
    ).toContain("error NOT_SUPPORTED")
  })

  test("a field without effect is a warning at its position", () => {
    const warned = (toolset: string) => planned(`agents: { a: { toolsets: [${toolset}] } }`).problems
    expect(warned("{ type: think, shared: true, name: x }")).toHaveLength(2)
    expect(warned('{ type: mcp, ref: "docker:x", version: "1" }')).toHaveLength(1)
    expect(warned("{ type: think, toon: x }")).toEqual(["warning NOT_SUPPORTED 1:48"])
    expect(warned("{ type: shell, shell: { hi: { cmd: ls } }, allow: [ls], timeout: 3 }")).toEqual([
      "warning NOT_SUPPORTED 1:77",
      "warning NOT_SUPPORTED 1:92",
    ])
    expect(warned("{ type: shell, shell: { hi: { cmd: ls } }, sandbox: {} }")[0]).toContain("error")
  })

  test("a toolset type of cagent that is not supported is omitted with a warning", () => {
    const { code: text, problems } = planned("agents: { a: { toolsets: [{ type: switch_model }] } }")
    expect(problems).toEqual(["warning NOT_SUPPORTED 1:35"])
    expect(text).not.toContain("tools:")
  })

  test.each([
    ["{ type: tasks }", 'tasks({ file: ".superstep/tasks.jsonl" })'],
    ["{ type: user_prompt, to: ada }", 'userPrompt({ to: "ada" })'],
    [
      "{ type: filesystem, post_edit: [{ path: '*.go', cmd: gofmt -w $path }] }",
      'filesystem({ root: ".", afterEdit: [{ path: "*.go", cmd: "gofmt -w $path" }] })',
    ],
    ["{ type: think, defer: true }", "toolsetWith(think(), { defer: true })"],
    [
      "{ type: todo, defer: [create_todo], model: openai/small }",
      'toolsetWith(todo(), { defer: ["todo_write"], model: "openai/small" })',
    ],
    [
      "{ type: lsp, command: gopls, file_types: [.go] }",
      'lsp({ command: "gopls", fileTypes: [".go"], root: "." })',
    ],
    [
      "{ type: a2a, url: 'https://a.example/agent', headers: { x: y } }",
      'a2aTool({ url: "https://a.example/agent", name: "a_example", headers: { x: "y" } })',
    ],
    [
      "{ type: api, api_config: { name: x, endpoint: 'https://a.example', output_schema: { type: object } } }",
      'api({ name: "x", endpoint: "https://a.example", output: { type: "object" } })',
    ],
    [
      "{ type: rag, name: notes, docs: [notes], strategies: [{ type: bm25 }], results: { limit: 3 } }",
      'documentSearch(documentsIn(["notes"], { embeddings: "none" }), { name: "notes", limit: 3 })',
    ],
  ])("%s", (toolset, expected) => {
    expect(code(`toolsets: [${toolset}]`)).toContain(expected)
  })

  test("a model of a toolset, and models to pick from, are models of the agent", () => {
    const text = code(
      "toolsets: [{ type: think, model: openai/a }, { type: model_picker, models: [openai/b] }]",
    )
    expect(text).toContain('models: { "openai/a": "openai/a", "openai/b": "openai/b" }')
    expect(text).toContain('middleware: [{ prepareStep: pickedModel(["openai/b"]) }]')
    expect(planned("agents: { a: { toolsets: [{ type: think, model: nobody }] } }").problems).toEqual([
      "error UNKNOWN_MODEL 1:49",
    ])
  })

  test("background agents are the sub-agents; without any there is nothing to start", () => {
    const agents = "agents: { a: { sub_agents: [b], toolsets: [{ type: background_agents }] }, b: {} }"
    expect(planned(agents).code).toMatch(/backgroundAgents\(\(\): Agent\[\] => \[b\]\)/)
    expect(planned("agents: { a: { toolsets: [{ type: background_agents }] } }").problems).toEqual([
      "error TOOLSET_INVALID 1:27",
    ])
  })

  test("rag of an agent or of a toolset is a source of the file; what has no effect is named", () => {
    const text = `agents: { a: { rag: [notes], toolsets: [{ type: rag, ref: note }] } }
rag:
  notes:
    docs: [a.txt]
    strategies: [{ type: bm25, k1: 1.5 }, { type: chunked-embeddings, embedding_model: small, database: x.db }]
    results: { fusion: { strategy: rrf } }
models: { small: { provider: openai, model: embed } }`
    const { code: written, problems } = planned(text)
    expect(written.replace(/\s+/g, " ")).toContain('documentsIn(["a.txt"], { embeddings: "openai/embed" })')
    expect(problems).toEqual([
      "error UNKNOWN_NAME 1:59 notes?",
      "warning NOT_SUPPORTED 5:32",
      "warning NOT_SUPPORTED 5:95",
      "warning NOT_SUPPORTED 6:16",
    ])
    expect(planned("agents: { a: { toolsets: [{ type: rag }] } }").problems).toEqual([
      "error TOOLSET_INVALID 1:27",
    ])
  })
})

describe("skills and hooks", () => {
  test("skills are folders beside the file, or written in it", () => {
    const folders = '["skills", ".agents/skills", ".claude/skills"]'
    expect(code("skills: true")).toContain(`tools: [skills({ folders: ${folders} })]`)
    expect(code("skills: false")).not.toContain("skills(")
    const inline = "{ name: greet, description: Greets., instructions: Say hello. }"
    expect(code(`skills: [own/skills, ${inline}]`)).toContain(
      'skills({ folders: ["own/skills"], inline: [{ name: "greet", description: "Greets.", instructions: "Say hello." }] })',
    )
    expect(planned("agents: { a: { skills: [../other] } }").problems).toEqual(["error FILE_OUTSIDE 1:25"])
  })

  test("hooks are commands with time limits; a matcher is a pattern", () => {
    const hook = "{ type: command, command: ./check.sh, timeout: 5 }"
    expect(
      code(`hooks: { pre_tool_use: [{ matcher: "shell|edit_.*", hooks: [${hook}] }], stop: [${hook}] }`),
    ).toContain(
      'commandHooks({ preToolUse: [{ matcher: "shell|edit_.*", hooks: [{ command: "./check.sh", timeout: 5000 }] }], stop: [{ command: "./check.sh", timeout: 5000 }] })',
    )
    expect(
      planned(`agents: { a: { hooks: { pre_tool_use: [{ matcher: "(", hooks: [] }] } } }`).problems,
    ).toEqual(["error HOOK_INVALID 1:51"])
    // One error, although a hook with a similar name exists and is not supported.
    expect(planned("agents: { a: { hooks: { on_start: [] } } }").problems).toEqual([
      "error UNKNOWN_FIELD 1:25 turn_start?",
    ])
  })
})

describe("guardrails", () => {
  test("become calls: with a pattern, an expression, or an agent that judges", () => {
    const { code: text, problems } = planned(`
agents:
  clerk:
    model: offline
    guardrails:
      - { name: cards, on: input, pattern: '\\d{16}', reason: "a card", on_trip: { answer: "No cards." } }
      - { name: short, on: output, expression: "size($text) < 500" }
      - { name: safe, on: input, agent: judge, parallel: true }
  judge: { model: offline, instruction: "Nothing about bombs." }
`)
    expect(problems).toEqual([])
    const flat = text.replace(/\s+/g, " ")
    expect(flat).toContain('patternGuardrail({ name: "cards", on: "input", onTrip: { answer: "No cards." }')
    expect(flat).toContain(
      'expressionGuardrail({ name: "short", on: "output", expression: "size($text) < 500" })',
    )
    expect(flat).toMatch(/judge\w*\(\{ name: "safe", on: "input", parallel: true, agent: \(\) => judge/)
  })

  test.each([
    ["{ name: a, on: input }", "GUARDRAIL_INVALID"],
    ["{ name: a, on: input, pattern: a, agent: a }", "GUARDRAIL_INVALID"],
    ["{ name: a, on: input, pattern: '(a)\\1' }", "GUARDRAIL_INVALID"],
    ["{ name: a, on: output, pattern: a, parallel: true }", "GUARDRAIL_INVALID"],
    ["{ name: a, on: input, pattern: a, tools: [x] }", "GUARDRAIL_INVALID"],
    ["{ name: a, on: input, agent: clark }", "UNKNOWN_AGENT"],
    ["{ name: a, on: input, expression: 'size($text' }", "EXPRESSION_INVALID"],
    ["{ name: a, on: input, expression: '$txt == 1' }", "UNKNOWN_NAME"],
  ])("%s is refused", (guardrail, problem) => {
    const { problems } = planned(`
agents:
  clerk:
    model: offline
    guardrails: [${guardrail}]
`)
    expect(problems.map((one) => one.split(" ")[1])).toEqual([problem])
  })
})
