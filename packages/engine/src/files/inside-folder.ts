/** Whether a path stays inside a folder, as it is written and as the file system resolves it. */
import { lstatSync, readlinkSync, realpathSync } from "node:fs"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"

/**
 * The real path of a file that a definition names, or undefined where it is outside of the folder: by `..`, by an
 * absolute path, or by a symbolic link. A file that does not exist yet is where its nearest existing folder is.
 */
export function insideFolder(folder: string, path: string): string | undefined {
  const root = resolve(folder)
  const wanted = resolve(root, path)
  const real = realPath(wanted)
  // As written, in the folder as written; or, for those who name it by its real path, in the real one.
  const realRoot = realPath(root)
  if (!isWithin(root, wanted) && !isWithin(realRoot, wanted)) return undefined
  return isWithin(realRoot, real) ? real : undefined
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === "" || (way !== ".." && !way.startsWith("../") && !way.startsWith("..\\") && !isAbsolute(way))
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isMissing(error)) throw error
    // A link to a file that does not exist yet: whoever writes to it writes there.
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

function isMissing(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return code === "ENOENT" || code === "ENOTDIR"
}
