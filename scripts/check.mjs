// Everything that must hold before a change goes in, stage by stage. Tests run only if all other stages passed.
// The last line counts tests and stages: `N passed, N failed`.
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const results = join(root, ".build", "tests.json")
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

/** `--proof` adds long tests and the proofs that kill processes; `npm run proof` has all proofs, and takes longer than CI may. */
const withProof = process.argv.includes("--proof")
const proofs = [
  ".long.test",
  "tests/crash/kill",
  "tests/fleet",
  "tests/hostile",
  "tests/postgres",
  "packages/store-postgres/src/faults",
  "packages/store-sqlite/src/kill",
]

// Scripts of package.json. The two lanes run at the same time, each in order: the budget reads the declarations that
// `types` leaves; `api:check` what `build` leaves.
const lanes = [
  ["types", "types:budget"],
  ["lint", "words", "cycles", "knip", "build", "api:check"],
]

let passed = 0
let failed = 0
await Promise.all(lanes.map(runLane))
const tests = withProof ? ["test", "proof"] : ["test"]
for (const stage of tests) {
  if (failed > 0) console.log(`not run: ${stage}`)
  else count(await test(stage))
}
process.exitCode = failed > 0 ? 1 : 0
console.log(`${passed} passed, ${failed} failed`)

/** @param {string[]} stages */
async function runLane(stages) {
  for (const [index, stage] of stages.entries()) {
    const ok = await quietly(stage)
    count(ok)
    if (ok) continue
    const left = stages.slice(index + 1)
    if (left.length > 0) console.log(`not run: ${left.join(", ")}`)
    return
  }
}

/** @param {boolean} ok */
function count(ok) {
  if (ok) passed += 1
  else failed += 1
}

/**
 * Runs a stage, and shows what it printed only if it fails.
 * @param {string} stage
 */
async function quietly(stage) {
  const began = performance.now()
  const { ok, output } = await run(scripts[stage], "pipe")
  console.log(`${stage} … ${ok ? "ok" : "FAILED"} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  if (!ok) console.log(`\n$ ${scripts[stage]}\n${output}`)
  return ok
}

/**
 * Runs tests in full view, and counts them.
 * @param {string} stage
 */
async function test(stage) {
  const began = performance.now()
  console.log(`${stage} …`)
  mkdirSync(join(root, ".build"), { recursive: true })
  rmSync(results, { force: true })
  const only = stage === "proof" ? proofs.join(" ") : ""
  let { ok } = await run(
    `${scripts[stage]} ${only} --reporter=default --reporter=json --outputFile.json=${results}`,
    "inherit",
  )
  if (existsSync(results)) {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(results, "utf8"))
    passed += numPassedTests
    failed += numFailedTests
    ok &&= numFailedTests === 0
    // A test that may be skipped says why in its name.
    /** @type {{ assertionResults: { fullName: string, status: string }[] }[]} */
    const files = testResults
    const tests = files.flatMap((file) => file.assertionResults)
    for (const { fullName, status } of tests) {
      if (status !== "passed" && status !== "failed") console.log(`skipped: ${fullName}`)
    }
  }
  console.log(`${stage} … ${ok ? "ok" : "FAILED"} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
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
