/** A module's default export as a workflow. TypeScript runs where Node runs it, or where tsx is installed. */
import { createRequire } from "node:module"
import { basename, dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isSuperstepError, type Workflow } from "@superstep/engine"
import { usageError } from "./usage-error.ts"

export async function importModule(source: string, file: string): Promise<Workflow<never, unknown>> {
  const module = await imported(source, file)
  const found = isBuilder(module.default) ? module.default.build() : module.default
  if (isWorkflow(found)) return found
  throw usageError(
    `${source} has no workflow as its default export: export default workflow("…")…build(), or an agent.`,
  )
}

type Module = { readonly default?: unknown }

async function imported(source: string, file: string): Promise<Module> {
  const url = pathToFileURL(file).href
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

/** What the engine says is told as it is. Where it was is in the stack; of a syntax error, in what Node itself prints. */
function failed(source: string, file: string, error: unknown): unknown {
  if (isSuperstepError(error)) return error
  // Of a project of CommonJS, which asks packages for what they do not have.
  if ((error as { code?: unknown } | undefined)?.code === "ERR_PACKAGE_PATH_NOT_EXPORTED") {
    const advice = 'Write "type": "module" into the package.json beside it, or name it .mts.'
    return usageError(
      `${source} is loaded as CommonJS, and imports what is for modules only. ${advice}`,
      error,
    )
  }
  const { name, message, stack = "" } = error instanceof Error ? error : new Error(String(error))
  const [, after = ""] = stack.split(basename(file))
  const [, line] = /^(?:\?[^\s:]*)?:(\d+)/.exec(after) ?? []
  const place = line === undefined ? "" : ` (line ${line})`
  const where = name === "SyntaxError" && place === "" ? ` (node ${source} shows where)` : place
  return usageError(
    `${source} cannot be loaded: ${name === "Error" ? "" : `${name}: `}${message}${where}`,
    error,
  )
}

interface Tsx {
  tsImport(url: string, from: string): Promise<unknown>
}

interface TsxManifest {
  readonly exports: { readonly "./esm/api": { readonly import: { readonly default: string } } }
}

/** Of the module's own project, or beside the command. */
async function tsx(source: string, file: string): Promise<Tsx> {
  for (const from of [pathToFileURL(file).href, import.meta.url]) {
    const require = createRequire(from)
    let manifest: string
    try {
      manifest = require.resolve("tsx/package.json")
    } catch {
      // Not there: the next place, then the error.
      continue
    }
    // Asked for by its name, `require` would give its CommonJS entry, which does not work for modules.
    const { exports } = require(manifest) as TsxManifest
    const entry = resolve(dirname(manifest), exports["./esm/api"].import.default)
    return (await import(pathToFileURL(entry).href)) as Tsx
  }
  throw usageError(
    `${source} is TypeScript, which Node ${process.versions.node} does not run by itself. ` +
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
