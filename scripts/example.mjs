// Runs an example from its TypeScript source, against the packages' sources: `npm run example loop`.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const folder = join(root, "examples")
const names = readdirSync(folder)
  .filter(
    (file) =>
      (file.endsWith(".ts") && !file.endsWith(".test.ts")) || existsSync(join(folder, file, "run.ts")),
  )
  .map((file) => file.replace(/\.ts$/, ""))
  .sort()

const [asked, ...rest] = process.argv.slice(2)
// With or without its number: `07-loop`, `loop`, `07`.
const name = names.find(
  (one) => one === asked || one.replace(/^\d+-/, "") === asked || one.split("-")[0] === asked,
)

if (name !== undefined) {
  const flags = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx")]
  const file = fileOf(name)
  const { status } = spawnSync(process.execPath, [...flags, file, ...rest], { cwd: root, stdio: "inherit" })
  process.exitCode = status ?? 1
} else {
  if (asked !== undefined) {
    console.error(`There is no example "${asked}".\n`)
    process.exitCode = 1
  }
  const width = Math.max(...names.map((one) => one.length))
  console.log("npm run example <name>\n")
  for (const one of names) console.log(`${one.padEnd(width)}  ${sentence(one)}`)
}

/**
 * The sentence that an example opens with.
 * @param {string} example
 */
function sentence(example) {
  return /^\/\*\* (.+) \*\/$/m.exec(readFileSync(fileOf(example), "utf8"))?.[1] ?? ""
}

/**
 * A file, or the one of a folder that runs it.
 * @param {string} example
 */
function fileOf(example) {
  const file = join(folder, `${example}.ts`)
  return existsSync(file) ? file : join(folder, example, "run.ts")
}
