// Folders for database files: on the disk that this package is on, as /tmp is memory on many machines.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const data = fileURLToPath(new URL("../../.data/", import.meta.url))

export function makeFolder() {
  mkdirSync(data, { recursive: true })
  return mkdtempSync(join(data, "run-"))
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true })
}

/** What is left by processes that were stopped. */
export function removeAllFolders() {
  removeFolder(data)
}

export function folderBytes(folder) {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}
