/** Whether a package can be loaded: from the folder that the command is called in, or beside the command. */
import { createRequire } from "node:module"
import { join } from "node:path"

/** Its version, or undefined where it is not there. */
export function installedVersion(name: string, cwd: string): string | undefined {
  for (const from of [join(cwd, "package.json"), import.meta.url]) {
    const version = versionFrom(createRequire(from), name)
    if (version !== undefined) return version
  }
  return undefined
}

function versionFrom(require: NodeJS.Require, name: string): string | undefined {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      // Some packages do not export their package.json: it is read as the file it is.
      const { version } = require(join(folder, name, "package.json")) as { version?: unknown }
      if (typeof version === "string") return version
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}
