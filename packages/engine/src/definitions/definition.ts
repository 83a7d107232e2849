/** A definition loaded from a file, the options to load it with, and the report of its problems. */

import { dirname, resolve } from "node:path"
import { type Agent, callTools } from "../agents/index.ts"
import { jsonAnswer } from "../agents/internal.ts"
import type { Node, Workflow } from "../builder/index.ts"
import {
  fromErrorData,
  isSuperstepError,
  type Json,
  type NodeId,
  SuperstepError,
  toErrorData,
} from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import {
  type Diagnostic,
  type PrintOptions,
  printDiagnostics,
  type Report,
  type SourceRange,
} from "../document/index.ts"
import { filling, type Reference, type Scope, type Spelling } from "../expressions/index.ts"
import { insideFolder, outsideFolder } from "../files/index.ts"
import type { ModelRef } from "../models/index.ts"
import type { Context } from "../runtime/index.ts"
import { Masking, type Tool, type ToolCallContext } from "../tools/index.ts"
import { maskError, toJson } from "../tools/internal.ts"
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
  /** In a file with agents and no workflow: the agent to run. Default: `root`, or else the first one. */
  readonly agent?: string | undefined
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
  /** Imports a module of a function step. Default: `import(file)`, which needs a Node version that runs TypeScript. */
  readonly importModule?: ((file: string) => Promise<object>) | undefined
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
  "schedules",
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
  /** False if nothing in the definition depends on the prompt. */
  readonly usesInput: boolean
  /** Names of agents that the workflow never uses. */
  readonly unusedAgents: ReadonlySet<string>
  readonly data: Json
  readonly plan: Plan
  /** Imports the modules of its function steps. Otherwise a run imports them on use. Throws if an export is missing. */
  importModules(): Promise<void>
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

  get isTrusted(): boolean {
    return this.#trust !== "none"
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

// JSON values, including those that a model or a tool wrote as text.

/** The list or object that the text contains; undefined if it contains none. */
export function jsonIn(text: string): Json | undefined {
  const value = jsonAnswer(text)?.value
  return typeof value === "object" && value !== null ? value : undefined
}

export function parseIfJson(value: Json): Json
export function parseIfJson(value: Json | undefined): Json | undefined
export function parseIfJson(value: Json | undefined): Json | undefined {
  return typeof value === "string" ? (jsonIn(value) ?? value) : value
}

/** A copy as the journal stores it. */
export function plainJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

// The nodes that definitions create.

// biome-ignore lint/suspicious/noExplicitAny: the plan decides which nodes are wired to which.
export type DefinitionNode = Node<any, any>

// biome-ignore lint/suspicious/noExplicitAny: the plan decides which input a workflow gets.
export type SubWorkflow = Workflow<any, any>

export function definitionNode(
  id: NodeId,
  kind: string,
  handler: (message: unknown, ctx: Context) => unknown,
  more: { readonly [name in keyof Node["definition"]]?: unknown } = {},
): DefinitionNode {
  const definition = { kind, handlers: [{ run: handler as never }], ...omitUndefined(more) }
  return Object.freeze({ id, definition: Object.freeze(definition) }) as DefinitionNode
}

/**
 * A tool call that a definition makes itself, with the approval that an agent's call would need. The approver, the
 * journal and traces see references to secrets in its arguments; only the tool receives the values. Its result and its
 * error contain no secrets.
 */

interface RevealedArgs {
  readonly args: Json
  /** The values of secrets in the arguments. */
  readonly secrets: readonly string[]
}

interface ToolCallOptions<At> {
  readonly tool: string
  readonly args: Json
  readonly spelling: Spelling
  /**
   * The scope of templates in the arguments. `revealed` collects the secrets they use; without it they see references.
   */
  scope(at: At, references: readonly Reference[], revealed?: string[]): Scope
}

/** `agent` owns the tool; `id` is the step's or the node's. */
export function toolCaller<At>(
  agent: Agent,
  { tool, args, spelling, scope }: ToolCallOptions<At>,
): (id: string, at: At, ctx: Context) => Promise<Json> {
  type Place = { readonly at: At; readonly used?: string[] }
  const fill = filling(args, spelling, ({ at, used }: Place, references) => scope(at, references, used))
  return async (id, at, ctx) => {
    const shown = fill({ at })
    const revealed = () => {
      const used: string[] = []
      return { args: fill({ at, used }), secrets: used }
    }
    const call = {
      type: "tool-call" as const,
      id: `call_${id.replace(/[^A-Za-z0-9-]/g, "_")}`,
      name: tool,
      args: JSON.stringify(shown),
    }
    // Results and failures are journaled, so every attempt is a call of its own.
    const wrap = (one: Tool) => (one.name === tool ? withSecrets(one, shown, revealed) : one)
    const { outcomes } = await callTools(agent, [call], ctx.scope(`attempt ${ctx.attempt}`), { wrap })
    const [outcome] = outcomes
    if (outcome === undefined)
      throw new SuperstepError("TOOL_FAILED", `The tool "${tool}" returned no result.`)
    if (!outcome.ok) throw fromErrorData(outcome.error)
    return outcome.value
  }
}

/** `reveal` is called when the tool runs, not when a recorded call is replayed. */
function withSecrets(tool: Tool, shown: Json, reveal: () => RevealedArgs): Tool {
  const run = async (args: unknown, call: ToolCallContext): Promise<unknown> => {
    const revealed = reveal()
    if (revealed.secrets.length === 0) return await tool.run(args as never, call)
    if (tool.durable === true) throw unsupported(tool.name)
    const masking = Masking.of(revealed.secrets)
    const [before, after] = [await tool.parse(shown), await tool.parse(revealed.args)]
    if (!before.ok || !after.ok) {
      const reason = after.ok ? "" : masking.text(after.reason)
      const message = `The arguments of "${tool.name}" are invalid: ${reason}.`
      throw new SuperstepError("TOOL_ARGS", message, { retryable: false })
    }
    const filled = fillSecrets(args, before.args, after.args)
    try {
      return masking.json(toJson(await tool.run(filled as never, call), tool.name))
    } catch (error) {
      if (isSuperstepError(error) && (error.limit === true || error.fatal === true)) throw error
      throw fromErrorData(maskError(toErrorData(error), masking))
    }
  }
  return { ...tool, run: run as Tool["run"] }
}

/** Fills only values that still equal what was shown, because the approver may have changed the arguments. */
function fillSecrets(args: unknown, shown: unknown, real: unknown): unknown {
  if (typeof args !== "object" || args === null) return args === shown ? real : args
  if (typeof shown !== "object" || shown === null || typeof real !== "object" || real === null) return args
  const [before, after] = [shown as Record<string, unknown>, real as Record<string, unknown>]
  if (Array.isArray(args)) return args.map((item, i) => fillSecrets(item, before[i], after[i]))
  return Object.fromEntries(
    Object.entries(args).map(([name, item]) => [name, fillSecrets(item, before[name], after[name])]),
  )
}

function unsupported(tool: string): SuperstepError {
  const message = `The tool "${tool}" is durable and journals its steps, so it cannot take a secret. Pass the secret to a tool that is not durable.`
  return new SuperstepError("SECRET_UNSUPPORTED", message, { retryable: false, fatal: true })
}
