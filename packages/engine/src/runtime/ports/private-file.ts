/**
 * Files with conversations are readable by their owner only (0600), whatever the umask. The mode of a file that others can
 * read is tightened, with a process warning. Windows has no such modes.
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
      `${path} can be read by other users (mode ${octal(mode)}), and only its owner can change that.`,
    )
  }
  warn(
    `${path} could be read by other users: changed its mode from ${octal(mode)} to ${octal(PRIVATE_FILE)}.`,
  )
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0")
}

function warn(message: string): void {
  process.emitWarning(message, { type: "SuperstepWarning", code: "FILE_PERMISSIONS" })
}
