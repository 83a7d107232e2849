/** Imports a user's module. TypeScript needs a Node version that runs it, or tsx. */
import { createRequire } from "node:module"
import { basename, dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isSuperstepError } from "@superstep/engine"
import { usageError } from "../print/errors.ts"

type Module = { readonly default?: unknown }

/** In a CommonJS project, TypeScript puts all exports, including `default`, under `default`. */
export function defaultOf({ default: exported }: Module): unknown {
  const isCompiled = typeof exported === "object" && exported !== null && "__esModule" in exported
  return isCompiled && "default" in exported ? exported.default : exported
}

export async function importFile(source: string, file: string, version = 0): Promise<Module> {
  const url = `${pathToFileURL(file).href}${version === 0 ? "" : `?version=${version}`}`
  try {
    return (await import(/* @vite-ignore */ url)) as Module
  } catch (error) {
    if ((error as { code?: unknown } | undefined)?.code !== "ERR_UNKNOWN_FILE_EXTENSION")
      throw failed(source, file, error)
  }
  const { tsImport } = await tsx(source, file)
  try {
    return (await tsImport(url, import.meta.url)) as Module
  } catch (error) {
    throw failed(source, file, error)
  }
}

/** Errors of the engine stay as they are. Others get their line from the stack; for a syntax error, Node prints it. */
function failed(source: string, file: string, error: unknown): unknown {
  if (isSuperstepError(error)) return error
  // A CommonJS project requires a package that has no CommonJS entry.
  if ((error as { code?: unknown } | undefined)?.code === "ERR_PACKAGE_PATH_NOT_EXPORTED") {
    const advice = 'Add "type": "module" to its package.json, or rename it to .mts.'
    return usageError(`${source} is loaded as CommonJS, but imports an ES module. ${advice}`, error)
  }
  const { name, message, stack = "" } = error instanceof Error ? error : new Error(String(error))
  const [, after = ""] = stack.split(basename(file))
  const [, line] = /^(?:\?[^\s:]*)?:(\d+)/.exec(after) ?? []
  const place = line === undefined ? "" : ` (line ${line})`
  const where = name === "SyntaxError" && place === "" ? ` (run node ${source} to find it)` : place
  return usageError(`Cannot load ${source}: ${name === "Error" ? "" : `${name}: `}${message}${where}`, error)
}

interface Tsx {
  tsImport(url: string, from: string): Promise<unknown>
}

interface TsxManifest {
  readonly exports: { readonly "./esm/api": { readonly import: { readonly default: string } } }
}

/** From the module's own project, or from where superstep is installed. */
async function tsx(source: string, file: string): Promise<Tsx> {
  for (const from of [pathToFileURL(file).href, import.meta.url]) {
    const require = createRequire(from)
    let manifest: string
    try {
      manifest = require.resolve("tsx/package.json")
    } catch {
      // Not installed in this folder.
      continue
    }
    // `require("tsx")` would return its CommonJS entry, which does not load modules.
    const { exports } = require(manifest) as TsxManifest
    const entry = resolve(dirname(manifest), exports["./esm/api"].import.default)
    return (await import(pathToFileURL(entry).href)) as Tsx
  }
  throw usageError(
    `${source} is TypeScript, which Node ${process.versions.node} does not run. ` +
      "Install tsx (npm i -D tsx), or use Node 22.18 or later.",
  )
}
