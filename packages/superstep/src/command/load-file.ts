/** Loads a definition with what the command line says about it. Apart from `open-workflow.ts`, as it loads the dialects. */
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
import { secretsOf } from "./secret-flags.ts"

export interface FileToLoad {
  readonly file: string
  /** Where it is not read from the file. */
  readonly text?: string | undefined
  /** Agents from elsewhere than a file: `agents` names them, `read` gives them. */
  readonly load?: Pick<LoadOptions, "agents" | "read"> | undefined
}

export interface LoadFileOptions {
  readonly model?: LoadOptions["model"]
  /** `check`: no code that is not the command's own is loaded. */
  readonly use?: "run" | "check" | undefined
}

export async function loadFile(
  { file, text, load }: FileToLoad,
  { io }: Cli,
  flags: DefinitionFlags,
  { model, use = "run" }: LoadFileOptions = {},
): Promise<Loaded> {
  const options: LoadOptions = {
    cwd: io.cwd,
    trust: flags.untrusted && "none",
    env: io.env,
    agents: flags.agents,
    lenient: flags.lenient,
    variables: flags.set,
    secrets: secretsOf(flags, io.env),
    maxSteps: flags.maxSteps,
    model,
    ...load,
  }
  const source = text === undefined ? file : { file, text }
  const mayImport = use === "run" && flags.untrusted !== true
  return await withPackages(resolve(io.cwd, file), io, { mayImport }, (functions) =>
    loadDefinition(source, { ...options, functions }),
  )
}

export interface PackageOptions {
  /** False: packages of the definition's own project are not loaded, as that runs their code. */
  readonly mayImport: boolean
}

type Told = Pick<Loaded, "diagnostics">

/** Loads it again where it turns out to need functions of other packages. */
export async function withPackages<T extends Told>(
  file: string,
  io: Cli["io"],
  { mayImport }: PackageOptions,
  load: (functions: PlanFunctions) => T,
): Promise<T> {
  let functions: PlanFunctions = {}
  for (;;) {
    const loaded = load(functions)
    // Where the file is not trusted there is one set of functions, whatever is brought.
    const isNew = (name: string) => isMissing(loaded, name) && functions[name] === undefined
    if (isNew("documentsIn")) functions = { ...functions, ...(await documentFunctions(io)) }
    else if (isNew("mcpToolset")) {
      const found = await mcpFunctions(file, mayImport)
      if (found === undefined) return mayImport ? withHint(loaded) : unchecked(loaded)
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

/** Beside the definition there may be one, which nobody may load here. */
function unchecked<T extends Told>(loaded: T): T {
  const message = `Toolsets of type mcp were not checked: ${MCP} is not installed with superstep, and packages beside the file are not loaded here.`
  const diagnostics = loaded.diagnostics.map((one) =>
    isAbout(one, "mcpToolset") ? { ...one, severity: "warning" as const, code: "NOT_CHECKED", message } : one,
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
async function mcpFunctions(file: string, mayImport: boolean): Promise<PlanFunctions | undefined> {
  const found = (await importedFrom(MCP)) ?? (mayImport ? await importedFrom(besideFile(file)) : undefined)
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
