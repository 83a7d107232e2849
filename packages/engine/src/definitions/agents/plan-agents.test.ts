import { describe, expect, test } from "vitest"
import { z } from "zod"
import { type Diagnostic, parseDocument, Report, readShape } from "../../document/index.ts"
import { DocumentReport } from "../dialect-input.ts"
import { type Arg, eject, PlanWriter } from "../plan/index.ts"
import { agentFunctions } from "./agent-functions.ts"
import { agentShape, modelShape, permissionsShape, providerShape } from "./agent-shape.ts"
import { planAgents } from "./plan-agents.ts"

const file = z.strictObject({
  agents: z.record(z.string(), agentShape),
  models: z.record(z.string(), modelShape).optional(),
  providers: z.record(z.string(), providerShape).optional(),
  permissions: permissionsShape.optional(),
})

/** The code that the agents of a file become, and the reported problems. */
function planned(yaml: string): { code: string; problems: string[] } {
  const report = new Report()
  const { document, diagnostics } = parseDocument(yaml, "agents.yaml")
  report.add(diagnostics)
  if (document === undefined) throw new Error(diagnostics[0]?.message)
  const read = readShape(document, file)
  report.add(read.diagnostics)
  const writer = new PlanWriter(Object.keys(agentFunctions))
  if (read.value === undefined) return { code: "", problems: report.diagnostics.map(line) }
  const instructions = (text: string): Arg => `<${text}>`
  const { agents: written } = read.value
  const agents = planAgents({
    report: new DocumentReport(document, report),
    agents: written,
    file: read.value,
    writer,
    instructions,
  })
  const [first = ""] = agents.names
  const plan = writer.plan(agents.get(first)?.ref as never)
  const mcpToolset = { from: "@superstep/mcp", make: () => 0 }
  return { code: eject(plan, { ...agentFunctions, mcpToolset }), problems: report.diagnostics.map(line) }
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

  test("pass provider options under the name of the provider that is called", () => {
    const text = `agents: { a: { model: m } }
models: { m: { provider: router, model: x, provider_opts: { seed: 1 } } }
providers: { router: { base_url: "https://r.example" } }`
    expect(planned(text).code.replace(/\s+/g, " ")).toContain(
      'providerOptions: { "openai-compatible": { seed: 1 } }',
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
  })

  test("warn about fields of cagent that are not supported, and refuse unknown fields", () => {
    const { problems } = planned("agents:\n  a:\n    hooks: {}\n")
    expect(problems).toEqual(["warning NOT_SUPPORTED 3:5"])
    expect(planned("agents:\n  a:\n    modle: x\n").problems).toEqual(["error UNKNOWN_FIELD 3:5 model?"])
  })

  test("do so inside their fields, and for models and providers", () => {
    const { problems } = planned(`agents:
  a:
    fallback: { models: [offline], cooldown: 1m, no_fallback_status_codes: [400] }
    structured_output: { name: x, schema: {}, strict: false }
models:
  m: { provider: p, model: x, name: y, track_usage: true }
providers:
  p: { base_url: "https://x.example", api_type: openai_responses }
  q: { base_url: "https://x.example", api_type: openai_chatcompletions }
`)
    expect(problems.toSorted()).toEqual([
      "warning NOT_SUPPORTED 3:36",
      "warning NOT_SUPPORTED 3:50",
      "warning NOT_SUPPORTED 4:47",
      "warning NOT_SUPPORTED 6:37",
      "warning NOT_SUPPORTED 6:53",
      "warning NOT_SUPPORTED 8:49",
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
      planned("agents: { a: { toolsets: [{ type: filesystem, allow_list: [x] }] } }").problems[0],
    ).toContain("error NOT_SUPPORTED")
  })

  test("a field without effect is a warning at its position", () => {
    const warned = (toolset: string) => planned(`agents: { a: { toolsets: [${toolset}] } }`).problems
    expect(warned("{ type: think, shared: true, name: x }")).toHaveLength(2)
    expect(warned('{ type: mcp, ref: "docker:x", version: "1" }')).toHaveLength(1)
    expect(warned("{ type: api, api_config: { name: x, endpoint: y, output_schema: {} } }")).toEqual([
      "warning NOT_SUPPORTED 1:91",
    ])
    expect(warned('{ type: mcp, remote: { url: "https://x.example", oauth: {} } }')).toEqual([
      "warning NOT_SUPPORTED 1:83",
    ])
    expect(warned("{ type: shell, shell: { hi: { cmd: ls } }, allow: [ls], timeout: 3 }")).toEqual([
      "warning NOT_SUPPORTED 1:77",
      "warning NOT_SUPPORTED 1:92",
    ])
    expect(warned("{ type: shell, shell: { hi: { cmd: ls } }, sandbox: {} }")[0]).toContain("error")
  })

  test("a toolset type of cagent that is not supported is omitted with a warning", () => {
    const { code: text, problems } = planned("agents: { a: { toolsets: [{ type: lsp, command: x }] } }")
    expect(problems).toEqual(["warning NOT_SUPPORTED 1:35"])
    expect(text).not.toContain("tools:")
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
