/** The commands on definitions: YAML and JSON. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const STORY = `
agents:
  writer: { model: openai/gpt-5, instruction: Write. }
  critic: { model: anthropic/claude-opus-4-5, instruction: Criticise. }
workflow:
  - { id: draft, type: agent, name: writer }
  - { id: review, type: agent, name: critic }
`
const SCRIPT = "writer: [Once upon a time.]\ncritic: [Too short.]\n"
const files = { "story.yaml": STORY, "script.yaml": SCRIPT }

describe("superstep run of a definition", () => {
  it("runs its steps with the script in --model", async () => {
    const { code, stdout, stderr } = await superstep(
      ["run", "story.yaml", "A story.", "--model", "scripted:script.yaml"],
      { files },
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Too short.\n" })
    expect(stderr).toMatch(/^✓ draft .*\n✓ review .*\ncompleted in .* tokens · \$0\nrun /)
  })

  it("needs a prompt if it has agents", async () => {
    const { code, stderr } = await superstep(["run", "story.yaml", "--model", "offline"], { files })
    expect({ code, stderr: stderr.includes("story needs a prompt") }).toEqual({ code: 2, stderr: true })
  })

  it("asks for the prompt at a terminal", async () => {
    const io = testIo({ files, terminals: ["stdin", "stderr"] })
    const running = superstep(["run", "story.yaml", "--model", "scripted:script.yaml"], io)
    await io.seen('Prompt for "story":')
    io.stdin.write("A story.\r")
    expect(await running).toMatchObject({ code: 0, stdout: "Too short.\n" })
  })

  it("also runs definitions in the store, by id, and records that", async () => {
    const { sqliteStore } = await import("@superstep/store-sqlite")
    const { applyDefinition } = await import("@superstep/engine/definitions")
    const io = testIo({ files: { "script.yaml": "- Good day.\n" } })
    const store = sqliteStore({ path: join(io.cwd, "runs.db") })
    const node = { id: "n1", nodeType: "agent", nodeName: "Greeter", agentId: "greeter" }
    await applyDefinition(store.registry, {
      id: "greeting",
      name: "Greeting",
      entrypointNodeId: "n1",
      agents: { greeter: { model: "offline", instruction: "Greet." } },
      nodes: [node],
      edges: [],
    })
    const flags = ["--store", "sqlite:runs.db", "--model", "scripted:script.yaml", "--run-id", "r"]
    expect(await superstep(["run", "greeting", "Hello", "--quiet", ...flags], io)).toMatchObject({
      code: 0,
      stdout: "Good day.\n",
    })
    expect((await store.run("r"))?.labels).toMatchObject({ definition: "greeting" })
    await store.close()
  })

  it("refuses --agents, which is for graphs", async () => {
    const { code, stderr } = await superstep(["run", "story.yaml", "x", "--agents", "others.yaml"], { files })
    expect(code).toBe(2)
    expect(stderr).toBe("superstep: --agents is for graphs: story.yaml defines its own agents.\n")
  })

  it("prints all problems, underlined, and creates no store", async () => {
    const text = STORY.replace("name: writer }", "name: writr }").replace(
      "model: openai/gpt-5",
      "model: fast",
    )
    const io = testIo({ files: { "bad.yaml": text } })
    const { code, stdout, stderr } = await superstep(["run", "bad.yaml", "x"], io)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(/bad\.yaml:\d+:\d+: error/)
    expect(stderr).toContain("did you mean `writer`?")
    expect(stderr).toMatch(/\^~+/)
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
  })
})

describe("superstep run of a graph", () => {
  const graph = {
    agents: { a: { model: "offline" } },
    nodes: [{ id: "a", type: "agent", agent_id: "a" }],
    edges: [{ from_node: "a", to_node: "b" }],
  }
  const files = { "bad.json": JSON.stringify(graph) }

  it("that is refused has a heading above its problems", async () => {
    const { code, stderr } = await superstep(["run", "bad.json", "x"], { files })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^Graph validation failed:\n/)
    expect(stderr).toContain("Edge target node b not found")
  })

  it("with only warnings has no heading", async () => {
    const { code, stderr } = await superstep(["run", "bad.json", "x", "--lenient"], { files })
    expect(code).toBe(0)
    expect(stderr).toContain("Edge target node b not found")
    expect(stderr).not.toContain("validation failed")
  })
})

describe("models", () => {
  const run = (flags: string[], env: Record<string, string> = {}) =>
    superstep(["run", "story.yaml", "x", "--store", "memory:", ...flags], { files, env })

  it("report the missing variable if another key is set", async () => {
    const { code, stderr } = await run([], { OPENAI_API_KEY: "sk-secret-value" })
    expect(code).toBe(2)
    expect(stderr.replace(/\n */g, " ")).toContain('Agent "critic" needs a key. Set ANTHROPIC_API_KEY.')
    expect(stderr).toContain("--model offline")
    expect(stderr).not.toContain("sk-secret-value")
  })

  it("can be chosen for one agent, and the others keep theirs", async () => {
    const { code, stdout } = await run(["--model", "offline", "--model", "critic=scripted:script.yaml"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Too short.\n" })
    const own = await run(["--model", "critic=scripted:script.yaml"])
    expect(own.code).toBe(2)
    expect(own.stderr.replace(/\n */g, " ")).toContain('Agent "writer" needs a key. Set OPENAI_API_KEY.')
  })

  it.each([
    [["--model", "critc=offline"], 'there is no agent "critc". The agents are writer, critic.'],
    [["--model", "scripted:none.yaml"], "--model scripted: Cannot read none.yaml: there is no such file."],
    [["--model", "gpt5"], '"gpt5" is not a model\'s name'],
    [["--model", "nosuch/x"], 'Unknown provider "nosuch"'],
    [["--model", "openai/gpt-5"], "openai/gpt-5 needs a key: set the environment variable OPENAI_API_KEY."],
    [["--model", "critic=openai-compatible/x"], "openai-compatible/x needs the server's base URL"],
  ])("that cannot be used are reported: %s", async (flags, reason) => {
    const { code, stderr } = await run(flags)
    expect(code).toBe(2)
    expect(stderr.replace(/\n */g, " ")).toContain(reason)
  })

  it("of a definition that cannot be called are reported before anything runs, with their agent", async () => {
    const text = STORY.replace("anthropic/claude-opus-4-5", "nosuch/x").replace("openai/gpt-5", "offline")
    const io = testIo({ files: { "story.yaml": text } })
    const { code, stderr } = await superstep(["run", "story.yaml", "x"], io)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^superstep: Agent "critic": Unknown provider "nosuch"/m)
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
  })

  it("that lack a key are reported once per agent, however often the file is loaded", async () => {
    // A research makes the file load a second time, with the functions of another package.
    const text = `${STORY}  - { id: look, type: research, model: offline, tools: [{ type: documents, paths: [notes.md] }] }\n`
    const { stderr } = await superstep(["run", "story.yaml", "x"], {
      files: { "story.yaml": text, "notes.md": "Storks eat frogs." },
      env: { AZURE_API_KEY: "k" },
    })
    expect(stderr.match(/"critic"/g)).toHaveLength(1)
  })
})

