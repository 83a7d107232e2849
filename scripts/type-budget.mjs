// Fails when type-checking the tests costs more type instantiations than scripts/type-budget.json allows.
// The compiler's count is the same on every machine, unlike seconds. With --write the budget is set anew:
// the present count and a fifth more.
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const HEADROOM = 1.2

const root = resolve(import.meta.dirname, "..")
const file = join(import.meta.dirname, "type-budget.json")

// Incremental checking would skip what has not changed, and count less.
const tsc = spawnSync(
  process.execPath,
  [
    "node_modules/typescript-7/bin/tsc",
    // Checkers in parallel would each count what they share.
    "--singleThreaded",
    "-p",
    "tsconfig.test.json",
    "--incremental",
    "false",
    "--extendedDiagnostics",
  ],
  { cwd: root, encoding: "utf8" },
)
const count = Number(/^Instantiations:\s+(\d+)$/m.exec(tsc.stdout)?.[1])

if (tsc.status !== 0 || Number.isNaN(count)) {
  console.error(tsc.stdout + tsc.stderr)
  process.exitCode = 1
} else if (process.argv.includes("--write")) {
  const budget = Math.ceil((count * HEADROOM) / 1000) * 1000
  writeFileSync(file, `{ "instantiations": ${budget} }\n`)
  console.log(`${count} type instantiations; the budget is now ${budget}.`)
} else {
  const budget = JSON.parse(readFileSync(file, "utf8")).instantiations
  console.log(`${count} type instantiations of ${budget} allowed.`)
  if (count > budget) {
    console.error(
      "Make the types cheaper, or, if the cost is worth it, run `npm run types:budget -- --write`.",
    )
    process.exitCode = 1
  }
}
