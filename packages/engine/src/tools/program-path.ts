/** Where the programs that an agent starts are looked for. */
import { delimiter, isAbsolute, relative, resolve } from "node:path"

/**
 * A PATH without relative entries and without directories that the agent may write to: a program that it wrote
 * itself must not be taken for one of the system's.
 */
export function programPath(path: string, writable: readonly string[]): string {
  const isWritable = (entry: string) =>
    writable.some((directory) => {
      const way = relative(resolve(directory), entry)
      return way === "" || (!way.startsWith("..") && !isAbsolute(way))
    })
  return path
    .split(delimiter)
    .filter((entry) => isAbsolute(entry) && !isWritable(resolve(entry)))
    .join(delimiter)
}
