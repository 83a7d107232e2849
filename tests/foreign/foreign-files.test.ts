/**
 * Definitions in the shape of every kind that people publish for Docker's cagent, each loaded unchanged and run against a
 * stand-in model over HTTP: what the model is offered, and what its calls do. Programs and servers are real ones.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { mcpToolset } from "@superstep/mcp"
import { documentsIn } from "@superstep/retrieval"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { a2aServer } from "../../packages/engine/src/patterns/remote/a2a-server.test-support.ts"
import { type StandIn, standInServer } from "./stand-in-server.ts"
import { tryFile } from "./try-file.ts"

const LANGUAGE_SERVER = join(
  import.meta.dirname,
  "../../packages/engine/src/tools/lsp/word-server.test-support.mjs",
)
const MCP_SERVER = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
)

let server: StandIn
let folder: string
beforeAll(async () => {
  server = await standInServer()
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "foreign-"))
  return () => rmSync(folder, { recursive: true, force: true })
})
afterAll(() => server.close())

const put = (path: string, text: string) => {
  mkdirSync(join(folder, path, ".."), { recursive: true })
  writeFileSync(join(folder, path), text)
}

interface Tried {
  /** The final answer, which quotes the result of the last call. */
  readonly answer: string
  readonly warnings: readonly string[]
  /** The names of the tools that each request offered. */
  readonly offered: readonly (readonly string[])[]
  /** The requests as text. */
  readonly sent: readonly string[]
}

/** Runs the definition with a prompt that makes these calls; a person approves every tool call. */
async function run(definition: string, ...calls: readonly string[]): Promise<Tried> {
  put("agent.yaml", definition)
  const from = server.requests.length
  const functions = {
    mcpToolset: { from: "@superstep/mcp", make: mcpToolset },
    documentsIn: {
      from: "@superstep/retrieval",
      make: (paths: readonly string[], options: object) =>
        documentsIn(
          paths.map((path) => resolve(path)),
          { ...options, root: folder },
        ),
    },
  }
  const tried = await tryFile(join(folder, "agent.yaml"), {
    url: server.url,
    functions: functions as never,
    prompt: ["Do it.", ...calls.map((one) => `CALL ${one}`)].join("\n"),
    env: { STORE: "north" },
    answer: ({ data, prompt }) => {
      const { kind } = Object(data) as { kind?: unknown }
      return kind === "tool-approval" ? { approve: true } : `answer to ${prompt}`
    },
  })
  expect(tried).toMatchObject({ problems: [], outcome: "completed" })
  const requests = server.requests.slice(from)
  const namesIn = ({ tools }: (typeof requests)[number]) =>
    ((tools ?? []) as { function: { name: string } }[]).map((one) => one.function.name)
  const [output] = tried.result?.outputs ?? []
  return {
    answer: typeof output === "string" ? output : JSON.stringify(output),
    warnings: tried.warnings,
    offered: requests.map(namesIn),
    sent: requests.map((one) => JSON.stringify(one)),
  }
}

