import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { SuperstepError } from "../../index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { callContext, toolNamed } from "../call-context.test-support.ts"
import { callTool, readArgs, type ToolOutcome } from "../call-tool.ts"
import { type ScriptOptions, type ScriptTool, script } from "./script.ts"

let directory: string
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "superstep-script-")))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(directory, { recursive: true })
})

async function run(
  definition: ScriptTool,
  args: object = {},
  options: Partial<ScriptOptions> = {},
): Promise<ToolOutcome> {
  const toolset = script({ tools: { it: { working_dir: directory, ...definition } }, ...options })
  const one = await toolNamed(toolset, "it")
  const parsed = await readArgs(one, JSON.stringify(args))
  if (!parsed.ok) return { ok: false, error: { code: "ARGS", message: parsed.reason } }
  return callTool(one, parsed.args, callContext())
}

describe("a script", () => {
  test("receives its arguments as variables, and returns its output", async () => {
    const cmd = 'printf "%s/%s/%s/%s" "$word" "$count" "$flag" "$list"'
    const args = { word: {}, count: { type: "integer" }, flag: { type: "boolean" }, list: { type: "array" } }
    const values = { word: "a  b", count: 3, flag: true, list: [1, "x"] }
    expect(await run({ cmd, args }, values)).toEqual({ ok: true, value: 'a  b/3/true/[1,"x"]' })
  })

  test("runs in its directory, with its own environment", async () => {
    await writeFile(join(directory, "note.txt"), "here")
    const cmd = 'cat note.txt; printf " $A $B"; echo warn >&2'
    const outcome = await run({ cmd, env: { A: "own" } }, {}, { env: { A: "all", B: "all" } })
    expect(outcome).toEqual({ ok: true, value: "here own all\n[stderr]\nwarn\n" })
  })

  test("by default is described by its command, with all arguments required", async () => {
    const { parameters, description } = await toolNamed(
      script({ tools: { it: { cmd: "date", args: { a: { description: "A word." }, b: { enum: ["x"] } } } } }),
      "it",
    )
    expect(description).toBe("Runs: date")
    expect(parameters).toEqual({
      type: "object",
      properties: { a: { type: "string", description: "A word." }, b: { enum: ["x"] } },
      required: ["a", "b"],
      additionalProperties: false,
    })
    expect(await run({ cmd: 'test -z "$a" && printf none', args: { a: {} }, required: [] })).toEqual({
      ok: true,
      value: "none",
    })
  })

  test("may have the lower-case name of a reserved variable", async () => {
    const definition = { cmd: 'echo "$path $git_ref"', args: { path: {}, git_ref: {} } }
    expect(await run(definition, { path: "a b", git_ref: "main" })).toEqual({ ok: true, value: "a b main\n" })
  })

  test("that fails is reported with its exit and its output", async () => {
    expect(await run({ cmd: "echo out; echo err >&2; exit 3" })).toMatchObject({
      ok: false,
      error: { code: "SCRIPT_FAILED", message: "it exited with code 3.\nerr\n\nout\n" },
    })
    expect(await run({ cmd: "kill -9 $$" })).toMatchObject({
      error: { message: "it was killed by SIGKILL." },
    })
    expect(await run({ cmd: "true", working_dir: join(directory, "none") })).toMatchObject({
      error: { code: "PROCESS_NOT_STARTED" },
    })
  })

  test("rejects invalid options", () => {
    const wrong: [object, RegExp][] = [
      [{}, /has no tools/],
      [{ it: { cmd: " " } }, /needs cmd/],
      [{ it: { cmd: "x", args: { "a-b": {} } } }, /letters, digits/],
      [{ it: { cmd: "x", required: ["a"] } }, /requires a, which args does not have/],
      [{ "no name": { cmd: "x" } }, /letters, digits/],
    ]
    for (const [tools, message] of wrong) expect(() => script({ tools: tools as never })).toThrow(message)
    for (const name of ["PATH", "LD_PRELOAD", "BASH_ENV", "IFS", "NODE_OPTIONS", "https_proxy"]) {
      expect(() => script({ tools: { it: { cmd: "x", args: { [name]: {} } } } })).toThrow(/rename it/)
    }
  })
})

