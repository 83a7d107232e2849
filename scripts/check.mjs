// Everything that must hold before a change goes in, stage by stage; the first failing stage ends it.
// The last line counts tests and stages: `N passed, N failed`.
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const results = join(root, ".build", "tests.json")
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

// Scripts of package.json, in order. The budget reads the declarations that `types` leaves; `api:check` what
// `build` leaves.
const stages = ["lint", "types", "types:budget", "knip", "build", "api:check", "test"]

let passed = 0
let failed = 0
for (const [index, stage] of stages.entries()) {
  const ok = stage === "test" ? await test() : await quietly(stage)
  if (ok) passed += 1
  else {
    failed += 1
    const left = stages.slice(index + 1)
    if (left.length > 0) console.log(`not run: ${left.join(", ")}`)
    break
  }
}
process.exitCode = failed > 0 ? 1 : 0
console.log(`${passed} passed, ${failed} failed`)

/**
 * Runs a stage, and shows what it printed only if it fails.
 * @param {string} stage
 */
async function quietly(stage) {
  process.stdout.write(`${stage} … `)
  const began = performance.now()
  const { ok, output } = await run(scripts[stage], "pipe")
  console.log(`${ok ? "ok" : "FAILED"} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  if (!ok) console.log(`\n$ ${scripts[stage]}\n${output}`)
  return ok
}

/** Runs the tests in full view, and counts them. */
async function test() {
  console.log("test …")
  mkdirSync(join(root, ".build"), { recursive: true })
  rmSync(results, { force: true })
  const { ok } = await run(
    `${scripts.test} --reporter=default --reporter=json --outputFile.json=${results}`,
    "inherit",
  )
  if (existsSync(results)) {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(results, "utf8"))
    passed += numPassedTests
    failed += numFailedTests
    // A test that may be skipped says why in its name.
    /** @type {{ assertionResults: { fullName: string, status: string }[] }[]} */
    const files = testResults
    const tests = files.flatMap((file) => file.assertionResults)
    for (const { fullName, status } of tests) {
      if (status !== "passed" && status !== "failed") console.log(`skipped: ${fullName}`)
    }
  }
  console.log(`test … ${ok ? "ok" : "FAILED"}`)
  return ok
}

/**
 * @param {string} command
 * @param {"pipe" | "inherit"} output
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
function run(command, output) {
  const path = [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter)
  const child = spawn(command, {
    cwd: root,
    env: { ...process.env, PATH: path },
    shell: true,
    stdio: ["ignore", output, output],
  })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk) => {
      text += chunk
    })
  }
  return new Promise((done, fail) => {
    child.on("error", fail)
    child.on("close", (code) => done({ ok: code === 0, output: text }))
  })
}
