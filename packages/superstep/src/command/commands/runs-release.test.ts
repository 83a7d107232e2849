/** A quarantined run from the command line: listed, explained, not resumed, and released. */
import { expect, test } from "vitest"
import { superstep } from "../test-io.test-support.ts"
import { openFile, withRuns } from "./stored-runs.test-support.ts"

/** Runs that wait for an answer, the first of which is quarantined. */
async function quarantined() {
  const io = await withRuns({ bad: "ask me", good: "ask me" })
  const store = openFile(io)
  const { token = 0 } = (await store.run("bad")) ?? {}
  const lease = await store.claim("bad", token, "killed")
  if (lease !== undefined) await store.quarantine(lease, 0)
  await store.close()
  return io
}

test("is listed by its status, and shown with the command that releases it", async () => {
  const io = await quarantined()
  const { stdout } = await superstep(["runs", "list", "--status", "quarantined", "--json"], io)
  expect(JSON.parse(stdout)).toMatchObject({ runId: "bad", status: "quarantined" })
  const shown = await superstep(["runs", "show", "bad"], io)
  expect(shown.stdout).toMatch(/Run bad: quarantined/)
  expect(shown.stdout).toContain("superstep runs release bad")
})

test("is a warning of doctor", async () => {
  const { code, stdout } = await superstep(["doctor", "--json"], await quarantined())
  const findings = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(findings.find(({ what }) => what === "runs")).toMatchObject({
    state: "warn",
    is: expect.stringContaining("1 quarantined"),
    todo: expect.stringContaining("runs release"),
  })
  expect(code).toBe(0)
})

test("is not resumed, and the error explains how to release it", async () => {
  const { code, stderr } = await superstep(["runs", "resume", "bad"], await quarantined())
  expect([code, stderr]).toEqual([2, expect.stringContaining("superstep runs release bad")])
})

test("is unchanged after its release; a run that is not quarantined is refused, and the others are released", async () => {
  const io = await quarantined()
  const { code, stdout, stderr } = await superstep(["runs", "release", "good", "bad", "--json"], io)
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual({ runId: "bad", status: "waiting" })
  expect(stderr).toContain("is waiting, not quarantined")
  const { stdout: listed } = await superstep(["inbox", "--json"], io)
  expect(listed).toContain('"bad"')
})
