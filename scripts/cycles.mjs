// Finds files that import each other in a circle, type imports included, and files that import examples, which are for users
// and may change at any time. `npm run cycles`.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const files = tracked("packages/*/src/*.ts")
const known = new Set(files)

/** @type {Map<string, string[]>} */
const imports = new Map(files.map((file) => [file, importsOf(file).filter((target) => known.has(target))]))

for (const file of tracked("*.ts", "*.mjs")) {
  if (file.startsWith("examples/")) continue
  const example = importsOf(file).find((target) => target.startsWith("examples/"))
  if (example === undefined) continue
  console.log(`${file} imports ${example}. Only examples import examples.`)
  process.exitCode = 1
}

// Tarjan's algorithm: each group of files that reach each other.
let next = 0
/** @type {Map<string, { index: number, low: number, open: boolean }>} */
const seen = new Map()
/** @type {string[]} */
const stack = []
/** @type {string[][]} */
const cycles = []
for (const file of files) if (!seen.has(file)) visit(file)

for (const cycle of cycles)
  console.log(`These ${cycle.length} files import each other:\n  ${cycle.sort().join("\n  ")}`)
if (cycles.length > 0) process.exitCode = 1

/** @param {string[]} patterns */
function tracked(...patterns) {
  const listed = execFileSync("git", ["ls-files", ...patterns], { cwd: root, encoding: "utf8" })
  return listed.split("\n").filter((file) => file !== "")
}

/** @param {string} file */
function importsOf(file) {
  const source = readFileSync(join(root, file), "utf8")
  const named = [...source.matchAll(/(?:\bfrom|\bimport\(|^import) ?"(\.[^"]+\.(?:ts|mjs))"/gm)]
  return named.map(([, path = ""]) => join(dirname(file), path).replaceAll("\\", "/"))
}

/**
 * @param {string} file
 * @returns {{ index: number, low: number, open: boolean }}
 */
function visit(file) {
  const mark = { index: next, low: next, open: true }
  next += 1
  seen.set(file, mark)
  stack.push(file)
  for (const target of imports.get(file) ?? []) {
    const other = seen.get(target)
    if (other === undefined) mark.low = Math.min(mark.low, visit(target).low)
    else if (other.open) mark.low = Math.min(mark.low, other.index)
  }
  if (mark.low === mark.index) {
    const group = stack.splice(stack.indexOf(file))
    for (const member of group) {
      const closed = seen.get(member)
      if (closed !== undefined) closed.open = false
    }
    if (group.length > 1 || imports.get(file)?.includes(file)) cycles.push(group)
  }
  return mark
}
