/**
 * Reads text from a file within limits.
 *
 * R1 Only a regular file is read: a FIFO, a device, a socket or a folder is rejected, and never waited for.
 * R2 No more than `maxBytes` are read, whatever size the file system reports: files below /proc report none.
 * R3 With `folder`, the file is inside it after symbolic links are resolved.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs"
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { isSuperstepError, type SuperstepError } from "../core/index.ts"
import { terminalError } from "../core/internal.ts"

export interface ReadLimits {
  /** Default `MAX_FILE`. */
  readonly maxBytes?: number | undefined
  /** The folder that the file must be in. */
  readonly folder?: string | undefined
  /** What a relative path starts from. Default: the working directory. */
  readonly cwd?: string | undefined
}

/** 1 MB: prompts, included definitions and the like are far smaller. */
const MAX_FILE = 1_000_000
const CHUNK = 65_536

/** Standard input of this process. Only users name it: definitions are confined to their folder. */
const STDIN = "/dev/stdin"

/** Throws FILE_UNREADABLE, FILE_TOO_LARGE, FILE_NOT_REGULAR or FILE_OUTSIDE. */
export function readTextFile(path: string, limits: ReadLimits = {}): string {
  try {
    return read(path, limits)
  } catch (error) {
    throw fileError(path, error)
  }
}

function read(path: string, { maxBytes = MAX_FILE, folder, cwd = "" }: ReadLimits): string {
  if (path === STDIN && folder === undefined) return readUpTo(0, path, maxBytes)
  const real = folder === undefined ? resolve(cwd, path) : insideFolder(folder, resolve(cwd, path))
  if (real === undefined) throw outsideFolder(path)
  // Checked before it is opened, as opening a device can have effects, and after, as it may have been replaced.
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
  if (stats.isDirectory()) throw refused("FILE_NOT_REGULAR", path, "it is a folder")
  const kind = stats.isFIFO() ? "FIFO" : stats.isSocket() ? "socket" : "device"
  throw refused("FILE_NOT_REGULAR", path, `it is a ${kind}, not a file`)
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

/**
 * The real path of a file that a definition names, or undefined if it is outside of the folder: by `..`, by an absolute
 * path, or by a symbolic link. A file that does not exist yet is where its nearest existing folder is.
 */
export function insideFolder(folder: string, path: string): string | undefined {
  const root = resolve(folder)
  const wanted = resolve(root, path)
  const real = realPath(wanted)
  // The path may be written below the folder as it is written, or below its real path.
  const realRoot = realPath(root)
  if (!isWithin(root, wanted) && !isWithin(realRoot, wanted)) return undefined
  return isWithin(realRoot, real) ? real : undefined
}

/** Whether an absolute path is the folder or below it, by its characters alone: links are not resolved. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error
    // Writing through a dangling link creates the file at its target.
    if (isLink(path)) return realPath(resolve(dirname(path), readlinkSync(path)))
    const above = dirname(path)
    return above === path ? path : join(realPath(above), relative(above, path))
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

function tooLarge(path: string, maxBytes: number): SuperstepError {
  return refused("FILE_TOO_LARGE", path, `it is larger than ${maxBytes / 1_000_000} MB`)
}

/** For a file that a definition names and that is not in the definition's folder. */
export function outsideFolder(path: string): SuperstepError {
  const reason = "it is outside of the definition's folder; put it, or a copy of it, inside"
  return refused("FILE_OUTSIDE", path, reason)
}

/** An error of the file system with a code and a readable reason. */
export function fileError(path: string, error: unknown): SuperstepError {
  if (isSuperstepError(error)) return error
  const { code = "", message } = error as NodeJS.ErrnoException
  return refused("FILE_UNREADABLE", path, REASONS[code] ?? message ?? String(error), error)
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
}

function refused(code: string, path: string, reason: string, cause?: unknown): SuperstepError {
  return terminalError(code, `Cannot read ${path}: ${reason}.`, cause)
}
