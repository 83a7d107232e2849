import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const PAYMENT = `workflow:
  - { id: payment, type: wait, signal: paid, schema: { type: object, required: [usd] } }
`

async function waiting() {
  const io = testIo()
  writeFileSync(join(io.cwd, "pay.yaml"), PAYMENT)
  const { code, stderr } = await superstep(["run", "pay.yaml", "go", "--run-id", "p"], io)
  return { io, code, stderr }
}

describe("runs signal", () => {
  test("a run says what it waits for, and a signal continues it", async () => {
    const { io, code, stderr } = await waiting()
    expect(code).toBe(3)
    expect(stderr).toContain('The run is waiting for the signal "paid".')
    expect(stderr).toContain("superstep runs signal p paid JSON")
    const shown = await superstep(["runs", "show", "p"], io)
    expect(shown.stdout).toContain("superstep runs signal p paid JSON")
    const sent = await superstep(["runs", "signal", "p", "paid", '{"usd":40}'], io)
    expect(sent.code).toBe(0)
    expect(JSON.parse(sent.stdout)).toEqual({ usd: 40 })
    const late = await superstep(["runs", "signal", "p", "paid", "1"], io)
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("has ended: completed") })
  })

  test("without the definition it is checked and stored, once for an id", async () => {
    const { io } = await waiting()
    rmSync(join(io.cwd, "pay.yaml"))
    const bad = await superstep(["runs", "signal", "p", "paid", "1"], io)
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining("must be object") })
    const sent = await superstep(["runs", "signal", "p", "paid", '{"usd":1}', "--id", "a"], io)
    expect([sent.code, sent.stderr.split("\n")[0]]).toEqual([
      0,
      "The signal is stored. It is delivered when the run resumes.",
    ])
    const again = await superstep(["runs", "signal", "p", "paid", '{"usd":2}', "--id", "a", "--json"], io)
    expect(JSON.parse(again.stdout)).toEqual({ runId: "p", signal: "paid", delivery: "stored" })
    writeFileSync(join(io.cwd, "pay.yaml"), PAYMENT)
    const resumed = await superstep(["runs", "resume", "p"], io)
    expect(JSON.parse(resumed.stdout)).toEqual({ usd: 1 })
  })

  test("refuses what is not JSON, and what the wait does not accept", async () => {
    const { io } = await waiting()
    const text = await superstep(["runs", "signal", "p", "paid", "hello"], io)
    expect(text).toMatchObject({ code: 2, stderr: expect.stringContaining("The value is not JSON") })
    const bad = await superstep(["runs", "signal", "p", "paid", "1"], io)
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining("does not match the schema") })
  })
})
