/** Reading and replacing one regular file inside a confined root. */
import { randomUUID } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, mkdir, open, rename, rm } from "node:fs/promises"
import { SuperstepError } from "../core/index.ts"
import { fileError } from "./filesystem-errors.ts"
import type { ConfinedRoot, EnteredDirectory, Place } from "./filesystem-root.ts"

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NONBLOCK } = constants
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0

export async function readBytes(root: ConfinedRoot, place: Place, maxBytes: number): Promise<Buffer> {
  const { name, parents } = fileName(place)
  const directory = await root.enter(parents)
  try {
    return await readIn(directory, name, place.path, maxBytes)
  } finally {
    await directory.close()
  }
}

/** The whole file, when it is a regular one and not too large. */
export async function readIn(
  directory: EnteredDirectory,
  name: string,
  shown: string,
  maxBytes: number,
): Promise<Buffer> {
  const handle = await openRegular(directory.at(name), shown)
  try {
    const { size } = await handle.stat()
    if (size > maxBytes) throw tooLarge(shown, size, maxBytes)
    // A file may grow while it is read, and some say 0 and have more: what counts is what is read.
    const chunks: Buffer[] = []
    let total = 0
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(65_536), 0, 65_536, null)
      if (bytesRead === 0) return Buffer.concat(chunks)
      total += bytesRead
      if (total > maxBytes) throw tooLarge(shown, total, maxBytes)
      chunks.push(buffer.subarray(0, bytesRead))
    }
  } catch (error) {
    throw fileError(error, shown)
  } finally {
    await handle.close()
  }
}

async function openRegular(path: string, shown: string): Promise<FileHandle> {
  // Looked at before it is opened where the system cannot say "no links", and after, because it may be swapped.
  const before = await lstat(path).catch((error) => Promise.reject(fileError(error, shown)))
  if (!before.isFile()) throw notFile(shown)
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error) =>
    Promise.reject(fileError(error, shown)),
  )
  const after = await handle.stat()
  if (after.isFile() && sameFile(before, after)) return handle
  await handle.close()
  throw notFile(shown)
}

/**
 * Replaces or makes a file in one go: others see the old text or the new, never half of it. Directories on the
 * way are made.
 */
export async function writeBytes(
  root: ConfinedRoot,
  place: Place,
  bytes: Buffer,
): Promise<"created" | "replaced"> {
  const { name, parents } = fileName(place)
  const directory = await makeAndEnter(root, parents)
  const temporary = directory.at(`.${randomUUID()}.tmp`)
  try {
    const old = await lstat(directory.at(name)).catch(() => undefined)
    if (old !== undefined && !old.isFile()) throw notFile(place.path)
    await writeNew(temporary, bytes, old)
    await rename(temporary, directory.at(name))
    return old === undefined ? "created" : "replaced"
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw fileError(error, place.path)
  } finally {
    await directory.close()
  }
}

async function writeNew(path: string, bytes: Buffer, old: Stats | undefined): Promise<void> {
  // What nobody else could read before, nobody else can read while it is written.
  const mode = old === undefined ? 0o666 : 0o600
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    await handle.writeFile(bytes)
    if (old !== undefined) await handle.chmod(old.mode & 0o777)
  } finally {
    await handle.close()
  }
}

async function makeAndEnter(root: ConfinedRoot, parts: readonly string[]): Promise<EnteredDirectory> {
  let entered = await root.enter([])
  for (const part of parts) {
    const parent = entered
    try {
      await mkdir(parent.at(part)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw fileError(error, parts.join("/"))
      })
      entered = await parent.enter(part)
    } finally {
      await parent.close()
    }
  }
  return entered
}

function fileName(place: Place): { readonly name: string; readonly parents: readonly string[] } {
  const name = place.parts.at(-1)
  if (name === undefined) throw notFile(place.path)
  return { name, parents: place.parts.slice(0, -1) }
}

function sameFile(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

function notFile(path: string): SuperstepError {
  return new SuperstepError("NOT_A_FILE", `"${path === "" ? "." : path}" is not a regular file.`, {
    retryable: false,
  })
}

function tooLarge(path: string, size: number, limit: number): SuperstepError {
  return new SuperstepError("FILE_TOO_LARGE", `"${path}" has ${size} bytes or more; the limit is ${limit}.`, {
    retryable: false,
  })
}
