// Runs an example from its TypeScript source, against the packages' sources: `npm run example hello`.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const examples = join(root, "examples")
const [name = "", ...rest] = process.argv.slice(2)
const file = [`${name}.ts`, join(name, "main.ts")].map((path) => join(examples, path)).find(existsSync)

if (file === undefined) {
  const names = readdirSync(examples, { withFileTypes: true })
    .filter((entry) =>
      entry.isDirectory() ? existsSync(join(examples, entry.name, "main.ts")) : isExample(entry.name),
    )
    .map((entry) => entry.name.replace(/\.ts$/, ""))
  console.error(`Which example? npm run example <name>, with one of: ${names.sort().join(", ")}`)
  process.exitCode = 1
} else {
  const flags = ["--conditions=source", "--import", import.meta.resolve("tsx")]
  const { status } = spawnSync(process.execPath, [...flags, file, ...rest], { cwd: root, stdio: "inherit" })
  process.exitCode = status ?? 1
}

/** @param {string} file */
function isExample(file) {
  return file.endsWith(".ts") && !file.endsWith(".test.ts")
}
