/**
 * A text file, read within limits.
 *
 * R1 Only a regular file is read: a FIFO, a device, a socket or a folder is refused, and never waited for.
 * R2 No more than `maxBytes` are read, whatever size the file system states: files below /proc state none.
 * R3 With `folder`, the file is inside of it after symbolic links are resolved.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs"
import { resolve } from "node:path"
import { SuperstepError } from "../core/index.ts"
import { insideFolder } from "./inside-folder.ts"

export interface ReadLimits {
  /** Default `MAX_FILE`. */
  readonly maxBytes?: number | undefined
  /** The file must be in here. */
  readonly folder?: string | undefined
  /** What a relative path starts from. Default: the working directory. */
  readonly cwd?: string | undefined
}

/** 1 MB: prompts, included definitions and the like are far smaller. */
const MAX_FILE = 1_000_000

const CHUNK = 65_536

/** Throws FILE_UNREADABLE, FILE_TOO_LARGE, FILE_NOT_REGULAR or FILE_OUTSIDE; `fileError` gives the reason alone. */
export function readTextFile(path: string, limits: ReadLimits = {}): string {
  try {
    return read(path, limits)
  } catch (error) {
    throw fileError(path, error)
  }
}

/** What is piped into this process; only a user names it, as definitions are held to their folder. */
const STDIN = "/dev/stdin"

function read(path: string, { maxBytes = MAX_FILE, folder, cwd = "" }: ReadLimits): string {
  if (path === STDIN && folder === undefined) return readUpTo(0, path, maxBytes)
  const real = folder === undefined ? resolve(cwd, path) : insideFolder(folder, resolve(cwd, path))
  if (real === undefined) throw outsideFolder(path)
  // Before it is opened, as opening a device can have effects; and after, as it may have been replaced.
  checkKind(path, statSync(real))
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants as Partial<typeof constants>
  const flags = (O_RDONLY ?? 0) | O_NONBLOCK | (folder === undefined ? 0 : O_NOFOLLOW)
  const file = openSync(real, flags)
  try {
    const stats = fstatSync(file)
    checkKind(path, stats)
    if (stats.size > maxBytes) throw tooLarge(path, maxBytes)
    return readUpTo(file, path, maxBytes)
  } finally {
    closeSync(file)
  }
}

function checkKind(path: string, stats: Stats): void {
  if (stats.isFile()) return
  const kind = stats.isDirectory()
    ? "it is a folder"
    : stats.isFIFO()
      ? "it is a FIFO, not a file"
      : stats.isSocket()
        ? "it is a socket, not a file"
        : "it is a device, not a file"
  throw refused("FILE_NOT_REGULAR", path, kind)
}

function readUpTo(file: number, path: string, maxBytes: number): string {
  const chunks: Buffer[] = []
  for (let size = 0; ; ) {
    const chunk = Buffer.allocUnsafe(CHUNK)
    const count = readSync(file, chunk)
    if (count === 0) return Buffer.concat(chunks).toString("utf8")
    size += count
    if (size > maxBytes) throw tooLarge(path, maxBytes)
    chunks.push(chunk.subarray(0, count))
  }
}

function tooLarge(path: string, maxBytes: number): SuperstepError {
  return refused("FILE_TOO_LARGE", path, `it is larger than ${maxBytes / 1_000_000} MB`)
}

/** For a file that a definition names, and that is not in the definition's folder. */
export function outsideFolder(path: string): SuperstepError {
  return refused(
    "FILE_OUTSIDE",
    path,
    "it is outside of the definition's folder; put it, or a copy of it, inside",
  )
}

function refused(code: string, path: string, reason: string): SuperstepError {
  return new SuperstepError(code, `Cannot read ${path}: ${reason}.`, { retryable: false })
}

/** What went wrong with a file, as an error with a code and a reason in words. */
export function fileError(path: string, error: unknown): SuperstepError {
  if (error instanceof SuperstepError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const reason =
    code === "ENOENT"
      ? "there is no such file"
      : code === "EISDIR"
        ? "it is a folder"
        : code === "EACCES"
          ? "you may not read it"
          : (message ?? String(error))
  return new SuperstepError("FILE_UNREADABLE", `Cannot read ${path}: ${reason}.`, {
    cause: error,
    retryable: false,
  })
}
