/** Loads a definition with what the command line says about it. Apart from `open-workflow.ts`, as it loads the dialects. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import {
  type Loaded,
  type LoadOptions,
  loadDefinition,
  type PlanFunctions,
} from "@superstep/engine/definitions"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags } from "./common-flags.ts"

export interface FileToLoad {
  readonly file: string
  /** Where it is not read from the file. */
  readonly text?: string | undefined
  /** Agents from elsewhere than a file: `agents` names them, `read` gives them. */
  readonly load?: Pick<LoadOptions, "agents" | "read"> | undefined
}

export async function loadFile(
  { file, text, load }: FileToLoad,
  { io }: Cli,
  flags: DefinitionFlags,
  model?: LoadOptions["model"],
): Promise<Loaded> {
  const options: LoadOptions = {
    read: (name) => readFileSync(resolve(io.cwd, name), "utf8"),
    env: io.env,
    agents: flags.agents,
    lenient: flags.lenient,
    variables: flags.set,
    maxSteps: flags.maxSteps,
    model,
    ...load,
  }
  const source = text === undefined ? file : { file, text }
  return await withPackages(resolve(io.cwd, file), io, (functions) =>
    loadDefinition(source, { ...options, functions }),
  )
}

type Told = Pick<Loaded, "diagnostics">

/** Loads it again where it turns out to need functions of other packages. */
export async function withPackages<T extends Told>(
  file: string,
  io: Cli["io"],
  load: (functions: PlanFunctions) => T,
): Promise<T> {
  let functions: PlanFunctions = {}
  for (;;) {
    const loaded = load(functions)
    if (isMissing(loaded, "documentsIn")) functions = { ...functions, ...(await documentFunctions(io)) }
    else if (isMissing(loaded, "mcpToolset")) {
      const found = await mcpFunctions(file)
      if (found === undefined) return withHint(loaded)
      functions = { ...functions, ...found }
    } else return loaded
  }
}

// Optional: whoever has no MCP servers in their definitions need not install it.
const MCP = "@superstep/mcp"

function isMissing({ diagnostics }: Told, name: string): boolean {
  return diagnostics.some((one) => isAbout(one, name))
}

function isAbout({ code, message }: Loaded["diagnostics"][number], name: string): boolean {
  return code === "FUNCTION_MISSING" && message.includes(`"${name}"`)
}

function withHint<T extends Told>(loaded: T): T {
  const message = `Toolsets of type mcp need the package ${MCP}. Install it: npm i ${MCP}`
  const diagnostics = loaded.diagnostics.map((one) =>
    isAbout(one, "mcpToolset") ? { ...one, message } : one,
  )
  return { ...loaded, diagnostics }
}

/** Paths are those of the command's folder. */
async function documentFunctions({ cwd, env }: Cli["io"]): Promise<PlanFunctions> {
  const { documentsIn } = await import("@superstep/retrieval")
  const make = (...[paths, options]: Parameters<typeof documentsIn>) =>
    documentsIn(paths, { root: cwd, env, ...options })
  return { documentsIn: { from: "@superstep/retrieval", make } }
}

/** Beside the command, or beside the definition. */
async function mcpFunctions(file: string): Promise<PlanFunctions | undefined> {
  const found = (await importedFrom(MCP)) ?? (await importedFrom(besideFile(file)))
  return found && { mcpToolset: { from: MCP, make: found.mcpToolset } }
}

interface McpPackage {
  mcpToolset(...args: never[]): unknown
}

async function importedFrom(specifier: string | undefined): Promise<McpPackage | undefined> {
  try {
    return specifier === undefined ? undefined : ((await import(/* @vite-ignore */ specifier)) as McpPackage)
  } catch {
    return undefined
  }
}

/** Where the package's entry is in the project of the definition. */
function besideFile(file: string): string | undefined {
  try {
    const found = createRequire(file).resolve(`${MCP}/package.json`)
    const { exports } = createRequire(file)(found) as { exports: { ".": { import: string } } }
    return pathToFileURL(resolve(dirname(found), exports["."].import)).href
  } catch {
    return undefined
  }
}
