/** Untrusted files, and files that definitions name. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const SHELL = `agents:
  a: { model: offline, toolsets: [{ type: shell }] }
workflow:
  - { type: agent, name: a, prompt: "{{ $env.HOME }}" }
`
const PLAIN = `agents: { a: { model: offline } }
workflow: [{ type: agent, name: a, prompt: "Say: hello." }]
`
const ASKING = `agents: { a: { model: offline } }
workflow:
  - { type: human, id: ok, prompt: "Continue?" }
  - { type: agent, name: a, prompt: "Say: hello." }
`

describe("--untrusted", () => {
  it.each([["run", "x"], ["exec", "x"], ["validate"], ["graph"], ["eject"], ["chat"]])(
    "%s refuses access to external resources, each with its position",
    async (command, ...rest) => {
      const io = testIo({ files: { "shell.yaml": SHELL } })
      const { code, stdout, stderr } = await superstep([command, "shell.yaml", ...rest, "--untrusted"], io)
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toContain("shell.yaml:2:43")
      expect(stderr).toContain("shell.yaml:4:37")
      expect(stderr.match(/definition\s+is\s+untrusted/g)).toHaveLength(2)
    },
  )

  it("ask refuses the searches of a configuration", async () => {
    const files = {
      "goal.yaml": `agents: { triage: {}, reviewer: {}, a: {} }
assistants: [a]
search: { databases: [{ type: postgresql, id: d, url: "postgresql://10.0.0.1/x" }] }
`,
    }
    const { code, stderr } = await superstep(["ask", "goal.yaml", "who?", "--untrusted"], { files })
    expect(code).toBe(2)
    expect(stderr).toContain("goal.yaml:3:")
    expect(stderr.replace(/\s+/g, " ")).toContain("Opens a database, an index or a graph")
  })

  it("runs a definition without access to external resources", async () => {
    const io = testIo({ files: { "plain.yaml": PLAIN } })
    expect(await superstep(["run", "plain.yaml", "x", "--untrusted", "--quiet"], io)).toMatchObject({
      code: 0,
    })
  })

  it("does not import a module", async () => {
    const io = testIo({
      files: { "evil.mjs": 'import { writeFileSync } from "node:fs"\nwriteFileSync("ran", "")' },
    })
    const { code, stderr } = await superstep(["run", "evil.mjs", "x", "--untrusted"], io)
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([
      2,
      expect.stringContaining("is a module, and --untrusted cannot restrict code"),
    ])
  })

  it("also applies to a resumed run", async () => {
    const io = testIo({ files: { "flow.yaml": ASKING } })
    expect((await superstep(["run", "flow.yaml", "x", "--untrusted", "--run-id", "r1"], io)).code).toBe(3)
    writeFileSync(
      join(io.cwd, "flow.yaml"),
      ASKING.replace("offline }", "offline, toolsets: [{ type: shell }] }"),
    )
    const { code, stderr } = await superstep(["respond", "r1", "yes", "--accept-changes"], io)
    expect(code).not.toBe(0)
    expect(stderr.replace(/\s+/g, " ")).toContain("Runs programs on this machine")
  })
})

describe("validate", () => {
  it("does not run a module, and reports that it was not checked, without a ✓", async () => {
    const files = { "m.mjs": "globalThis.validateHasRunIt = true\nexport default 1" }
    const io = testIo({ files })
    const { code, stdout, stderr } = await superstep(["validate", "m.mjs"], io)
    expect([code, stdout]).toEqual([0, "- m.mjs  module, not checked\n"])
    expect(stderr.replace(/\s+/g, " ")).toContain("m.mjs is a module, and checking it would run it.")
    expect("validateHasRunIt" in globalThis).toBe(false)
    const json = await superstep(["validate", "m.mjs", "--json"], io)
    expect(JSON.parse(json.stdout)).toMatchObject({ file: "m.mjs", severity: "warning", code: "NOT_CHECKED" })
    expect(await superstep(["validate", "none.ts"], io)).toMatchObject({ code: 2 })
  })

  it("does not load packages beside the definition", async () => {
    const io = testIo({
      files: { "mcp.yaml": "agents: { a: { toolsets: [{ type: mcp, command: x }] } }\n" },
    })
    const folder = join(io.cwd, "node_modules", "@superstep", "mcp")
    mkdirSync(folder, { recursive: true })
    const exports = { ".": { import: "./index.js" }, "./package.json": "./package.json" }
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", exports }))
    writeFileSync(join(folder, "index.js"), `import "node:fs"; globalThis.besideHasRun = true`)
    await superstep(["validate", "mcp.yaml"], io)
    expect("besideHasRun" in globalThis).toBe(false)
  })

  it.each(["/etc/passwd", "/dev/zero", "link.yaml", "fifo.yaml", "folder"])(
    "refuses %s that a definition names, and prints none of its content",
    async (file) => {
      const text = `agents: { a: {} }\nworkflow:\n  - { type: workflow, id: w, file: ${file} }\n`
      const io = testIo({ files: { "main.yaml": text } })
      symlinkSync("/etc/passwd", join(io.cwd, "link.yaml"))
      mkdirSync(join(io.cwd, "folder"))
      execFileSync("mkfifo", [join(io.cwd, "fifo.yaml")])
      const { code, stdout, stderr } = await superstep(["validate", "main.yaml"], io)
      expect(code).toBe(2)
      expect(stderr).toContain("main.yaml:3:36")
      expect(stdout + stderr).not.toContain("root:")
    },
  )

  it("refuses a FIFO and a device as the definition itself", async () => {
    const io = testIo()
    execFileSync("mkfifo", [join(io.cwd, "fifo.yaml")])
    for (const file of ["fifo.yaml", "/dev/zero"]) {
      const { code, stderr } = await superstep(["validate", file], io)
      expect([code, stderr]).toEqual([2, expect.stringMatching(/it is a (FIFO|device), not a file/)])
    }
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
  })
})
