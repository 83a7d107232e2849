/** The command as it is installed: what `npm run build` leaves, in processes of its own. */
import { execFileSync, spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { beforeAll, describe, expect, onTestFinished, test } from "vitest"

const root = join(import.meta.dirname, "..")
const dist = join(root, "packages/superstep/dist")

beforeAll(() => {
  if (!existsSync(join(dist, "whole.cjs"))) execFileSync("npm", ["run", "build"], { cwd: root })
}, 300_000)

const DEFINITION = `agents:
  writer: { model: offline, instruction: Write. }
  editor: { model: offline, instruction: Edit. }
workflow:
  - { type: agent, name: writer }
  - { type: agent, name: editor }
`

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-built-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function superstep(folder: string, ...argv: string[]): Ended {
  return spawnSync(process.execPath, [join(folder, "command.cjs"), ...argv], { cwd: root, encoding: "utf8" })
}

describe("on a definition", () => {
  /** A copy of its own, so that each test starts with nothing kept. */
  function installed() {
    const folder = temporaryFolder()
    for (const file of ["command.cjs", "whole.cjs"]) copyFileSync(join(dist, file), join(folder, file))
    const definition = join(folder, "two.yaml")
    writeFileSync(definition, DEFINITION)
    const compiled = join(folder, "compiled")
    return {
      folder,
      compiled,
      run: () => superstep(folder, "run", definition, "Storks", "--store", "memory:", "--quiet"),
      kept: () => readdirSync(compiled).map((name) => join(compiled, name)),
    }
  }

  function expectAnswer({ status, stdout, stderr }: Ended): void {
    expect(stderr).toBe("")
    expect(status).toBe(0)
    expect(stdout).toMatch(/^I am the offline stand-in, .* You asked about: Storks\. /)
  }

  test("its compilation is kept for the next time, and used then", () => {
    const { run, kept } = installed()
    expectAnswer(run())
    const [file = ""] = kept()
    expect(file).toMatch(/[\\/]run-v\d+\.\d+\.\d+-\w+-[0-9a-f]{16}$/)
    const { mtimeMs } = statSync(file)
    expectAnswer(run())
    expect(kept()).toEqual([file])
    expect(statSync(file).mtimeMs).toBe(mtimeMs)
  })

  test("of one that failed nothing is kept: it used too little of the program", () => {
    const { folder, compiled } = installed()
    expect(superstep(folder, "run", join(folder, "none.yaml"), "Storks").status).toBe(2)
    expect(existsSync(compiled)).toBe(false)
  })

  test("an invalid code cache is ignored and rewritten", () => {
    const { run, kept } = installed()
    expectAnswer(run())
    const [file = ""] = kept()
    const good = readFileSync(file)
    for (const bad of [Buffer.alloc(0), Buffer.from("no compilation"), good.subarray(0, 1_000)]) {
      writeFileSync(file, bad)
      expectAnswer(run())
      expect(readFileSync(file).length).toBeGreaterThan(good.length / 2)
    }
  })

  test("where nothing can be written it runs all the same", () => {
    const { run, compiled } = installed()
    writeFileSync(compiled, "a file, and no folder")
    expectAnswer(run())
    expectAnswer(run())
  })

  test("another program of the same length has its own", () => {
    const { run, kept, folder } = installed()
    expectAnswer(run())
    const whole = join(folder, "whole.cjs")
    const [line = "", ...rest] = readFileSync(whole, "latin1").split("\n")
    const other = line.replace(/[0-9a-f]{16}/, "0123456789abcdef")
    writeFileSync(whole, [other, ...rest].join("\n").replace("You asked about", "YOU ASKED ABOUT"))
    expect(run().stdout).toContain("YOU ASKED ABOUT: Storks.")
    expect(kept()).toHaveLength(2)
  })
})

test("a definition with an MCP server gets the tools of the package that is installed", () => {
  const folder = temporaryFolder()
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const server = join(root, "examples/35-mcp-server.mjs")
  const definition = file(
    "library.yaml",
    `agents:
  librarian:
    model: openai/gpt-5
    instruction: Help.
    toolsets:
      - { type: mcp, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(server)}] }
workflow:
  - { type: agent, name: librarian }
`,
  )
  const script = file(
    "script.yaml",
    `librarian:
  - tool_calls: [{ name: find_book, args: { title: Emma } }]
  - { when: "shelf 3", text: It is on shelf 3. }
`,
  )
  const argv = ["run", definition, "Where is Emma?", "--model", `scripted:${script}`, "--yolo", "--quiet"]
  const { status, stdout, stderr } = superstep(dist, ...argv, "--store", "memory:")
  expect(stderr).toBe("")
  expect(stdout.trim()).toBe("It is on shelf 3.")
  expect(status).toBe(0)
})

test("a command that loads no workflow uses the same file, and keeps its own compilation", () => {
  const folder = temporaryFolder()
  for (const file of ["command.cjs", "whole.cjs"]) copyFileSync(join(dist, file), join(folder, file))
  const store = `sqlite:${join(folder, "runs.db")}`
  expect(superstep(folder, "runs", "--store", store)).toMatchObject({ status: 0, stdout: "" })
  expect(superstep(folder, "inbox", "--store", store)).toMatchObject({ status: 0, stdout: "" })
  const kept = readdirSync(join(folder, "compiled")).map((name) => name.replace(/-v\d.*/, ""))
  expect(kept.sort()).toEqual(["inbox", "runs-list"])
})

test("a module shares the engine with the command", () => {
  const folder = temporaryFolder()
  const module = join(folder, "telling.mjs")
  // Two copies of the engine share no state: this one ends the run where it begins.
  writeFileSync(
    module,
    `import { node, setTelemetry, workflow } from ${JSON.stringify(pathToFileURL(join(dist, "index.js")).href)}
setTelemetry({ built() {}, startRun({ workflow }) { throw new Error("seen: " + workflow) } })
export default workflow("telling").chain(node("answer", () => "heard")).build()
`,
  )
  const { status, stderr } = superstep(dist, "run", module, "anyone?", "--store", "memory:", "--quiet")
  expect(stderr).toContain("seen: telling")
  expect(status).toBe(1)
})

test.each([
  ["CommonJS", "{}"],
  ["ES modules", '{ "type": "module" }'],
])("a module in TypeScript runs in a project of %s", (_, manifest) => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "node_modules"))
  symlinkSync(join(root, "packages/superstep"), join(folder, "node_modules/superstep"), "junction")
  writeFileSync(join(folder, "package.json"), manifest)
  const module = join(folder, "shout.ts")
  writeFileSync(
    module,
    `import { node, workflow } from "superstep"
const shout: string = "!"
export default workflow("shout").chain(node("loud", (text: string) => text.toUpperCase() + shout)).build()
`,
  )
  const { status, stdout, stderr } = superstep(dist, "run", module, "hey", "--store", "memory:", "--quiet")
  expect(stderr).toBe("")
  expect(stdout).toBe("HEY!\n")
  expect(status).toBe(0)
})

test("it tells its version", () => {
  const { version } = JSON.parse(readFileSync(join(root, "packages/superstep/package.json"), "utf8"))
  expect(superstep(dist, "--version").stdout).toBe(`${version}\n`)
})
