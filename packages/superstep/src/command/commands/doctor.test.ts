import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"
import { nodeVersion } from "./doctor.ts"

const SECRET = "sk-not-to-be-seen"

describe("superstep doctor", () => {
  it("reports each part as intact, and creates nothing", async () => {
    const { code, stdout } = await superstep(["doctor"], { env: { OPENAI_API_KEY: SECRET } })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ok {4}node +\d+\.\d+/)
    expect(stdout).toMatch(/ok {4}store +.*,\s+created\s+by the\s+first run/)
    expect(stdout).toMatch(/ok {4}openai +OPENAI_API_KEY is set/)
    expect(stdout).toMatch(/ok {4}run +loaded and executed two steps/)
    expect(stdout).not.toContain(SECRET)
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80)
  })

  it("fails, with advice, if the store cannot be used", async () => {
    const io = testIo()
    writeFileSync(join(io.cwd, "junk.db"), "junk".repeat(500))
    const { code, stdout } = await superstep(["doctor", "--store", "sqlite:junk.db", "--json"], io)
    expect(code).toBe(1)
    const findings = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(findings.filter(({ state }) => state === "fail")).toMatchObject([
      { what: "store", todo: expect.any(String) },
    ])
  })

  it("reports a Node version that is too old", () => {
    const todo = "Use Node 22.12 or later, or 20.19 or later of Node 20."
    for (const old of ["18.20.8", "20.18.3", "21.7.3", "22.11.0"])
      expect(nodeVersion(old)).toMatchObject({ state: "fail", todo })
    for (const good of ["20.19.0", "22.12.0", "24.0.0"]) expect(nodeVersion(good).state).toBe("ok")
  })
})

describe("superstep models", () => {
  it("lists the providers that are ready, and never a key", async () => {
    const { stdout } = await superstep(["models"], { env: { ANTHROPIC_API_KEY: SECRET } })
    expect(stdout).toMatch(/anthropic .* ANTHROPIC_API_KEY is set +✓/)
    expect(stdout).toMatch(/openai .* set OPENAI_API_KEY\n/)
    expect(stdout).not.toContain(SECRET)
  })

  it("lists prices, and marks unknown ones", async () => {
    const { stdout } = await superstep(["models", "openai/gpt-5", "some/model", "--json"])
    const [known, unknown] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(known).toMatchObject({ model: "openai/gpt-5", price: { input: expect.any(Number) } })
    expect(unknown).toEqual({ model: "some/model" })
  })
})
