// Where results go.
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

/** The file of a benchmark's committed results. */
export function resultsFile(name) {
  return fileURLToPath(new URL(`../results/${name}.json`, import.meta.url))
}

export function writeResult(path, result) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify({ date: new Date().toISOString(), ...result }, null, 2)}\n`)
  console.log(`Written to ${path}`)
}
