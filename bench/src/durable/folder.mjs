// Folders for database files.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { dataFolder } from "../environment.mjs"

export function makeFolder() {
  mkdirSync(dataFolder, { recursive: true })
  return mkdtempSync(join(dataFolder, "run-"))
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true })
}

/** What is left by processes that were stopped. */
export function removeAllFolders() {
  removeFolder(dataFolder)
}

/** Without what SQLite shares between open connections: that is memory, and its file goes with the last process. */
export function folderBytes(folder) {
  const names = readdirSync(folder).filter((name) => !name.endsWith("-shm"))
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}
