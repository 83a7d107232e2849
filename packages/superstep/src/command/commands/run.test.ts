import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseEvent } from "@superstep/engine/protocol"
import { describe, expect, it } from "vitest"
import { moduleFile } from "../modules/index.test-support.ts"
import { superstep, testIo } from "../test-io.test-support.ts"

const [greet, ask, slow, odd] = [
  moduleFile("greet"),
  moduleFile("ask"),
  moduleFile("slow"),
  moduleFile("odd"),
]

describe("superstep run", () => {
  it("prints the answer on stdout, and the progress on stderr", async () => {
    const { code, stdout, stderr } = await superstep(["run", greet, "Ada"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello Ada!\n" })
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^✓ hello \d\S* m?s$/),
      expect.stringMatching(/^✓ bang \d\S* m?s$/),
      expect.stringMatching(/^completed in .* · 2 supersteps$/),
      expect.stringMatching(/^run [0-9a-f-]{36}$/),
      "",
    ])
  })

  it("warns about a run that completes without an output, and lists its undelivered messages", async () => {
    const join = await superstep(["run", moduleFile("starved"), "x", "--quiet"])
    expect(join).toMatchObject({ code: 0, stdout: "" })
    expect(join.stderr).toContain(
      "warning: The run completed without an output, and 1 message was not delivered:",
    )
    expect(join.stderr.replace(/\s+/g, " ")).toContain(
      'from "left" to "both": nothing more can reach the join: the join of "both" still waits for "right"',
    )
    const nowhere = await superstep(["run", moduleFile("starved"), "nowhere", "--json"])
    expect(nowhere.stdout).toContain('"message.undelivered"')
    expect(nowhere.stderr.replace(/\s+/g, " ")).toContain(
      'from "start": the condition to "left" did not hold',
    )
  })

  it("warns the same way if the messages were lost in a sub-workflow", async () => {
    const { code, stderr } = await superstep(["run", moduleFile("starved-below"), "nowhere", "--quiet"])
    expect(code).toBe(0)
    expect(stderr.replace(/\s+/g, " ")).toContain(
      'in starved#1: from "start": the condition to "left" did not hold',
    )
  })

  it("prints only the answer with --quiet", async () => {
    expect(await superstep(["run", greet, "Ada", "--quiet"])).toEqual({
      code: 0,
      stdout: "Hello Ada!\n",
      stderr: "",
    })
  })

  it("prints only the events of the protocol on stdout with --json", async () => {
    const { stdout, stderr } = await superstep(["run", greet, "Ada", "--json", "--store", "memory:"])
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => parseEvent(JSON.parse(line)))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events.at(-1)).toMatchObject({ type: "run.finished", status: "completed" })
    expect(stderr).toBe("")
  })

  it("stores the run in the folder's own store, which git ignores; with memory: it stores nothing", async () => {
    const io = testIo()
    await superstep(["run", greet, "Ada", "--store", "memory:"], io)
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
    await superstep(["run", greet, "Ada"], io)
    expect(existsSync(join(io.cwd, ".superstep/superstep.db"))).toBe(true)
    expect(readFileSync(join(io.cwd, ".superstep/.gitignore"), "utf8")).toBe("*\n")
  })

  it("joins the run with the same id, and refuses a different one", async () => {
    const io = testIo()
    for (let i = 0; i < 2; i++) {
      expect(await superstep(["run", greet, "Ada", "--run-id", "r"], io)).toMatchObject({
        stdout: "Hello Ada!\n",
      })
    }
    const other = await superstep(["run", greet, "Bob", "--run-id", "r"], io)
    expect(other).toMatchObject({ code: 2, stdout: "" })
    expect(other.stderr).toContain('Run "r" already exists')
  })
})