describe("superstep exec", () => {
  const exec = (flags: string[] = [], more: Record<string, string> = {}) =>
    superstep(["exec", "story.yaml", "A story.", "--model", "scripted:script.yaml", ...flags], {
      files: { ...files, ...more },
    })

  it("prints what agents write on stdout, and the steps' outputs on stderr", async () => {
    const { code, stdout, stderr } = await exec()
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Once upon a time.\nToo short.\n" })
    const [said, context] = stderr.split("--- Step Context ---\n")
    expect(said).toBe("")
    expect(JSON.parse(context ?? "")).toEqual({
      draft: { agent: "writer", output: "Once upon a time." },
      review: { agent: "critic", output: "Too short." },
    })
  })

  it("prints the outputs of a block under the block", async () => {
    const text = `agents: { a: { model: offline }, b: { model: offline } }
workflow:
  - type: parallel
    id: both
    steps:
      - { id: x, type: agent, name: a }
      - { id: y, type: agent, name: b }
`
    const { stderr } = await exec([], { "story.yaml": text, "script.yaml": "a: [one]\nb: [two]\n" })
    expect(JSON.parse(stderr.split("--- Step Context ---\n")[1] ?? "")).toEqual({
      both: {
        steps: { x: { agent: "a", output: "one" }, y: { agent: "b", output: "two" } },
        order: ["x", "y"],
      },
    })
  })

  it("prints the outputs of a failed run too", async () => {
    const { code, stdout, stderr } = await exec([], {
      "script.yaml": "writer: [Once upon a time.]\ncritic: []\n",
    })
    expect({ code, stdout }).toEqual({ code: 1, stdout: "Once upon a time.\n" })
    expect(stderr).toContain('--- Step Context ---\n{\n  "draft": {')
    expect(stderr).toContain("superstep: failed at review:")
  })

  it("prints only the text with --quiet", async () => {
    expect(await exec(["--quiet"])).toEqual({
      code: 0,
      stdout: "Once upon a time.\nToo short.\n",
      stderr: "",
    })
  })

  it("asks nobody, not even at a terminal", async () => {
    const question = "workflow: [ { type: human, prompt: Publish? } ]\n"
    const io = testIo({ files: { ...files, "ask.yaml": question }, terminals: ["stdin", "stdout", "stderr"] })
    const { code, stderr } = await superstep(["exec", "ask.yaml", "x", "--run-id", "r"], io)
    expect(code).toBe(3)
    expect(stderr).toContain("  superstep respond r r1 ANSWER\n")
    const missing = await superstep(["exec", "story.yaml", "--model", "scripted:script.yaml"], io)
    expect(missing.code).toBe(2)
    expect(missing.stderr).toContain("story needs a prompt")
  })

  const TOOLS = `
permissions: PERMISSIONS
agents:
  writer:
    instruction: Write.
    toolsets: [ { type: filesystem, root: ROOT } ]
workflow: [ { type: agent, name: writer } ]
`
  const CALL = `
- tool_calls: [ { name: write_file, args: { path: out.txt, content: hello } } ]
- Done.
`
  const withTools = async (flags: string[], permissions = "{}") => {
    const io = testIo()
    const file = join(io.cwd, "out.txt")
    writeFileSync(
      join(io.cwd, "tools.yaml"),
      TOOLS.replace("PERMISSIONS", permissions).replace("ROOT", io.cwd),
    )
    writeFileSync(join(io.cwd, "call.yaml"), CALL)
    const ended = await superstep(
      ["exec", join(io.cwd, "tools.yaml"), "x", "--model", "scripted:call.yaml", ...flags],
      io,
    )
    return { ...ended, isWritten: existsSync(file) }
  }

  it("refuses tools that need approval, and the agent sees it", async () => {
    expect(await withTools([])).toMatchObject({ code: 0, stdout: "Done.\n", isWritten: false })
  })

  it("runs them with --yolo, or if the permissions allow them; denied tools never run", async () => {
    expect(await withTools(["--yolo"])).toMatchObject({ code: 0, isWritten: true })
    expect(await withTools([], "{ allow: [write_file] }")).toMatchObject({ code: 0, isWritten: true })
    expect(await withTools(["--yolo"], "{ deny: [write_file] }")).toMatchObject({ code: 0, isWritten: false })
  })
})

