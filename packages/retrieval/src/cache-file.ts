/**
 * Small JSON files that can be made again: for their owner alone, replaced as a whole, and read as absent when they are
 * damaged, of another version, or written for something else. Writing one never fails what it is written for.
 */
import { createHash, randomUUID } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

const MAX_BYTES = 64_000_000

/** A folder for what Superstep keeps: not for other users, and not under version control. */
export function makeOwnFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It is there, or what is written into it says what is in the way.
  }
}

/** A short name for what is too long for one. */
export function digestOf(...parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)
}

export async function readCache(path: string): Promise<unknown> {
  try {
    const text = await readFile(path, "utf8")
    return text.length > MAX_BYTES ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Two processes that write the same file leave one of the two, and never half of one. */
export async function writeCache(path: string, data: unknown): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  makeOwnFolder(dirname(path))
  try {
    await writeFile(temporary, JSON.stringify(data), { mode: 0o600, flag: "wx" })
    await rename(temporary, path)
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}