describe("an argument of a model", () => {
  test("never becomes another command (S1)", async () => {
    const attacks = [
      "; touch owned",
      "$(touch owned)",
      "`touch owned`",
      '"; touch owned; "',
      "' ; touch owned ; '",
      "a\ntouch owned",
      "&& touch owned",
      "| touch owned",
      "> owned",
      "$IFS;touch owned",
      "() { :; }; touch owned",
    ]
    for (const word of attacks) {
      const outcome = await run({ cmd: 'printf %s "$word"', args: { word: {} } }, { word })
      expect(outcome).toEqual({ ok: true, value: word })
      // Even if the author forgot the quotes.
      await run({ cmd: "printf %s $word", args: { word: {} } }, { word })
    }
    expect(await readdir(directory)).toEqual([])
  })

  test("does not reach variables that were not declared (S2)", async () => {
    for (const name of ["PATH", "LD_PRELOAD", "other", "__proto__"]) {
      const args = JSON.parse(`{ "word": "x", "${name}": "/evil" }`) as object
      const outcome = await run({ cmd: 'printf "$PATH"', args: { word: {} } }, args)
      expect(outcome).toMatchObject({ ok: false, error: { code: "ARGS" } })
    }
  })

  test("is rejected if no variable can hold it", async () => {
    const outcome = await run({ cmd: "true", args: { word: {} } }, { word: "a\0b" })
    expect(outcome).toMatchObject({ ok: false, error: { code: "TOOL_ARGS_INVALID" } })
    const huge = await run({ cmd: "true", args: { word: {} } }, { word: "x".repeat(500_000) })
    expect(huge).toMatchObject({ ok: false, error: { code: "PROCESS_NOT_STARTED" } })
  })
})

describe("our own secrets", () => {
  test("are not in a script's environment unless it is configured to receive them (S3)", async () => {
    vi.stubEnv("SOME_API_KEY", "key-of-ours-123")
    vi.stubEnv("PLAIN_THING", "plain-value-123")
    expect(JSON.stringify(await run({ cmd: "env" }))).not.toMatch(/key-of-ours-123|plain-value-123/)
    const received = await run(
      { cmd: 'test "$SOME_API_KEY" = key-of-ours-123 && env' },
      {},
      { inherit: ["SOME_API_KEY"] },
    )
    expect(received).toMatchObject({ ok: true, value: expect.stringContaining("SOME_API_KEY=[secret]") })
    expect(JSON.stringify(received)).not.toContain("plain-value-123")
    const all = await run({ cmd: "env" }, {}, { inherit: true })
    expect(all).toMatchObject({ value: expect.stringContaining("plain-value-123") })
    expect(JSON.stringify(all)).not.toContain("key-of-ours-123")
  })

  test("are not in an error either (S3)", async () => {
    const outcome = await run({ cmd: 'echo "bad $MY_TOKEN" >&2; exit 1', env: { MY_TOKEN: "t0ken-abc" } })
    expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("bad [secret]") } })
  })
})

describe("a running script", () => {
  test("keeps the beginning and the end of a long output", async () => {
    const outcome = await run({ cmd: "seq 1 3000" }, {}, { maxOutput: 100 })
    expect(outcome).toMatchObject({
      ok: true,
      value: expect.stringMatching(/^1\n2\n[\s\S]*left out[\s\S]*3000\n$/),
    })
  })

  test("that writes endlessly is stopped", async () => {
    expect(await run({ cmd: "yes" }, {}, { maxOutput: 100 })).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("it was stopped because it wrote too much output") },
    })
  })

  test("is stopped with its child processes when the task is stopped", async () => {
    const one = await toolNamed(
      script({
        tools: {
          it: { cmd: "sleep 1000 & echo $! > pid; echo x > ready; sleep 1000", working_dir: directory },
        },
      }),
      "it",
    )
    const stop = new AbortController()
    const outcome = callTool(one, {}, callContext({ signal: stop.signal })).catch((error: unknown) => error)
    while (!(await readdir(directory)).includes("ready")) await settled()
    stop.abort(new SuperstepError("CANCELLED", "stopped"))
    expect(await outcome).toMatchObject({ code: "CANCELLED" })
    const pid = Number(await readFile(join(directory, "pid"), "utf8"))
    while (isAlive(pid)) await settled()
  })

  test("is stopped when its time is up, and its output is returned", async () => {
    const clock = manualClock()
    const one = await toolNamed(
      script({
        tools: { it: { cmd: "echo so far; echo x > ready; sleep 1000", working_dir: directory } },
        timeout: 5_000,
      }),
      "it",
    )
    const call = callContext()
    const outcome = callTool(one, {}, { ...call, ctx: { ...call.ctx, clock } })
    while (!(await readdir(directory)).includes("ready")) await settled()
    await clock.advance(5_000)
    expect(await outcome).toMatchObject({
      ok: false,
      error: {
        code: "SCRIPT_FAILED",
        message: expect.stringMatching(/^it was stopped after 5000 ms\.\nso far/),
      },
    })
  })

  test("leaves no processes behind when it ends", async () => {
    const outcome = await run({ cmd: "sleep 1000 & printf $!" })
    const pid = Number(outcome.ok ? outcome.value : 0)
    expect(pid).toBeGreaterThan(0)
    // It is killed at once, but the system reaps it a moment later.
    while (isAlive(pid)) await settled()
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