describe("superstep validate", () => {
  it("describes a valid file, and exits with 0", async () => {
    expect(await superstep(["validate", "story.yaml"], { files })).toEqual({
      code: 0,
      stdout: "✓ story.yaml  steps, 2 agents\n",
      stderr: "",
    })
  })

  it("prints every problem of every file as a line of JSON with --json", async () => {
    const bad = {
      "a.yaml": STORY.replace("name: critic", "name: x"),
      "b.json": "{",
      "c.yaml": "a: 1\na: 2\n",
    }
    const { code, stdout, stderr } = await superstep(
      ["validate", ...Object.keys(bad), "none.yaml", "--json"],
      { files: bad },
    )
    expect({ code, stderr }).toEqual({ code: 2, stderr: "" })
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(new Set(lines.map(({ file }) => file))).toEqual(
      new Set(["a.yaml", "b.json", "c.yaml", "none.yaml"]),
    )
    expect(lines[0]).toMatchObject({
      severity: "error",
      line: 7,
      message: expect.stringContaining('agent "x" not found'),
    })
  })
})

describe("diagrams, code and schemas of a definition", () => {
  it.each([
    ["mermaid", "flowchart"],
    ["dot", "digraph"],
    ["svg", "<svg "],
    ["ascii", "+- agent -+"],
  ])("superstep graph draws %s", async (format, sign) => {
    const { code, stdout } = await superstep(["graph", "story.yaml", "--format", format], { files })
    expect({ code, has: stdout.includes(sign), ends: stdout.endsWith("\n") }).toEqual({
      code: 0,
      has: true,
      ends: true,
    })
  })

  it("superstep graph draws Mermaid for a pipe, boxes on a terminal, and into a file", async () => {
    expect((await superstep(["graph", "story.yaml"], { files })).stdout).toContain("flowchart")
    const boxes = await superstep(["graph", "story.yaml", "--no-color"], {
      files,
      terminals: ["stdout"],
      env: { LANG: "C.UTF-8" },
    })
    expect(boxes.stdout).toContain("╭─ agent ─╮")
    const io = testIo({ files })
    await superstep(["graph", "story.yaml", "--out", "story.mmd"], io)
    expect(readFileSync(join(io.cwd, "story.mmd"), "utf8")).toContain("flowchart")
  })

  it("superstep eject writes TypeScript, and overwrites a file only with --force", async () => {
    const io = testIo({ files })
    const { stdout } = await superstep(["eject", "story.yaml"], io)
    expect(stdout).toContain('import { workflow } from "superstep"')
    expect(await superstep(["eject", "story.yaml", "--out", "script.yaml"], io)).toMatchObject({ code: 2 })
    await superstep(["eject", "story.yaml", "--out", "script.yaml", "--force"], io)
    expect(readFileSync(join(io.cwd, "script.yaml"), "utf8")).toBe(stdout)
  })

  it.each(["steps", "graph"])("superstep schema %s is a JSON Schema", async (dialect) => {
    const { stdout } = await superstep(["schema", dialect])
    expect(JSON.parse(stdout)).toMatchObject({ $schema: expect.stringContaining("draft-07"), type: "object" })
  })

  it("superstep eject explains why a goal configuration cannot be ejected", async () => {
    const text = "agents: { a: { model: offline } }\ntriage: a\nassistants: [a]\nreviewer: a\n"
    const { code, stderr } = await superstep(["eject", "goal.yaml"], { files: { "goal.yaml": text } })
    expect([code, stderr]).toEqual([2, expect.stringContaining("is a goal configuration")])
  })

  it("graph, eject and schema print data with --json, one line each", async () => {
    const io = testIo({ files })
    const graph = await superstep(["graph", "story.yaml", "--json"], io)
    expect(graph.stdout.trim()).not.toContain("\n")
    const data = JSON.parse(graph.stdout)
    expect(data).toMatchObject({ name: "story", hash: expect.stringMatching(/^[0-9a-f]{16}$/) })
    expect(data.nodes.map(({ id }: { id: string }) => id)).toEqual(
      expect.arrayContaining(["draft", "review"]),
    )
    expect(data.edges.length).toBeGreaterThan(0)

    const code = await superstep(["eject", "story.yaml"], io)
    const ejected = await superstep(["eject", "story.yaml", "--json"], io)
    expect(JSON.parse(ejected.stdout)).toEqual({ workflow: "story", dialect: "steps", code: code.stdout })
    const written = await superstep(["eject", "story.yaml", "--json", "--out", "out.ts"], io)
    const file = join(io.cwd, "out.ts")
    expect(JSON.parse(written.stdout)).toEqual({ workflow: "story", dialect: "steps", file })
    expect(readFileSync(file, "utf8")).toBe(code.stdout)

    const [schema, line] = [
      await superstep(["schema", "steps"], io),
      await superstep(["schema", "steps", "--json"], io),
    ]
    expect(line.stdout.trim()).not.toContain("\n")
    expect(JSON.parse(line.stdout)).toEqual(JSON.parse(schema.stdout))
    expect((await superstep(["graph", "story.yaml", "--json", "--format", "dot"], io)).code).toBe(2)
  })

  it("superstep schema refuses an unknown dialect", async () => {
    expect(await superstep(["schema", "xml"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("steps, graph"),
    })
  })
})
