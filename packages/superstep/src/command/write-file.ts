/** `--out FILE`. */
import { writeFileSync } from "node:fs"
import { usageError } from "./usage-error.ts"

export function writeFile(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (error) {
    throw usageError(`Cannot write ${path}: ${(error as Error).message}.`, error)
  }
}
