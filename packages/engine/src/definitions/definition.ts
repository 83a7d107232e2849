/** A definition loaded from a file, the options to load it with, and the report of its problems. */

import { dirname, resolve } from "node:path"
import type { Agent } from "../agents/index.ts"
import type { Workflow } from "../builder/index.ts"
import type { Json } from "../core/index.ts"
import {
  type Diagnostic,
  type PrintOptions,
  printDiagnostics,
  type Report,
  type SourceRange,
} from "../document/index.ts"
import { insideFolder, outsideFolder } from "../files/index.ts"
import type { ModelRef } from "../models/index.ts"
import type { Plan, PlanFunctions } from "./plan/index.ts"

export interface LoadOptions {
  /**
   * Reads files from other places than the file system. Returns undefined to use the file system; throws if it cannot
   * read.
   */
  readonly read?: ((file: string) => string | undefined) | undefined
  /** The folder that relative paths start from. Default: the working directory. */
  readonly cwd?: string | undefined
  /**
   * `none` is for a file whose author you do not trust. It refuses everything that accesses external resources: programs,
   * the environment, private addresses, keys, files outside of the folder, other code. Default `full`.
   */
  readonly trust?: Trust | undefined
  /** What a file may use although `trust` is `none`. */
  readonly allow?: readonly TrustCapability[] | undefined
  /** A file whose `agents:` and `models:` a graph definition uses, by agent id. */
  readonly agents?: string | undefined
  /** Drops edges to unknown nodes with a warning, instead of refusing the graph. */
  readonly lenient?: boolean | undefined
  /** Overrides the maximum number of node visits in a run of a graph. */
  readonly maxSteps?: number | undefined
  /** Values for `${NAME}`, as text; for `$vars.NAME` and for names in a graph's conditions, unchanged. */
  readonly variables?: { readonly [name: string]: Json } | undefined
  /**
   * Variables whose values must not be recorded: templates show `[secret:NAME]`, and only the arguments of tool steps and
   * nodes get the value. Variables that are named like a secret (`token`, `api_key`) are secrets too.
   */
  readonly secrets?: { readonly [name: string]: string } | undefined
  /** The environment that `${NAME}` and `$env.NAME` see. Default: the process's. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  /** Overrides the model of an agent, or of a research role. Undefined keeps it. */
  readonly model?: ((agent: string, model: ModelRef) => ModelRef | undefined) | undefined
  /** More functions for plans: toolsets and documents of other packages. */
  readonly functions?: PlanFunctions | undefined
}

/** Capabilities of `docs/security.md` that an untrusted file can be allowed one by one. */
export const TRUST_CAPABILITIES = [
  "program",
  "mcp program",
  "filesystem",
  "private address",
  "private addresses",
  "consent",
] as const
export type TrustCapability = (typeof TRUST_CAPABILITIES)[number]

/** See `docs/security.md`. */
export type Trust = "full" | "none"

export type Dialect = "steps" | "graph" | "agents"

export interface Definition {
  readonly file: string
  readonly name: string
  /** `agents` is a file with agents and no workflow: the agent `root`, or else the first one, is the workflow. */
  readonly dialect: Dialect
  /** Takes the user's prompt. */
  readonly workflow: Workflow<string, unknown>
  readonly agents: ReadonlyMap<string, Agent>
  /** Names of agents that the workflow never uses. */
  readonly unusedAgents: ReadonlySet<string>
  readonly data: Json
  readonly plan: Plan
  /** TypeScript code that creates the same workflow. */
  eject(): string
  close(): Promise<void>
}

export interface Loaded {
  /** Absent if there are errors. */
  readonly definition?: Definition | undefined
  /** Absent if it is not a definition. */
  readonly dialect?: Dialect | undefined
  readonly diagnostics: readonly Diagnostic[]
  /** The text of every file that was read. */
  readonly sources: ReadonlyMap<string, string>
}

export function environmentOf({ trust, env = process.env }: Pick<LoadOptions, "trust" | "env">) {
  return trust === "none" ? {} : env
}

const GRAPH_REFUSED = "Graph validation failed:"

type Problems = Omit<Loaded, "definition">

/** Prints each problem with its source, under a heading if a graph is refused. */
export function printProblems(loaded: Problems, options: PrintOptions): string {
  const { diagnostics, sources } = loaded
  return withHeading(
    loaded,
    printDiagnostics(diagnostics, (file) => sources.get(file), options),
  )
}

export function listErrors(loaded: Problems): string {
  const errors = loaded.diagnostics.filter(({ severity }) => severity === "error")
  return withHeading(loaded, errors.map(({ message }) => message).join("\n"))
}

function withHeading({ dialect, diagnostics }: Problems, text: string): string {
  const isRefused = dialect === "graph" && diagnostics.some(({ severity }) => severity === "error")
  return isRefused ? `${GRAPH_REFUSED}\n${text}` : text
}

/**
 * Resolves the paths in a definition. They must stay inside the folder of the loaded file, also in files that it
 * includes. A file of agents that the caller names has its own folder.
 */

export class DefinitionPaths {
  readonly #root: string
  readonly #cwd: string
  readonly #report: Report
  readonly #trust: Trust

  constructor(file: string, report: Report, cwd = "", trust: Trust = "full") {
    this.#cwd = cwd
    this.#trust = trust
    this.#root = this.#folderOf(file)
    this.#report = report
  }

  /** The folder that paths of this file must stay in. */
  rootOf(file: string): string {
    const folder = this.#folderOf(file)
    return insideFolder(this.#root, folder) === undefined ? folder : this.#root
  }

  /** The absolute path, relative to the file that names it. A path outside of the folder is reported. */
  from(file: string, path: string, named: SourceRange | undefined): string {
    const found = resolve(this.#folderOf(file), path)
    if (this.isInside(file, path)) return found
    const { code, message } = outsideFolder(path)
    this.#report.error(code, message, named)
    return found
  }

  /** The same for data to search, which may be anywhere unless the definition is untrusted. */
  dataFrom(file: string, path: string, named: SourceRange | undefined): string {
    return this.#trust === "none" ? this.from(file, path, named) : resolve(this.#folderOf(file), path)
  }

  isInside(file: string, path: string): boolean {
    return insideFolder(this.rootOf(file), resolve(this.#folderOf(file), path)) !== undefined
  }

  #folderOf(file: string): string {
    return dirname(resolve(this.#cwd, file))
  }
}
