/** `--out FILE`. */
import { writeFileSync } from "node:fs"
import { usageError } from "./errors.ts"

export function writeFile(path: string, contents: string | Uint8Array): void {
  try {
    writeFileSync(path, contents)
  } catch (error) {
    throw usageError(`Cannot write ${path}: ${(error as Error).message}.`, error)
  }
}
