// Everything that must hold before a change goes in. The tests start when the types are checked and the packages are built;
// the other stages run beside them. The last line counts tests and stages: `N passed, N failed`.
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const results = join(root, ".build", "tests.json")
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

/**
 * `--proof` adds long tests and the proofs that kill processes (PROOF=short: half as often); `npm run proof` has all proofs, and
 * takes longer than CI may.
 */
const withProof = process.argv.includes("--proof")
const proofs = [
  ".long.test",
  "/crash.proof",
  "examples/goal-over-data",
  "tests/crash/kill",
  "tests/fleet",
  "tests/hostile",
  "tests/postgres",
  "packages/store-postgres/src/faults",
  "packages/store-sqlite/src/kill",
]

// Scripts of package.json. What needs what: tests compile documentation with the declarations that `types` leaves, and run
// the command that `build` leaves; the budget reads the former, `api:check` the latter.
const first = ["types", "build"]
const others = ["lint", "words", "cycles"]
// Half a minute of each core, for what few changes break.
if (withProof) others.push("knip", "api:check", "types:budget")

let passed = 0
let failed = 0
await Promise.all(first.map((stage) => runStages([stage])))
if (failed > 0) console.log(`not run: ${[...others, "test"].join(", ")}`)
else await Promise.all([runStages(others), runTests()])
process.exitCode = failed > 0 ? 1 : 0
console.log(`${passed} passed, ${failed} failed`)

/** The proofs take long: they run if all else has passed. */
async function runTests() {
  count(await test("test"))
  if (!withProof) return
  if (failed > 0) console.log("not run: proof")
  else count(await test("proof"))
}

/** @param {string[]} stages */
async function runStages(stages) {
  for (const stage of stages) count(await quietly(stage))
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
    env: { ...process.env, PATH: path, TYPES: "built", PROOF: "short" },
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
