/** What the file system says, in words that help a model and that do not tell where the root is. */
import { isSuperstepError, SuperstepError } from "../core/index.ts"

const KNOWN: Readonly<Record<string, readonly [code: string, text: string]>> = {
  ENOENT: ["FILE_NOT_FOUND", "is not there; list the directory to see what is"],
  ENOTDIR: ["NOT_A_DIRECTORY", "goes through something that is not a directory"],
  EISDIR: ["NOT_A_FILE", "is a directory"],
  ELOOP: ["PATH_OUTSIDE_ROOT", "is a link; links are not followed here"],
  EACCES: ["FILE_REFUSED", "may not be used by this process"],
  EPERM: ["FILE_REFUSED", "may not be used by this process"],
  EROFS: ["FILE_REFUSED", "is on a read-only disk"],
  ENAMETOOLONG: ["PATH_OUTSIDE_ROOT", "is too long for a path"],
  ENXIO: ["NOT_A_FILE", "is not a regular file"],
  ENOTEMPTY: ["NOT_A_FILE", "is a directory that is not empty"],
}

export function fileError(error: unknown, path: string): SuperstepError {
  if (isSuperstepError(error)) return error
  const code = (error as Partial<NodeJS.ErrnoException>).code ?? "unknown error"
  const [ours, text] = KNOWN[code] ?? ["FILE_FAILED", `could not be used (${code})`]
  // The system's own message has the real path in it, so it is not kept as the cause.
  return new SuperstepError(ours, `"${path === "" ? "." : path}" ${text}.`, { retryable: false })
}
