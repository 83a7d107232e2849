/**
 * A directory that no path can escape. Every use of a path has two stages: `locate` resolves it to a real location inside
 * the root, `enter` walks there one directory at a time and follows no link on the way.
 *
 * 1. Nothing outside the root is ever opened, listed, created or replaced, whatever the path or link.
 * 2. `locate` follows a link to a location inside the root, and refuses one that leads out or nowhere.
 * 3. `enter` refuses anything that was replaced by a link after `locate`. A replacement after `enter` has no effect on
 *    systems where directories are held open (Linux), because names are resolved in the open directory.
 * 4. Only regular files are read and written: no devices, pipes or sockets.
 *
 * Not covered: two names of one file (hard links) cannot be distinguished. Reading through one reads the file; writing
 * replaces the name and leaves the other file as it was.
 */
import { constants, existsSync } from "node:fs"
import { type FileHandle, lstat, open, realpath } from "node:fs/promises"
import { isAbsolute, join, relative, resolve, sep } from "node:path"
import { isSuperstepError, type SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { isWithin } from "../../files/index.ts"
import { clipped } from "../../text/index.ts"
import { namesGlob } from "../glob.ts"

export interface RootOptions {
  /** Globs of paths that are treated as absent, with everything below them. A glob without `/` matches names anywhere. */
  readonly deny: readonly string[]
  /** Whether directories are held open and names are resolved in them. Default: if the system supports it. */
  readonly held?: boolean | undefined
}

/** A real location inside the root: no part of it was a link when it was located. */
export interface LocatedPath {
  /** Relative to the root, with `/`; empty for the root itself. */
  readonly path: string
  readonly parts: readonly string[]
}

/** A directory that was entered. `at` returns the path of an entry for the file system. */
export interface EnteredDirectory {
  readonly path: string
  at(name: string): string
  readonly self: string
  enter(name: string): Promise<EnteredDirectory>
  close(): Promise<void>
}

export interface ConfinedRoot {
  locate(path: string): Promise<LocatedPath>
  enter(parts: readonly string[]): Promise<EnteredDirectory>
  /** Whether a path, relative to the root, is denied. */
  denied(path: string): boolean
  /** The real directory. */
  directory(): Promise<string>
}

const { O_RDONLY, O_NONBLOCK } = constants
/** Windows does not have these flags; `lstat` is used instead. */
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0
const O_DIRECTORY = constants.O_DIRECTORY ?? 0
const MAX_PATH = 4_096

export function confinedRoot(root: string, options: RootOptions): ConfinedRoot {
  const held = options.held ?? (process.platform === "linux" && existsSync("/proc/self/fd"))
  const asked = resolve(root)
  const patterns = options.deny.map((pattern) => namesGlob(pattern, { ignoreCase: true }))
  const denied = (path: string) => upTo(path).some((one) => patterns.some((matches) => matches(one)))

  const directory = async () => {
    try {
      return await realpath(asked)
    } catch (cause) {
      const text =
        "The root of the filesystem tools does not exist: create the directory, or choose another root."
      throw terminalError("ROOT_MISSING", text, cause)
    }
  }

  return {
    denied,
    directory,

    async locate(path) {
      const base = await directory()
      const wanted = lexical(path, asked, base)
      const parts = await realParts(base, wanted, path)
      const real = parts.join("/")
      if (!denied(real) && !denied(wanted.join("/"))) return { path: real, parts }
      throw terminalError("PATH_DENIED", `"${path}" is not allowed: it is on the deny list.`)
    },

    async enter(parts) {
      const base = await directory()
      let entered = await enterAt(base, base, "", held)
      for (const part of parts) {
        const parent = entered
        entered = await parent.enter(part).finally(() => parent.close())
      }
      return entered
    },
  }
}

/** A path and all its parent directories: everything in a denied directory is denied. */
function upTo(path: string): readonly string[] {
  const parts = path.split("/")
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"))
}

/** The parts of a path by its characters alone. */
function lexical(path: string, asked: string, base: string): readonly string[] {
  if (path.includes("\0") || path.length > MAX_PATH) throw outside(clipped(path, 100).replaceAll("\0", "\\0"))
  const under = isAbsolute(path) && isWithin(base, resolve(path)) ? base : asked
  const wanted = resolve(under, path)
  if (!isWithin(under, wanted)) throw outside(path)
  const parts = partsBelow(under, wanted)
  // On Windows a colon names another stream of a file, or a drive.
  if (process.platform === "win32" && parts.some((part) => part.includes(":"))) throw outside(path)
  return parts
}

function partsBelow(base: string, path: string): readonly string[] {
  return relative(base, path)
    .split(sep)
    .filter((part) => part !== "")
}

/** Resolves links. Parts that do not exist yet stay unchanged. */
async function realParts(base: string, wanted: readonly string[], shown: string): Promise<readonly string[]> {
  for (let known = wanted.length; ; known--) {
    const path = join(base, ...wanted.slice(0, known))
    const real = await ifPresent(realpath(path), shown)
    if (real !== undefined) {
      if (!isWithin(base, real)) throw outside(shown)
      return [...partsBelow(base, real), ...wanted.slice(known)]
    }
    if (known === 0) throw fileError({ code: "ENOENT" }, shown)
    // A dangling link exists, and creating the file would follow it.
    if ((await ifPresent(lstat(path), shown)) !== undefined) throw outside(shown)
  }
}

/** Undefined if there is nothing at the path. */
async function ifPresent<T>(found: Promise<T>, shown: string): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw fileError(error, shown)
  }
}

