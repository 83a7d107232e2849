import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const MODULE = fileURLToPath(new URL("../modules/incomplete-module.test-support.ts", import.meta.url))

describe("runs resume", () => {
  test.each([
    ["partial", ["--strict"], 1],
    ["partial", [], 0],
    ["whole", ["--strict"], 0],
    ["nested", ["--strict"], 1],
  ])("%s %j exits with %d, and prints the answer", async (text, flags, code) => {
    const io = testIo()
    // A fork of the start, which no process executes yet.
    expect((await superstep(["run", MODULE, text, "--run-id", "first", "--quiet"], io)).code).toBe(0)
    const { stdout: id } = await superstep(["runs", "fork", "first", "--at", "0", "--no-run"], io)
    const ended = await superstep(["runs", "resume", id.trim(), ...flags], io)
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: `answer to ${text}\n` })
  })
})

describe.each(["run", "exec"])("%s", (command) => {
  test.each([
    ["partial", ["--strict"], 1],
    ["partial", [], 0],
    ["whole", ["--strict"], 0],
    ["nested", ["--strict"], 1],
  ])("%s %j exits with %d, and prints the answer", async (text, flags, code) => {
    const ended = await superstep([command, MODULE, text, "--store", "memory:", ...flags])
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: `answer to ${text}\n` })
  })

  test.each([
    ["partial", "shop"],
    ["nested", "web"],
  ])("%s reports on stderr what its answer omits, even with --quiet", async (text, source) => {
    const { stderr } = await superstep([command, MODULE, text, "--store", "memory:", "--quiet"])
    expect(stderr).toBe(`incomplete: ${source}: it is down\n`)
  })

  test("does not repeat on stderr what its answer reports", async () => {
    const { stdout, stderr } = await superstep([command, MODULE, "honest", "--store", "memory:", "--quiet"])
    expect({ stdout, stderr }).toEqual({ stdout: "Incomplete: shop: it is down\n", stderr: "" })
  })
})
