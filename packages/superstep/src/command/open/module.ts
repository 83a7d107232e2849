/** Imports a workflow: the default export of a module. TypeScript needs a Node that runs it, or tsx. */
import { createRequire } from "node:module"
import { basename, dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isSuperstepError, type Workflow } from "@superstep/engine"
import { usageError } from "../print/errors.ts"

/** A `version` above 0 loads the module itself anew, not what it imports. */
export async function importModule(
  source: string,
  file: string,
  version = 0,
): Promise<Workflow<never, unknown>> {
  const exported = defaultOf(await imported(source, file, version))
  const found = isBuilder(exported) ? exported.build() : exported
  if (isWorkflow(found)) return found
  throw usageError(
    `${source} does not export a workflow. Write export default workflow("…")…build(), or export an agent.`,
  )
}

type Module = { readonly default?: unknown }

/** TypeScript in a CommonJS project has all its exports, `default` among them, under `default`. */
function defaultOf({ default: exported }: Module): unknown {
  const isCompiled = typeof exported === "object" && exported !== null && "__esModule" in exported
  return isCompiled && "default" in exported ? exported.default : exported
}

async function imported(source: string, file: string, version: number): Promise<Module> {
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
      // Not installed here.
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

function isWorkflow(value: unknown): value is Workflow<never, unknown> {
  if (typeof value !== "object" || value === null) return false
  const { run, program, name } = value as Partial<Record<string, unknown>>
  return typeof run === "function" && typeof program === "object" && typeof name === "string"
}

function isBuilder(value: unknown): value is { build(): unknown } {
  return typeof value === "object" && value !== null && "build" in value && typeof value.build === "function"
}