describe("one agent", () => {
  test("with a model of any provider, in all ways to write it", async () => {
    const models = `
providers:
  gateway: { base_url: "https://gateway.example/v1", token_key: GATEWAY_KEY, temperature: 0.2 }
models:
  routed: { provider: openai, model: large, routing: [{ model: small, examples: [good morning] }] }
  small: { provider: google, model: flash, thinking_budget: -1 }
  own: { provider: gateway, model: any, max_tokens: 100 }
`
    for (const model of [
      "mistral/large",
      "own",
      "routed",
      "auto",
      "anthropic/a, openai/b",
      "gateway/x",
      "dmr/qwen",
    ]) {
      const { answer } = await run(`agents: { root: { model: "${model}", instruction: Be brief. } }${models}`)
      expect(answer).toBe("Done: Do it.")
    }
    const fallback = "fallback: { models: [openai/b], retries: 1 }"
    expect((await run(`agents: { root: { model: groq/a, ${fallback} } }`)).answer).toBe("Done: Do it.")
  })

  test("with the date, the environment, prompt files, one of them missing, and commands", async () => {
    put("AGENTS.md", "Write in verse.")
    const { sent, warnings } = await run(`
version: "7"
metadata: { author: Ada, license: MIT }
agents:
  root:
    model: openai/a
    description: A poet.
    welcome_message: Good day.
    instruction: You write.
    add_date: true
    add_environment_info: true
    add_prompt_files: [AGENTS.md, TEAM.md]
    commands: { sonnet: { description: A sonnet, instruction: "Write about \${STORE}." } }
`)
    expect(sent[0]).toMatch(/Today's date: \d{4}.*Write in verse\./)
    expect(warnings).toEqual([])
  })

  test("with structured output answers in its form", async () => {
    const schema =
      "{ type: object, properties: { name: { type: string }, age: { type: integer } }, required: [name, age] }"
    const { answer } = await run(
      `agents: { root: { model: openai/a, structured_output: { name: person, strict: true, schema: ${schema} } } }`,
    )
    expect(JSON.parse(answer)).toEqual({ name: "tea", age: 1 })
  })

  test("with shared parts of YAML, and with fields that have no counterpart, which are named", async () => {
    const { warnings } = await run(`
agents:
  root: &base
    model: openai/a
    instruction: Be kind.
    code_mode_tools: true
    toolsets: [{ type: think, toon: ".*" }]
    sub_agents: [catalog/reviewer:1.0, other]
  other: { <<: *base, sub_agents: [], code_mode_tools: false }
`)
    expect([...new Set(warnings.map((one) => one.split(" ")[0]))]).toEqual(["6:5", "8:18", "7:37"])
  })
})

describe("several agents", () => {
  const team = (more: string) => `
agents:
  root: { model: openai/a, instruction: You lead., ${more} }
  helper: { model: anthropic/b, description: Helps., instruction: You help. }
`
  const task = '{"agent":"helper","task":"Count to three","expected_output":""}'

  test("delegate a task, hand the conversation over, and work in the background", async () => {
    expect((await run(team("sub_agents: [helper]"), `transfer_task ${task}`)).answer).toBe(
      "Done: Done: Count to three",
    )
    const over = await run(team("handoffs: [helper]"), 'handoff {"agent":"helper"}')
    expect(over.sent.at(-1)).toContain("You help.")
    const background = await run(
      team("sub_agents: [helper], toolsets: [{ type: background_agents }]"),
      `run_background_agent ${task}`,
      'view_background_agent {"task_id":"call_1"}',
    )
    expect(background.answer).toContain('"status":"completed","result":"Done: Count to three"')
  })

  test("that an address names are asked over A2A", async () => {
    const remote = await a2aServer({ reply: "Greetings from afar" })
    try {
      const toolset = `{ type: a2a, name: far, url: "${remote.url}" }`
      const { answer } = await run(
        `agents: { root: { model: openai/a, toolsets: [${toolset}] } }`,
        'far {"input":"Hi"}',
      )
      expect(answer).toBe("Done: Greetings from afar")
    } finally {
      await remote.close()
    }
  })
})

describe("toolsets", () => {
  const withTools = (...toolsets: readonly string[]) =>
    `agents:\n  root:\n    model: openai/a\n    toolsets:\n${toolsets.map((one) => `      - ${one}\n`).join("")}`

  test("of files: reads, writes, and formats after an edit", async () => {
    put("src/a.txt", "one")
    const files = `{ type: filesystem, root: "${folder}", post_edit: [{ path: "*.txt", cmd: 'echo done >> "$file"' }] }`
    const { answer } = await run(
      withTools(files),
      'write_file {"path":"src/b.txt","content":"two\\n"}',
      'read_multiple_files {"paths":["src/a.txt","src/b.txt"]}',
    )
    expect(answer).toMatch(/"text":"one".*"text":"two\\ndone"/)
  })

  test("of plans, thoughts, memories, tasks, and questions to a person", async () => {
    const toolsets = ["think", "todo", "memory", "tasks", "user_prompt"].map((type) => `{ type: ${type} }`)
    const { answer, offered } = await run(
      withTools(...toolsets),
      'think {"thought":"First."}',
      'create_task {"title":"Dig","priority":"high"}',
      "next_task",
      'user_prompt {"message":"Which colour?"}',
    )
    expect(answer).toContain("answer to Which colour?")
    expect(offered[0]).toEqual(expect.arrayContaining(["todo_write", "memory_add", "list_tasks"]))
    expect(readFileSync(join(folder, ".superstep/tasks.jsonl"), "utf8")).toContain("Dig")
  })

  test("of commands: scripts with arguments, and a shell under permissions", async () => {
    const script = `{ type: script, shell: { greet: { cmd: 'echo "hello $who"', args: { who: { type: string } } } } }`
    expect((await run(withTools(script), 'greet {"who":"Ada; rm"}')).answer).toBe("Done: hello Ada; rm\n")
    const rules = 'permissions: { allow: ["shell:cmd=echo *"], deny: ["shell:cmd=rm *"] }\n'
    const { answer } = await run(
      `${rules}${withTools("{ type: shell }")}`,
      'shell {"cmd":"echo hi"}',
      'shell {"cmd":"rm -rf x"}',
    )
    expect(answer).toContain("was not allowed")
  })

  test("of servers: MCP by name and deferred, with fewer tools", async () => {
    const definition = `mcps:
  everything: { command: "${process.execPath}", args: ["${MCP_SERVER}", stdio] }
${withTools("{ type: mcp, ref: everything, tools: [echo, get-sum], defer: [get-sum] }")}`
    const { answer, offered } = await run(
      definition,
      'echo {"message":"over MCP"}',
      'search_tool {"query":"sum"}',
      'add_tool {"name":"get-sum"}',
      'get-sum {"a":20,"b":22}',
    )
    expect(answer).toContain("42")
    expect(offered[0]).toEqual(["echo", "search_tool", "add_tool"])
    expect(offered.at(-1)).toContain("get-sum")
  })

  test("of documents: searched by words, from a source of the file", async () => {
    put("docs/storks.txt", "Storks nest on roofs in spring.")
    put("docs/tea.txt", "Green tea is brewed at eighty degrees.")
    const definition = `${withTools("{ type: rag, ref: handbook }")}rag:
  handbook:
    tool: { description: Facts about animals and drinks. }
    docs: [docs]
    strategies: [{ type: bm25, database: ./bm25.db }]
    results: { limit: 1 }
`
    const { answer, warnings } = await run(definition, 'handbook {"query":"where do storks nest"}')
    expect(answer).toContain("Storks nest on roofs")
    expect(answer).not.toContain("Green tea")
    expect(warnings).toEqual(['10:32 "database" of a strategy is not supported and has no effect.'])
  })

  test("of code: a language server, and an API that describes its answers", async () => {
    put("a.txt", "tea cup tea")
    const lsp = `{ type: lsp, command: "${process.execPath}", args: ["${LANGUAGE_SERVER}"], working_dir: "${folder}" }`
    const api =
      "{ type: api, api_config: { name: rate, endpoint: 'https://rates.example/{day}', method: GET, args: { day: { type: string } }, output_schema: { type: object } } }"
    const { answer, sent } = await run(
      withTools(lsp, api),
      'lsp_references {"path":"a.txt","line":1,"column":2}',
    )
    expect(answer).toContain('{"path":"a.txt","line":1,"column":9}')
    expect(sent[0]).toContain("The body of the answer has this JSON Schema")
  })

  test("with models of their own, and models to pick from", async () => {
    const { answer } = await run(
      `${withTools("{ type: think, model: fast }", "{ type: model_picker, models: [fast, openai/strong] }")}models: { fast: { provider: groq, model: x } }\n`,
      'change_model {"model":"openai/strong"}',
      'think {"thought":"Hm."}',
      "revert_model",
    )
    expect(answer).toContain('"model":null')
  })
})

test("skills are read on demand", async () => {
  put(
    ".agents/skills/letters/SKILL.md",
    "---\nname: letters\ndescription: How we write.\n---\nSign with Kind regards.",
  )
  const inline = "{ name: notes, description: Short notes., instructions: One line. }"
  const { answer, sent } = await run(
    `agents: { root: { model: openai/a, skills: [local, ${inline}] } }`,
    'read_skill {"name":"letters"}',
  )
  expect(answer).toContain("Sign with Kind regards.")
  expect(sent[0]).toContain("- notes: Short notes.\\n- letters: How we write.")
  expect(sent[0]).not.toContain("Kind regards")
})

test("hooks guard tool calls and bring context", async () => {
  const guard = `grep -q '"thought":"secret"' && { echo "Not this." >&2; exit 2; }; exit 0`
  const { answer, sent } = await run(
    `
agents:
  root:
    model: openai/a
    toolsets: [{ type: think }]
    hooks:
      pre_tool_use: [{ matcher: think, hooks: [{ type: command, command: ${JSON.stringify(guard)}, timeout: 10 }] }]
      post_tool_use: [{ matcher: "*", hooks: [{ type: command, command: echo checked }] }]
      session_start: [{ type: command, command: echo The branch is main. }]
      session_end: [{ type: command, command: "cat > '${folder}/end.json'" }]
`,
    'think {"thought":"plain"}',
    'think {"thought":"secret"}',
  )
  expect(sent[0]).toContain("The branch is main.")
  expect(sent[1]).toContain("checked")
  expect(answer).toContain("Not this.")
  expect(JSON.parse(readFileSync(join(folder, "end.json"), "utf8"))).toMatchObject({ reason: "answered" })
})

test("hooks and skills of an agent work in a graph too", async () => {
  put("skills/letters/SKILL.md", "---\nname: letters\ndescription: How we write.\n---\nSign it.")
  const edge = "workflowId: g, sourceNodeId: n"
  const { answer, sent } = await run(
    `
id: g
name: g
entrypointNodeId: n
nodes:
  - { id: n, workflowId: g, nodeType: AGENT, nodeName: N, agentId: a }
  - { id: tools, workflowId: g, nodeType: TOOL_EXECUTOR, nodeName: tools, agentId: null }
edges:
  - { id: e1, ${edge}, targetNodeId: tools, conditionType: CONDITIONAL, conditionValue: tools }
  - { id: e2, ${edge}, targetNodeId: null, conditionType: ALWAYS, conditionValue: null }
agents:
  a:
    model: openai/a
    skills: true
    hooks:
      session_start: [{ type: command, command: echo The branch is main. }]
      post_tool_use: [{ hooks: [{ type: command, command: echo checked }] }]
      stop: [{ type: command, command: "cat > '${folder}/stop.json'" }]
`,
    'read_skill {"name":"letters"}',
  )
  expect(sent[0]).toContain("The branch is main.")
  expect(answer).toMatch(/Sign it\.\s+checked/)
  expect(JSON.parse(readFileSync(join(folder, "stop.json"), "utf8"))).toMatchObject({
    hook_event_name: "stop",
  })
})