describe("the input of a run", () => {
  it("may come from stdin, without the trailing line break", async () => {
    expect(await superstep(["run", greet, "-", "--quiet"], { stdin: "\uFEFFAda\nLovelace\n" })).toMatchObject(
      {
        stdout: "Hello Ada\nLovelace!\n",
      },
    )
  })

  it.each([new Uint8Array([0xff, 0xfe, 1]), "a\0b"])(
    "must be text: binary data is refused",
    async (stdin) => {
      const { code, stderr } = await superstep(["run", greet, "-"], { stdin })
      expect(code).toBe(2)
      expect(stderr).toContain("Stdin is not text")
    },
  )

  it("is JSON if the module does not take text", async () => {
    const good = await superstep(["run", odd, '{"give":"x"}', "--quiet"])
    expect(JSON.parse(good.stdout)).toEqual({ give: "x" })
    expect(await superstep(["run", odd, "give x"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("as JSON"),
    })
    const misfit = await superstep(["run", odd, '{"give":3}'])
    expect(misfit.code).toBe(2)
  })

  it("is required if the workflow declares one, and nobody can be asked", async () => {
    const { code, stderr } = await superstep(["run", odd])
    expect(code).toBe(2)
    expect(stderr).toContain("odd needs a prompt")
  })
})

describe("the end of a run", () => {
  it("is 1 for a failure, with its reason and how to continue", async () => {
    const { code, stdout, stderr } = await superstep(["run", odd, '{"fail":"It broke."}', "--quiet"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^superstep: failed at act: It broke\.\n/)
    expect(stderr).toMatch(/superstep runs retry [0-9a-f-]{36}\n/)
    expect(stderr).not.toContain("    at ")
    expect(stderr.split("\n").filter((line) => line.length > 80)).toEqual([])
  })

  it("includes the stack with --verbose", async () => {
    expect((await superstep(["run", odd, '{"fail":"It broke."}', "--verbose"])).stderr).toContain("    at ")
  })

  it.each([
    [["--max-steps", "3"], "did not end within 3 supersteps"],
    [["--max-steps", "1"], "did not end within 1 superstep;"],
    [["--timeout", "20ms"], "time is up"],
  ])("is 4 at a limit: %s", async (flags, reason) => {
    const [file, input] = flags[0] === "--timeout" ? [slow, "x"] : [odd, '{"loop":true}']
    const { code, stderr } = await superstep(["run", file, input, "--quiet", ...flags])
    expect(code).toBe(4)
    expect(stderr).toContain(reason)
  })

  it("is 3 if it waits for a person and there is none, with the command to answer", async () => {
    const { code, stdout, stderr } = await superstep(["run", ask, "x", "--store", "sqlite:runs.db"])
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
    expect(stderr).toContain("r1: Which colour?")
    expect(stderr).toMatch(/superstep respond [0-9a-f-]{36} r1 ANSWER --store sqlite:runs.db\n/)
    expect(stderr).toMatch(/superstep runs resume [0-9a-f-]{36} --store sqlite:runs.db\n$/)
  })

  it("prints commands with quoted words", async () => {
    const names = ["--run-id", "two words", "--store", "sqlite:my runs.db"]
    const { stderr } = await superstep(["run", ask, "x", ...names])
    expect(stderr).toContain("  superstep respond 'two words' r1 ANSWER --store 'sqlite:my runs.db'\n")
    expect(stderr).toContain("  superstep runs resume 'two words' --store 'sqlite:my runs.db'\n")
  })
})

describe("a run that asks", () => {
  it("asks the person at the terminal, again if the answer is invalid, and continues", async () => {
    const io = testIo({ terminals: ["stdin", "stderr"], env: { USER: "ada" } })
    const running = superstep(["run", ask, "x"], io)
    await io.seen("Which colour?")
    io.stdin.write("\r")
    await io.seen("How many?")
    io.stdin.write("99\r")
    await io.seen("must be <= 9")
    io.stdin.write("3\r")
    expect(await running).toMatchObject({ code: 0, stdout: "x: 3 red\n" })
  })

  it("is released by Ctrl-C at the question, and waits in the store", async () => {
    const io = testIo({ terminals: ["stdin", "stderr"] })
    const running = superstep(["run", ask, "x"], io)
    await io.seen("Which colour?")
    io.stdin.write("\x03")
    expect(await running).toMatchObject({
      code: 130,
      stderr: expect.stringContaining("superstep runs resume"),
    })
  })
})

describe("a module with an agent", () => {
  const files = { "script.yaml": "- At your service.\n" }

  it("uses the model in --model, whatever the module names", async () => {
    const { stdout } = await superstep(
      ["run", moduleFile("agent"), "Hello", "--model", "scripted:script.yaml", "--quiet"],
      { files },
    )
    expect(stdout).toBe("At your service.\n")
  })

  it("uses the offline model if no key is set, and announces it at the terminal", async () => {
    const terminals = ["stdin", "stdout", "stderr"] as const
    const { code, stderr } = await superstep(["run", moduleFile("agent"), "Hello"], { terminals })
    expect(code).toBe(0)
    expect(stderr).toContain("No key is set (OPENAI_API_KEY).")
  })
})

describe("Ctrl-C", () => {
  it("releases the run, prints how to resume it, and leaves it unclaimed", async () => {
    const io = testIo()
    const running = superstep(["run", slow, "x"], io)
    await io.seen("✓ first")
    io.interrupt()
    const { code, stderr } = await running
    expect(code).toBe(130)
    const id = /superstep runs resume ([0-9a-f-]{36})\n$/.exec(stderr)?.[1]
    const { sqliteStore } = await import("@superstep/store-sqlite")
    const store = sqliteStore({ path: join(io.cwd, ".superstep/superstep.db") })
    const row = await store.run(id ?? "")
    expect(row).toMatchObject({ status: "running", labels: { file: slow } })
    expect(row?.holder).toBeUndefined()
    await store.close()
  })

  it("does not resume the run when the command is called again", async () => {
    const io = testIo()
    const running = superstep(["run", slow, "x", "--run-id", "left"], io)
    await io.seen("✓ first")
    io.interrupt()
    await running
    const again = superstep(["run", slow, "y", "--verbose"], io)
    await io.seen("· hang starts")
    io.interrupt()
    expect((await again).stderr).not.toContain("left")
    const { sqliteStore } = await import("@superstep/store-sqlite")
    const store = sqliteStore({ path: join(io.cwd, ".superstep/superstep.db") })
    expect((await store.run("left"))?.holder).toBeUndefined()
    await store.close()
  })

  it("cancels a run that is in memory only", async () => {
    const io = testIo()
    const running = superstep(["run", slow, "x", "--store", "memory:"], io)
    await io.seen("✓ first")
    io.interrupt()
    expect(await running).toMatchObject({ code: 130, stderr: expect.stringContaining("cancelled") })
  })

  it("ends the process immediately the second time", async () => {
    const io = testIo()
    const running = superstep(["run", slow, "x"], io)
    await io.seen("✓ first")
    io.interrupt()
    io.interrupt()
    expect(io.exits).toEqual([130])
    await running
  })
})

describe("a workflow that cannot run", () => {
  it.each([
    ["a missing module", "nope.ts", "Cannot read nope.ts: no such file."],
    ["an unknown name", "nope", "no such file, and no definition with this id in the store"],
    ["a module without a workflow", moduleFile("empty"), "does not export a workflow"],
  ])("%s is a usage error", async (_, file, reason) => {
    const io = testIo()
    const { code, stdout, stderr } = await superstep(["run", file, "x"], io)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
    expect(stderr.replace(/\s+/g, " ")).toContain(reason)
    expect(stderr).not.toContain("    at ")
  })

  it.each([
    ["throws.mjs", '\nthrow new TypeError("no database")', "TypeError: no database (line 2)"],
    ["string.mjs", 'throw "no database"', "no database"],
    ["package.mjs", 'import "no-such-package"', "Cannot find package 'no-such-package'"],
  ])("a module that cannot be loaded is named, with the problem: %s", async (file, text, reason) => {
    const io = testIo({ files: { [file]: text } })
    const { code, stderr } = await superstep(["run", file, "x"], io)
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain(`Cannot load ${file}: `)
    expect(stderr.replace(/\s+/g, " ")).toContain(reason)
    expect(stderr).not.toContain("    at ")
  })

  it("a module's own stack is printed with --verbose", async () => {
    const files = { "throws.mjs": 'throw new Error("no database")' }
    const { stderr } = await superstep(["run", "throws.mjs", "x", "--verbose"], { files })
    expect(stderr).toMatch(/^caused by Error: no database\n {4}at .*throws\.mjs:1/m)
  })

  it.each([
    ["no such kind", "mongo:x", 'Unknown store "mongo:x"'],
    ["a path alone", "runs.db", "For a file, write --store sqlite:runs.db."],
    ["not a database", "sqlite:junk.db", "is not a SQLite database"],
    ["a folder", "sqlite:.", "is a folder"],
  ])("a store that cannot be opened is reported: %s", async (_, store, reason) => {
    const io = testIo()
    writeFileSync(join(io.cwd, "junk.db"), "no database".repeat(100))
    const { code, stderr } = await superstep(["run", greet, "x", "--store", store], io)
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain(reason)
  })

  it("--model for one agent is refused for a module", async () => {
    const { code, stderr } = await superstep(["run", greet, "x", "--model", "a=offline"])
    expect(code).toBe(2)
    expect(stderr).toContain("--model AGENT=NAME is for YAML and JSON")
  })
})
