/**
 * Files with what users and models said are for their owner alone (0600), whatever the umask. One that others can read is
 * tightened, with a warning of the process. Windows has no such modes.
 */
import { chmodSync, statSync } from "node:fs"

export const PRIVATE_FILE = 0o600
export const PRIVATE_FOLDER = 0o700

const OTHERS = 0o077

export function tightenFile(path: string): void {
  if (process.platform === "win32") return
  const mode = statSync(path).mode & 0o777
  if ((mode & OTHERS) === 0) return
  try {
    chmodSync(path, PRIVATE_FILE)
  } catch {
    return warn(
      `${path} can be read by others, and only its owner can change that: its mode is ${octal(mode)}.`,
    )
  }
  warn(`${path} could be read by others: its mode was ${octal(mode)}, and is ${octal(PRIVATE_FILE)} now.`)
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0")
}

function warn(message: string): void {
  process.emitWarning(message, { type: "SuperstepWarning", code: "FILE_PERMISSIONS" })
}
