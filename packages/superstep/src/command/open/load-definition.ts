/** Loads a definition with the flags of the command line. A file of its own, because it imports the dialects. */
import { createRequire } from "node:module"
import { basename, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { SuperstepError } from "@superstep/engine"
import {
  type Loaded,
  type LoadOptions,
  loadDefinition,
  type PlanFunction,
  type PlanFunctions,
} from "@superstep/engine/definitions"
import type { Cli } from "../cli.ts"
import type { DefinitionFlags } from "../flags.ts"
import { importFile } from "./import-module.ts"
import { secretsOf } from "./secret-flags.ts"

export interface FileToLoad {
  readonly file: string
  /** Absent: read from the file. */
  readonly text?: string | undefined
  /** Agents that are not in a file: `agents` names them, `read` returns them. */
  readonly load?: Pick<LoadOptions, "agents" | "read"> | undefined
}

export interface LoadFileOptions {
  readonly model?: LoadOptions["model"]
  /** `check` loads only the CLI's own code. */
  readonly use?: "run" | "check" | undefined
  /** Another number imports the modules of function steps again. */
  readonly version?: number | undefined
}

export async function loadFile(
  { file, text, load }: FileToLoad,
  { io }: Cli,
  flags: DefinitionFlags,
  { model, use = "run", version }: LoadFileOptions = {},
): Promise<Loaded> {
  const options: LoadOptions = {
    cwd: io.cwd,
    trust: flags.untrusted && "none",
    env: io.env,
    agents: flags.agents,
    agent: flags.agent,
    lenient: flags.lenient,
    variables: flags.set,
    secrets: secretsOf(flags, io.env),
    maxSteps: flags.maxSteps,
    model,
    importModule: (path) => importFile(basename(path), path, version),
    ...load,
  }
  const source = text === undefined ? file : { file, text }
  const mayImport = use === "run" && flags.untrusted !== true
  return await withPackages(resolve(io.cwd, file), io, mayImport, (functions) =>
    loadDefinition(source, { ...options, functions }),
  )
}

// Optional: only definitions with MCP servers need it.
const MCP = "@superstep/mcp"
const RETRIEVAL = "@superstep/retrieval"
const NOT_CHECKED = "NOT_CHECKED"

/**
 * Loads a definition, with functions of packages that only some definitions need. They start as placeholders that record
 * their use; the definition is then loaded again with the packages that it uses. `mayImport` allows packages of the
 * definition's project, whose code runs when they are loaded.
 */
export async function withPackages<T extends Pick<Loaded, "diagnostics">>(
  file: string,
  io: Cli["io"],
  mayImport: boolean,
  load: (functions: PlanFunctions) => T,
): Promise<T> {
  const used = new Set<string>()
  const placeholder = (name: string, from: string): PlanFunction => ({
    from,
    make: () => {
      used.add(name)
      throw new SuperstepError("PACKAGE_MISSING", `The definition needs "${name}" from ${from}.`, {
        retryable: false,
      })
    },
  })
  let functions: PlanFunctions = {
    documentsIn: placeholder("documentsIn", RETRIEVAL),
    memoryIndex: placeholder("memoryIndex", RETRIEVAL),
    mcpToolset: placeholder("mcpToolset", MCP),
  }
  for (;;) {
    const loaded = load(functions)
    if (used.size === 0) return withWarnings(loaded)
    if (used.has("documentsIn")) functions = { ...functions, documentsIn: await documentsFunction(io) }
    if (used.has("memoryIndex")) functions = { ...functions, memoryIndex: await memoryFunction(io) }
    if (used.has("mcpToolset")) functions = { ...functions, mcpToolset: await mcpFunction(file, mayImport) }
    used.clear()
  }
}

/** A toolset that could not be checked is not an error of the definition. */
function withWarnings<T extends Pick<Loaded, "diagnostics">>(loaded: T): T {
  const diagnostics = loaded.diagnostics.map((one) =>
    one.code === NOT_CHECKED ? { ...one, severity: "warning" as const } : one,
  )
  return { ...loaded, diagnostics }
}

/** Paths are relative to the current folder. */
async function documentsFunction({ cwd, env }: Cli["io"]): Promise<PlanFunction> {
  const { documentsIn } = await import("@superstep/retrieval")
  const make = (...[paths, options]: Parameters<typeof documentsIn>) =>
    documentsIn(paths, { root: cwd, env, ...options })
  return { from: RETRIEVAL, make }
}

/** The plan has the folder relative to that of the process. */
async function memoryFunction({ env }: Cli["io"]): Promise<PlanFunction> {
  const { memoryIndex } = await import("@superstep/retrieval")
  const make = (...[folder, options]: Parameters<typeof memoryIndex>) =>
    memoryIndex(resolve(folder), { env, ...options })
  return { from: RETRIEVAL, make }
}

interface McpPackage {
  mcpToolset(...args: never[]): unknown
}

/** From the installation of superstep, or from the definition's project. */
async function mcpFunction(file: string, mayImport: boolean): Promise<PlanFunction> {
  const found =
    (await imported<McpPackage>(MCP)) ??
    (mayImport ? await imported<McpPackage>(resolvedFrom(file)) : undefined)
  if (found !== undefined) return { from: MCP, make: found.mcpToolset }
  const error = mayImport
    ? new SuperstepError("FUNCTION_MISSING", `Toolsets of type mcp need ${MCP}. Install it: npm i ${MCP}`)
    : new SuperstepError(
        NOT_CHECKED,
        `Toolsets of type mcp were not checked: ${MCP} is not installed with superstep, and packages of the file's project are not loaded.`,
      )
  const make = () => {
    throw error
  }
  return { from: MCP, make }
}

async function imported<T>(specifier: string | undefined): Promise<T | undefined> {
  try {
    return specifier === undefined ? undefined : ((await import(/* @vite-ignore */ specifier)) as T)
  } catch {
    return undefined
  }
}

function resolvedFrom(file: string): string | undefined {
  try {
    return pathToFileURL(createRequire(file).resolve(MCP)).href
  } catch {
    return undefined
  }
}
