/**
 * Files with conversations are readable by their owner only (0600), whatever the umask. A looser mode is tightened, with a
 * notice. Windows has no such modes.
 */
import { chmodSync, statSync } from "node:fs"

export const PRIVATE_FILE = 0o600
export const PRIVATE_FOLDER = 0o700

const OTHERS = 0o077

/** Called with one line for a file or folder whose mode was changed, or could not be. */
export type OnTightened = (message: string) => void

/** A missing file is left alone. By default the notice is a process warning. */
export function tightenFile(
  path: string,
  mode: number = PRIVATE_FILE,
  onTightened: OnTightened = warn,
): void {
  if (process.platform === "win32") return
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || (found.mode & OTHERS) === 0) return
  const was = octal(found.mode & 0o777)
  try {
    chmodSync(path, mode)
  } catch {
    return onTightened(
      `${path} is readable by other users: its mode is ${was}, and only its owner can change it to ${octal(mode)}.`,
    )
  }
  onTightened(`${path} was readable by other users: its mode was ${was} and is now ${octal(mode)}.`)
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0")
}

function warn(message: string): void {
  process.emitWarning(message, { type: "SuperstepWarning", code: "FILE_PERMISSIONS" })
}
