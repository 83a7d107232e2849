// Where results go, and which sources they were measured with.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The file of a benchmark's committed results. */
export function resultsFile(name) {
  return fileURLToPath(new URL(`../results/${name}.json`, import.meta.url))
}

export function readResult(name) {
  return JSON.parse(readFileSync(resultsFile(name), "utf8"))
}

export function writeResult(path, result) {
  mkdirSync(dirname(path), { recursive: true })
  const about = { date: new Date().toISOString(), commit: currentCommit() }
  writeFileSync(path, `${JSON.stringify({ ...about, ...result }, null, 2)}\n`)
  console.log(`Written to ${path}`)
}

/** The last one that changed the packages; with a plus where they have changes that are not committed. */
function currentCommit() {
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim()
  try {
    const isClean = git("status", "--porcelain", "--", "packages") === ""
    return `${git("log", "-1", "--format=%h", "--", "packages")}${isClean ? "" : "+"}`
  } catch {
    // Not in a repository.
    return undefined
  }
}
