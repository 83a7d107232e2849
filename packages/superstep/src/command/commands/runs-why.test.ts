import { expect, test } from "vitest"
import { superstep } from "../test-io.test-support.ts"
import { withRuns } from "./stored-runs.test-support.ts"

test("runs why shows the edges of a task, and why its message took them", async () => {
  const io = await withRuns({ a: "x" })
  expect(await superstep(["runs", "why", "a", "1"], io)).toEqual({
    code: 0,
    stdout: '"x"\n  → check: it has no condition\n',
    stderr: "",
  })
  const { stdout } = await superstep(["runs", "why", "a", "1", "--json"], io)
  expect(JSON.parse(stdout)).toMatchObject({ runId: "a", node: "draft", messages: [{ value: "x" }] })
  expect((await superstep(["runs", "why", "a", "3"], io)).stdout).toContain("→ output")
})

test("runs why names a failure, a task that has not ended, and one that does not exist", async () => {
  const io = await withRuns({ bad: "fail", asks: "ask" })
  const failed = await superstep(["runs", "why", "bad", "2"], io)
  expect(failed.stderr).toContain("check#2 failed")
  expect((await superstep(["runs", "why", "asks", "2"], io)).stderr).toContain("check#2 has not ended")
  const unknown = await superstep(["runs", "why", "bad", "9"], io)
  expect(unknown.code).not.toBe(0)
  expect(unknown.stderr).toContain("did not start task 9")
})
