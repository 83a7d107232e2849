/**
 * Small JSON cache files. Only their owner can read them, and they are replaced atomically. A file that is damaged, has
 * another version, or was written for another purpose counts as missing. A failed write never fails its caller.
 */
import { createHash, randomUUID } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

const MAX_BYTES = 64_000_000

/** Creates a folder for Superstep's own files, without access for other users and excluded from version control. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" })
  } catch {
    // It exists already, or the next write reports the problem.
  }
}

/** A short name for values that are too long to be one. */
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

/** If two processes write the same file, one version remains, and it is complete. */
export async function writeCache(path: string, data: unknown): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  makePrivateFolder(dirname(path))
  try {
    await writeFile(temporary, JSON.stringify(data), { mode: 0o600, flag: "wx" })
    await rename(temporary, path)
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}
