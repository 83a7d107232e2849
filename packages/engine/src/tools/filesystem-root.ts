/**
 * A directory that nothing gets out of. Every use of a path goes in two stages: `locate` says which real place
 * inside the root is meant, `enter` goes there one directory at a time, following no link on the way.
 *
 * 1. A place outside of the root is never opened, listed, made or replaced, whatever a path or a link says.
 * 2. A link that leads to a place inside is followed by `locate`; one that leads out, or nowhere, is refused.
 * 3. What is swapped for a link after `locate` is refused by `enter`; what is swapped after `enter` does not
 *    matter where directories are held open (Linux), because names are looked up in the held directory.
 * 4. Only regular files are read and written: no devices, pipes or sockets.
 *
 * Left out: two names of one file (hard links) cannot be told apart. Reading through one reads the file;
 * writing replaces the name and leaves the other file as it was.
 */
import { constants, existsSync } from "node:fs"
import { type FileHandle, lstat, open, realpath } from "node:fs/promises"
import { isAbsolute, join, relative, resolve, sep } from "node:path"
import { SuperstepError } from "../core/index.ts"
import { fileError } from "./filesystem-errors.ts"
import { namesGlob } from "./path-glob.ts"

export interface RootOptions {
  /** Globs of what is as good as not there, with all that is in it; one without `/` is one of names anywhere. */
  readonly deny: readonly string[]
  /** Directories are held open and names are looked up in them. Default: where the system can. */
  readonly held?: boolean | undefined
}

/** A real place inside the root: no part of it was a link when it was located. */
export interface Place {
  /** Relative to the root, with `/`; empty for the root itself. */
  readonly path: string
  readonly parts: readonly string[]
}

/** A directory that was entered. `at` names something in it for the file system. */
export interface EnteredDirectory {
  readonly path: string
  at(name: string): string
  readonly self: string
  enter(name: string): Promise<EnteredDirectory>
  close(): Promise<void>
}

export interface ConfinedRoot {
  locate(path: string): Promise<Place>
  enter(parts: readonly string[]): Promise<EnteredDirectory>
  /** Whether a path, relative to the root, is denied. */
  denied(path: string): boolean
  /** The real directory. */
  directory(): Promise<string>
}

const { O_RDONLY, O_NONBLOCK } = constants
/** Not there on Windows; `lstat` has to do. */
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
      throw new SuperstepError(
        "ROOT_MISSING",
        "The root of the filesystem tools is not there: make the directory, or name another root.",
        { cause, retryable: false },
      )
    }
  }

  return {
    denied,
    directory,

    async locate(path) {
      const base = await directory()
      const wanted = lexical(path, asked, base)
      const real = await realPlace(base, wanted, path)
      const place = real.join("/")
      if (denied(place) || denied(wanted.join("/"))) {
        throw new SuperstepError("PATH_DENIED", `"${path}" may not be used: it is on the deny list.`, {
          retryable: false,
        })
      }
      return { path: place, parts: real }
    },

    async enter(parts) {
      let entered = await enterRoot(await directory(), held)
      for (const part of parts) {
        const parent = entered
        entered = await parent.enter(part).finally(() => parent.close())
      }
      return entered
    },
  }
}

/** A path and all directories on the way to it: what is in a denied one is denied. */
function upTo(path: string): readonly string[] {
  const parts = path.split("/")
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"))
}

/** The parts of a path by its text alone. */
function lexical(path: string, asked: string, base: string): readonly string[] {
  if (path.includes("\0") || path.length > MAX_PATH) throw outside(path.slice(0, 100).replaceAll("\0", "\\0"))
  const under = isAbsolute(path) && isInside(base, resolve(path)) ? base : asked
  const inside = relative(under, resolve(under, path))
  if (!isInside(under, resolve(under, path))) throw outside(path)
  const parts = inside.split(sep).filter((part) => part !== "")
  // On Windows a colon names another stream of a file, or a drive.
  if (process.platform === "win32" && parts.some((part) => part.includes(":"))) throw outside(path)
  return parts
}

/** Where the path leads when links are followed. The parts that are not there yet stay as they are. */
async function realPlace(base: string, wanted: readonly string[], shown: string): Promise<readonly string[]> {
  for (let known = wanted.length; ; known--) {
    const real = await realpath(join(base, ...wanted.slice(0, known))).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" && known > 0) return undefined
        throw fileError(error, shown)
      },
    )
    if (real === undefined) {
      // A link that leads nowhere is there, and would be followed by whoever makes the file.
      if (await isThere(join(base, ...wanted.slice(0, known)), shown)) throw outside(shown)
      continue
    }
    if (!isInside(base, real)) throw outside(shown)
    const parts = relative(base, real)
      .split(sep)
      .filter((part) => part !== "")
    return [...parts, ...wanted.slice(known)]
  }
}

async function isThere(path: string, shown: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false
    throw fileError(error, shown)
  }
}

async function enterRoot(directory: string, held: boolean): Promise<EnteredDirectory> {
  return enterAt(directory, directory, "", held)
}

/** `name` is where it is looked up, `real` what it is called where directories are not held open. */
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
    at: (child) => join(self, onePart(child)),
    enter: (child) =>
      enterAt(join(self, onePart(child)), join(real, child), path === "" ? child : `${path}/${child}`, held),
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

function onePart(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes(sep)) {
    throw outside(name)
  }
  return name
}

function isInside(base: string, path: string): boolean {
  const way = relative(base, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

function outside(path: string): SuperstepError {
  return new SuperstepError(
    "PATH_OUTSIDE_ROOT",
    `"${path}" is outside of the root, or a link that leads out of it. Use a path relative to the root.`,
    { retryable: false },
  )
}

function notDirectory(path: string): SuperstepError {
  return new SuperstepError("NOT_A_DIRECTORY", `"${path === "" ? "." : path}" is not a directory.`, {
    retryable: false,
  })
}