/** `name` is the path to open, `real` the path if directories are not held open. */
async function enterAt(name: string, real: string, path: string, held: boolean): Promise<EnteredDirectory> {
  const handle = held ? await openDirectory(name, path) : undefined
  if (handle === undefined) {
    const stats = await lstat(name).catch((error) => Promise.reject(fileError(error, path)))
    if (!stats.isDirectory()) throw notDirectory(path)
  }
  const self = handle === undefined ? real : `/proc/self/fd/${handle.fd}`
  return {
    path,
    self,
    at: (child) => join(self, checkedName(child)),
    enter: (child) =>
      enterAt(
        join(self, checkedName(child)),
        join(real, child),
        path === "" ? child : `${path}/${child}`,
        held,
      ),
    close: async () => handle?.close(),
  }
}

async function openDirectory(name: string, path: string): Promise<FileHandle> {
  try {
    return await open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ELOOP" || code === "ENOTDIR") throw notDirectory(path)
    throw fileError(error, path)
  }
}

function checkedName(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes(sep)) {
    throw outside(name)
  }
  return name
}

function outside(path: string): SuperstepError {
  const text = `"${path}" is outside the root, or a link that leads out of it. Use a path relative to the root.`
  return terminalError("PATH_OUTSIDE_ROOT", text)
}

function notDirectory(path: string): SuperstepError {
  return terminalError("NOT_A_DIRECTORY", `"${path || "."}" is not a directory.`)
}

const KNOWN: Readonly<Record<string, readonly [code: string, text: string]>> = {
  ENOENT: ["FILE_NOT_FOUND", "does not exist; list the directory to see what does"],
  ENOTDIR: ["NOT_A_DIRECTORY", "goes through something that is not a directory"],
  EISDIR: ["NOT_A_FILE", "is a directory"],
  ELOOP: ["PATH_OUTSIDE_ROOT", "is a link; links are not followed here"],
  EACCES: ["FILE_REFUSED", "is not accessible to this process"],
  EPERM: ["FILE_REFUSED", "is not accessible to this process"],
  EROFS: ["FILE_REFUSED", "is on a read-only disk"],
  ENAMETOOLONG: ["PATH_OUTSIDE_ROOT", "is too long for a path"],
  ENXIO: ["NOT_A_FILE", "is not a regular file"],
  ENOTEMPTY: ["NOT_A_FILE", "is a directory that is not empty"],
}

/** Describes a file system error for a model, without revealing where the root is. */
export function fileError(error: unknown, path: string): SuperstepError {
  if (isSuperstepError(error)) return error
  const code = (error as Partial<NodeJS.ErrnoException>).code ?? "unknown error"
  const [ours, text] = KNOWN[code] ?? ["FILE_FAILED", `could not be accessed (${code})`]
  // The system's own message contains the real path, so it is not kept as the cause.
  return terminalError(ours, `"${path || "."}" ${text}.`)
}
