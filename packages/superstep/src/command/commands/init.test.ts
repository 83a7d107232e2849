import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

/** In the folder that `init` created. */
function within(io: TestIo, folder: string): TestIo {
  return { ...io, cwd: join(io.cwd, folder) }
}

/** Splits a command line like a shell. */
function argv(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "")
}

async function made(template: string, ...flags: readonly string[]) {
  const io = testIo()
  const { code, stdout } = await superstep(["init", template, "here", "--json", ...flags], io)
  expect(code).toBe(0)
  const { next, files } = JSON.parse(stdout) as { next: string[]; files: string[] }
  return { io, next, files }
}

// The template typescript needs what npm installs: tests/packages/clone.long.test.ts runs it.
describe("a template runs offline immediately, with the commands that are printed", () => {
  test.each(["steps", "graph", "chat", "goal"])("%s", async (template) => {
    const { io, next } = await made(template)
    expect(next.slice(0, 2)).toEqual(["cd here", "npm install"])
    const commands = next.slice(2).map((line) => argv(line).slice(2))
    expect(commands.length).toBeGreaterThan(2)
    for (const command of commands.filter(([name]) => name !== "chat")) {
      const { code, stdout } = await superstep(command, within(io, "here"))
      expect([command, code]).toEqual([command, 0])
      expect(stdout).not.toBe("")
      expect([command, stdout]).toEqual([command, expect.not.stringContaining("offline stand-in")])
    }
  })

  test("goal answers from its documents and from its tables", async () => {
    const { io } = await made("goal")
    const ask = async (question: string) =>
      (await superstep(["ask", "goal.yaml", question], within(io, "here"))).stdout
    expect(await ask("How long can I return a lamp?")).toContain("within 30 days")
    expect(await ask("Which products are green?")).toMatch(/desk lamp/)
  })

  test("goal suggests only sources that its format accepts", async () => {
    const { io } = await made("goal")
    const file = join(io.cwd, "here", "goal.yaml")
    const text = readFileSync(file, "utf8")
    const proposed = text
      .split("\n")
      .flatMap((line) => /^( +)# ((?:- \{|vector:|graph:).*)$/.exec(line)?.slice(1).join("") ?? [])
    expect(proposed).toHaveLength(5)
    for (const line of proposed) {
      const isVector = line.trim().startsWith("vector:")
      const kept = isVector ? text.replace(/^ +vector: .*$/m, "") : text
      writeFileSync(file, kept.replace(`${line.replace(/^( +)/, "$1# ")}\n`, `${line}\n`))
      const env = {
        SALES_DB: "postgresql://a@b/c",
        WEB_DB: "mysql://a@b/c",
        GRAPH_URL: "bolt://a",
        GRAPH_PASSWORD: "x",
      }
      expect(await superstep(["validate", "goal.yaml"], { ...within(io, "here"), env })).toMatchObject({
        code: 0,
      })
    }
  })

  test.each([
    ["My invoice is wrong", "A wrong invoice is corrected within two working days"],
    ["My login fails", "A login fails if the password is wrong."],
  ])("graph passes %j to the agent that answers it", async (letter, answer) => {
    const { io } = await made("graph")
    const argv = ["run", "support.json", letter, "--agents", "agents.yaml"]
    expect(await superstep(argv, within(io, "here"))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(answer),
    })
  })
})

describe("init", () => {
  test("writes the model of --model", async () => {
    const { io } = await made("steps", "--model", "openai/gpt-5-mini")
    expect(readFileSync(join(io.cwd, "here", "article.yaml"), "utf8")).toContain("model: openai/gpt-5-mini")
    expect(await superstep(["init", "steps", "--yes", "--model", "a: b"])).toMatchObject({ code: 2 })
  })

  test("a project in a clone links to it; the provider's package comes with the model", async () => {
    const { io } = await made("typescript", "--model", "openai/gpt-5-mini")
    const manifest = JSON.parse(readFileSync(join(io.cwd, "here", "package.json"), "utf8"))
    const clone = fileURLToPath(new URL("../../../../../", import.meta.url))
    expect(manifest).toMatchObject({
      dependencies: {
        "@ai-sdk/openai": `file:${join(clone, "node_modules/@ai-sdk/openai")}`,
        superstep: `file:${join(clone, "packages/superstep")}`,
      },
      devDependencies: { tsx: `file:${join(clone, "node_modules/tsx")}` },
    })
  })

  test("never overwrites: a folder with files is refused", async () => {
    const io = testIo()
    mkdirSync(join(io.cwd, "full"))
    writeFileSync(join(io.cwd, "full", "mine.txt"), "mine")
    const { code, stderr } = await superstep(["init", "steps", "full"], io)
    expect(code).toBe(2)
    expect(stderr).toContain("is not empty")
    expect(readdirSync(join(io.cwd, "full"))).toEqual(["mine.txt"])
    writeFileSync(join(io.cwd, "file"), "")
    expect((await superstep(["init", "steps", "file"], io)).stderr).toContain("is a file")
  })

  test("fills the current folder if it is empty", async () => {
    const io = testIo()
    mkdirSync(join(io.cwd, ".git"))
    const { code, stdout } = await superstep(["init", "chat", "."], io)
    expect(code).toBe(0)
    expect(stdout).not.toContain("cd ")
    expect(existsSync(join(io.cwd, "assistant.yaml"))).toBe(true)
  })

  test("asks nothing without a person, and reports what is missing", async () => {
    const io = testIo()
    expect(await superstep(["init"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Choose a template: steps, graph, typescript, chat"),
    })
    expect((await superstep(["init", "--yes"], io)).code).toBe(0)
    expect(existsSync(join(io.cwd, "my-workflow", "article.yaml"))).toBe(true)
    expect((await superstep(["init", "nope"], io)).code).toBe(2)
  })

  test("asks a person for missing values", async () => {
    const io = testIo({ terminals: ["stdin", "stderr"] })
    Object.assign(io.stdin, { setRawMode: () => undefined })
    const asking = superstep(["init"], io)
    await io.seen("Which template?")
    io.stdin.write("\u001b[B\r")
    await io.seen("Which folder?")
    io.stdin.write("\r")
    await io.seen("Which model?")
    io.stdin.write("\r")
    const { code, stdout } = await asking
    expect(code).toBe(0)
    expect(stdout).toContain("Created my-workflow from the template graph")
    expect(existsSync(join(io.cwd, "my-workflow", "support.json"))).toBe(true)
  })

  test("can be cancelled by the person", async () => {
    const io = testIo({ terminals: ["stdin", "stderr"] })
    Object.assign(io.stdin, { setRawMode: () => undefined })
    const asking = superstep(["init"], io)
    await io.seen("Which template?")
    io.stdin.write("\u0003")
    expect((await asking).code).toBe(130)
    expect(readdirSync(io.cwd)).toEqual([])
  })
})
