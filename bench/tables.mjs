#!/usr/bin/env node
// Writes the figures of the result files into README.md, bench/README.md and docs/scaling.md. With --check it only compares,
// and ends with 1 where they differ.
import { readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { brokenClaims, readResults, withFigures } from "./src/figures.mjs"

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } })
const root = new URL("../", import.meta.url)
const results = readResults()
const texts = {}
const problems = []
for (const file of ["README.md", "bench/README.md", "docs/scaling.md"]) {
  const text = readFileSync(new URL(file, root), "utf8")
  texts[file] = withFigures(file, text, results)
  if (values.check && texts[file] !== text)
    problems.push(`${file}: the figures are not those of bench/results; run "npm run tables" in bench/`)
  if (!values.check) writeFileSync(new URL(file, root), texts[file])
}
problems.push(...brokenClaims(texts, results))
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
