/** Reads, edits and replaces one regular file inside a confined root. */
import { randomUUID } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, mkdir, open, rename, rm } from "node:fs/promises"
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { cutText } from "../../text/index.ts"
import { type ConfinedRoot, type EnteredDirectory, fileError, type LocatedPath } from "./confined-root.ts"

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NONBLOCK } = constants
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0
const CHUNK = 65_536

export async function readBytes(root: ConfinedRoot, target: LocatedPath, maxBytes: number): Promise<Buffer> {
  const { name, parents } = fileName(target)
  const directory = await root.enter(parents)
  try {
    return await readIn(directory, name, target.path, maxBytes)
  } finally {
    await directory.close()
  }
}

/** The whole file, if it is a regular one and not too large. */
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
    // The bytes that are read count, not the reported size: a file may grow meanwhile, and some files report 0.
    const chunks: Buffer[] = []
    let total = 0
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, null)
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
  const explain = (error: unknown) => Promise.reject(fileError(error, shown))
  // Checked before it is opened, because not every system can refuse links, and after, because it may have been replaced.
  const before = await lstat(path).catch(explain)
  if (!before.isFile()) throw notFile(shown)
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(explain)
  const after = await handle.stat()
  if (after.isFile() && after.ino === before.ino && after.dev === before.dev) return handle
  await handle.close()
  throw notFile(shown)
}

/**
 * Creates or replaces a file atomically: readers see the old content or the new, never a mixture. Creates missing
 * directories.
 */
export async function writeBytes(
  root: ConfinedRoot,
  target: LocatedPath,
  bytes: Buffer,
): Promise<"created" | "replaced"> {
  const { name, parents } = fileName(target)
  const directory = await makeAndEnter(root, parents)
  const temporary = directory.at(`.${randomUUID()}.tmp`)
  try {
    const old = await lstat(directory.at(name)).catch(() => undefined)
    if (old !== undefined && !old.isFile()) throw notFile(target.path)
    await writeNew(temporary, bytes, old)
    await rename(temporary, directory.at(name))
    return old === undefined ? "created" : "replaced"
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw fileError(error, target.path)
  } finally {
    await directory.close()
  }
}

async function writeNew(path: string, bytes: Buffer, old: Stats | undefined): Promise<void> {
  // A file that only its owner can read stays private while it is written.
  const mode = old === undefined ? 0o666 : 0o600
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    await handle.writeFile(bytes)
    if (old !== undefined) await handle.chmod(old.mode & 0o777)
  } finally {
    await handle.close()
  }
}

/** Creates a directory, and those above it that are missing. */
export async function makeDirectory(root: ConfinedRoot, { parts }: LocatedPath): Promise<void> {
  const directory = await makeAndEnter(root, parts)
  await directory.close()
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

function fileName({ path, parts }: LocatedPath): {
  readonly name: string
  readonly parents: readonly string[]
} {
  const name = parts.at(-1)
  if (name === undefined) throw notFile(path)
  return { name, parents: parts.slice(0, -1) }
}

function notFile(path: string): SuperstepError {
  return terminalError("NOT_A_FILE", `"${path || "."}" is not a regular file.`)
}

function tooLarge(path: string, size: number, limit: number): SuperstepError {
  return terminalError("FILE_TOO_LARGE", `"${path}" is ${size} bytes or larger; the limit is ${limit}.`)
}

// Files as text: decoding, reading by lines, and exact replacements.

/** The text of a file, or an error if it is not UTF-8: editing anything else would corrupt it. */
export function decodeText(bytes: Buffer, path: string): string {
  if (bytes.subarray(0, 8_192).includes(0)) throw binary(path, bytes.length)
  try {
    // Keeps the byte order mark, so that an edit preserves it.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw binary(path, bytes.length)
  }
}

function binary(path: string, bytes: number): SuperstepError {
  return terminalError("NOT_TEXT", `"${path}" is not UTF-8 text (${bytes} bytes).`)
}

export interface TextPart {
  readonly text: string
  /** 1 for the first line. */
  readonly from: number
  readonly to: number
  readonly lines: number
  /** Set if there is more: how to read the rest. */
  readonly note?: string
}

/** As many whole lines as `maxChars` allows, starting at line `from`. A single line that is longer is cut. */
export function linesOf(text: string, from: number, count: number, maxChars: number): TextPart {
  const lines = text.split("\n")
  if (lines.at(-1) === "" && lines.length > 1) lines.pop()
  const start = Math.min(from, lines.length)
  let to = start - 1
  let length = 0
  while (to < lines.length && to - start + 1 < count) {
    const next = (lines[to]?.length ?? 0) + 1
    if (length + next > maxChars && to >= start) break
    length += next
    to++
  }
  const shown = lines.slice(start - 1, to).join("\n")
  const notes: string[] = []
  if (shown.length > maxChars) notes.push(`Line ${start} is cut after ${maxChars} characters.`)
  if (to < lines.length) {
    notes.push(`Lines ${start} to ${to} of ${lines.length}; continue with from_line ${to + 1}.`)
  }
  const note = notes.length > 0 && { note: notes.join(" ") }
  return { text: cutText(shown, maxChars), from: start, to, lines: lines.length, ...note }
}

export interface Edit {
  readonly old_text: string
  readonly new_text: string
  /** Without it, the old text must occur exactly once. */
  readonly replace_all?: boolean | undefined
}

/** Applies all edits, one after the other, or throws and applies none. */
export function editText(text: string, edits: readonly Edit[], path: string): string {
  return edits.reduce((edited, edit, index) => applyEdit(edited, edit, `${path}, edit ${index + 1}`), text)
}

function applyEdit(text: string, edit: Edit, where: string): string {
  const { old_text, new_text } = withLineEnds(text, edit)
  if (old_text === "") {
    throw terminalError("EDIT_INVALID", `${where}: old_text is empty. Write the whole file instead.`)
  }
  const pieces = text.split(old_text)
  if (pieces.length === 1) {
    const problem = "old_text is not in the file. It must match exactly; read the file again."
    throw terminalError("EDIT_NOT_FOUND", `${where}: ${problem}`)
  }
  if (pieces.length > 2 && edit.replace_all !== true) {
    const problem = `old_text is in the file ${pieces.length - 1} times. Include more of the text around it, or set replace_all.`
    throw terminalError("EDIT_AMBIGUOUS", `${where}: ${problem}`)
  }
  return pieces.join(new_text)
}

/** Models write \n; a file with \r\n keeps it. */
function withLineEnds(text: string, edit: Edit): Edit {
  if (!text.includes("\r\n") || text.includes(edit.old_text)) return edit
  const ends = (piece: string) => piece.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n")
  return { ...edit, old_text: ends(edit.old_text), new_text: ends(edit.new_text) }
}
