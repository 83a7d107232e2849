/** A deep research whose process is killed continues in another one: the same report, nothing paid for twice. */
import { execFile, spawn } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { type TestIo, testIo } from "../test-io.test-support.ts"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const PROGRAM = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx"), here("../main.ts")]
const MODULE = here("../modules/research-module.test-support.ts")
const SECTIONS = ["Green", "Black"]

function answer(agent: string, last: string): string {
  const topic = SECTIONS.find((one) => last.includes(`Question: ${one}`)) ?? "Tea"
  const passes = last.match(/The gap was:/g)?.length ?? 0
  switch (agent) {
    case "planner": {
      const report_outline = SECTIONS.map((title) => ({ title, key_question: `${title}?` }))
      return JSON.stringify({ background_context: "", report_outline, report_title: "Teas" })
    }
    case "gap":
      return JSON.stringify({ research_complete: passes > 1, outstanding_gaps: [`${topic} ${passes}`] })
    case "selector":
      return JSON.stringify({
        tasks: [{ agent: "documents", query: /Question: (.*)$/.exec(last)?.[1] ?? "" }],
      })
    case "judge":
      return JSON.stringify({ sufficient: false })
    case "writer":
      return `${topic} is a tea [1][2].`
    default:
      return `${agent} on ${topic}`
  }
}

/** The models' server: records the requests, and kills the process at one of them. */
async function provider() {
  const asked: string[] = []
  let at = Number.POSITIVE_INFINITY
  let kill = (): void => undefined
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      asked.push(body)
      if (asked.length === at) return kill()
      const { agent, prompt } = JSON.parse(body)
      response.end(answer(agent, prompt.at(-1).content.at(-1).text))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    asked,
    env: { ...process.env, MODEL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    killAt(question: number, doKill: () => void) {
      at = question
      kill = doKill
    },
  }
}

function run(io: TestIo, env: NodeJS.ProcessEnv, ...argv: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...PROGRAM, ...argv], { cwd: io.cwd, env }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stderr)),
    )
  })
}

test("killed at its plan, in its passes and while it writes", { timeout: 300_000 }, async () => {
  const calm = await provider()
  const report = await run(testIo(), calm.env, "run", MODULE, "Teas?")
  expect(report).toContain("# Green\n\nGreen is a tea [1][2].")
  for (const question of [1, 9, calm.asked.length - 1]) {
    const { asked, env, killAt } = await provider()
    const io = testIo()
    const child = spawn(process.execPath, [...PROGRAM, "run", MODULE, "Teas?", "--run-id", "teas"], {
      cwd: io.cwd,
      env,
      stdio: "ignore",
    })
    const ended = new Promise((resolve) => child.on("close", (_, signal) => resolve(signal)))
    killAt(question, () => child.kill("SIGKILL"))
    expect(await ended).toBe("SIGKILL")
    // A request of the other section may still have arrived between the kill and the exit.
    const first = [...asked]
    expect(await run(io, env, "runs", "resume", "teas")).toBe(report)
    // Only requests in flight when the process died, one per section, have no record.
    const twice = asked.slice(first.length).filter((body) => first.includes(body))
    expect(twice.length).toBeLessThanOrEqual(SECTIONS.length)
    expect(new Set(asked)).toEqual(new Set(calm.asked))
  }
})
