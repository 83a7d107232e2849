/** The document indexes that `superstep serve` offers: the one of `superstep index`, and those of --index. */
import { existsSync } from "node:fs"
import { basename, extname, resolve } from "node:path"
import type { ServedIndexes } from "@superstep/server"
import type { Cli } from "../cli.ts"
import { usageError } from "../print/errors.ts"
import { DEFAULT_FILE, withIndex } from "./document-index.ts"

/** An index is named like its file, without the extension. Files that do not exist yet appear once they do. */
export function servedIndexes(cli: Cli, files: readonly string[] = []): ServedIndexes {
  const { cwd } = cli.io
  const missing = files.find((file) => !existsSync(resolve(cwd, file)))
  if (missing !== undefined)
    throw usageError(`There is no index ${missing}. Create it:\nsuperstep index add PATH --file ${missing}`)
  const byName = new Map([DEFAULT_FILE, ...files].map((file) => [basename(file, extname(file)), file]))
  const exists = (file: string) => existsSync(resolve(cwd, file))
  return {
    names: async () => [...byName].filter(([, file]) => exists(file)).map(([name]) => name),
    async use(name, use) {
      const file = byName.get(name)
      if (file === undefined || !exists(file)) return undefined
      let result: Awaited<ReturnType<typeof use>> | undefined
      await withIndex(cli, { file }, async (index) => {
        result = await use(index)
      })
      return result
    },
  }
}
