/** Commands as processes of their own, on one store. */
import { execFile, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../../../../../tests/bundled.ts"
import { type TestIo, testIo } from "../test-io.test-support.ts"

const PROGRAM = bundled(fileURLToPath(new URL("../main.ts", import.meta.url)))

const story = `agents:
  writer: { model: offline, instruction: Write. }
workflow:
  - { id: draft, type: agent, name: writer }
  - { id: ask, type: human, prompt: "Publish?" }
  - { id: final, type: agent, name: writer, loop: false }
`

function run(
  io: TestIo,
  ...argv: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...argv], { cwd: io.cwd }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    )
  })
}

test("a run that one process released is watched by a second one and finished by a third", async () => {
  const io = testIo({ files: { "story.yaml": story } })
  expect((await run(io, "run", "story.yaml", "a story", "--run-id", "s")).code).toBe(3)
  const watcher = spawn(process.execPath, [PROGRAM, "runs", "events", "s", "--follow", "--json"], {
    cwd: io.cwd,
    stdio: ["ignore", "pipe", "inherit"],
  })
  onTestFinished(() => void watcher.kill("SIGKILL"))
  let seen = ""
  const ended = new Promise<number | null>((resolve) => watcher.on("close", resolve))
  await new Promise<void>((resolve) => {
    watcher.stdout.setEncoding("utf8").on("data", (text: string) => {
      seen += text
      if (seen.includes("run.waiting")) resolve()
    })
  })
  const { code, stdout } = await run(io, "respond", "s", "r1", "yes")
  expect(code).toBe(0)
  expect(stdout).not.toBe("")
  expect(await ended).toBe(0)
  const events = seen
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { seq: number; type: string })
  // The model's text is shown too if the watcher learns of the run's new process in time; it has no numbers of its own.
  const live = new Set(["model.delta", "custom", "log", "live.gap"])
  const journaled = events.filter(({ type }) => !live.has(type))
  expect(journaled.map(({ seq }) => seq)).toEqual(journaled.map((_, i) => i + 1))
  expect(events.at(-1)).toMatchObject({ type: "run.finished", status: "completed" })
})
