/**
 * Files with the data of users and models are for their owner alone, whatever the umask: 0600, and 0700 for `.superstep`
 * and for folders that are created for them. Looser ones are tightened, with a notice. SQLite gives its log and its shared
 * memory the mode of the file.
 *
 * Links of other users are refused: they could lead what is written to a place where others read it. Windows has no such
 * modes, and inherits its permissions from the folder.
 */
import { closeSync, fchmodSync, lstatSync, mkdirSync, openSync, type Stats, statSync } from "node:fs"
import { basename } from "node:path"
import { type OnTightened, PRIVATE_FILE, PRIVATE_FOLDER, tightenFile } from "@superstep/engine/stores"
import { unusable } from "./errors.ts"

const FOLDER = ".superstep"
const ROOT = 0

const hasModes = process.platform !== "win32"

/** Creates the folder of a file if it is missing. Throws what `mkdir` throws, and STORE_UNUSABLE for another user's link. */
export function privateFolder(folder: string, onTightened: OnTightened): void {
  refuseForeignLink(folder)
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER })
  if (basename(folder) === FOLDER) tightenFile(folder, PRIVATE_FOLDER, onTightened)
}

/** Creates an empty file for SQLite to fill if it is missing. */
export function privateDatabase(path: string): void {
  for (const file of filesOf(path)) refuseForeignLink(file)
  if (hasModes && statSync(path, { throwIfNoEntry: false }) === undefined) makeEmpty(path)
}

/** Of a file that is known to be ours. One notice for it and what belongs to it. */
export function tightenDatabase(path: string, onTightened: OnTightened): void {
  const messages: string[] = []
  for (const file of filesOf(path)) tightenFile(file, PRIVATE_FILE, (message) => messages.push(message))
  const [first] = messages
  if (first !== undefined) onTightened(first)
}

function filesOf(path: string): readonly string[] {
  return [path, `${path}-wal`, `${path}-shm`]
}

/** Only a file that nobody has open: closing it would take the locks away that this process has on it. */
function makeEmpty(path: string): void {
  let file: number
  try {
    file = openSync(path, "wx", PRIVATE_FILE)
  } catch {
    // Another process was first, or SQLite says what is in the way.
    return
  }
  // The umask took nothing that is needed.
  fchmodSync(file, PRIVATE_FILE)
  closeSync(file)
}

function refuseForeignLink(path: string): void {
  if (!hasModes) return
  const link = lstatSync(path, { throwIfNoEntry: false })
  if (link?.isSymbolicLink() !== true) return
  const target = statSync(path, { throwIfNoEntry: false })
  const foreign = [link, target].find((one) => one !== undefined && !isTrusted(one))
  if (foreign === undefined) return
  throw unusable(
    path,
    `is a symbolic link that is owned by, or points to a file owned by, another user (uid ${foreign.uid}): remove it, or choose another path`,
  )
}

/** Root could do anything anyway. */
function isTrusted({ uid }: Stats): boolean {
  return uid === ROOT || uid === process.geteuid?.()
}
