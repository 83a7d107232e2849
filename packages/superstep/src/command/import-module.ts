/** A module's default export as a workflow. TypeScript runs where Node runs it, or where tsx is installed. */
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import type { Workflow } from "@superstep/engine"
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
    if ((error as { code?: unknown }).code !== "ERR_UNKNOWN_FILE_EXTENSION") throw error
    const { tsImport } = await tsx(source, file)
    return (await tsImport(url, import.meta.url)) as Module
  }
}

interface Tsx {
  tsImport(url: string, from: string): Promise<unknown>
}

/** Of the module's own project, or beside the command. */
async function tsx(source: string, file: string): Promise<Tsx> {
  for (const from of [pathToFileURL(file).href, import.meta.url]) {
    try {
      const found = createRequire(from).resolve("tsx/esm/api")
      return (await import(pathToFileURL(found).href)) as Tsx
    } catch {
      // Not there: the next place, then the error.
    }
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
