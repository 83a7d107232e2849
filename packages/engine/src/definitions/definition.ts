/** A definition that was loaded from a file, and how it is to be loaded. */
import type { Agent } from "../agents/index.ts"
import type { Workflow } from "../builder/index.ts"
import type { Json } from "../core/index.ts"
import type { ModelRef } from "../models/index.ts"
import type { Diagnostic } from "./document/index.ts"
import type { Plan, PlanFunctions } from "./plan/index.ts"

export interface LoadOptions {
  /** Files from elsewhere than the file system; undefined for one that is to be read there. Throws when it cannot. */
  readonly read?: ((file: string) => string | undefined) | undefined
  /** The folder that relative paths start from. Default: the working directory. */
  readonly cwd?: string | undefined
  /**
   * `none` is for a file whose author you do not trust: whatever reaches outside of it (programs, the environment,
   * private addresses, keys, files outside of its folder, other code) is refused, all of it at once. Default `full`.
   */
  readonly trust?: Trust | undefined
  /** A file whose `agents:` and `models:` a graph definition uses, by agent id. */
  readonly agents?: string | undefined
  /** Drops edges of a graph that lead nowhere, with a warning each, instead of refusing it. */
  readonly lenient?: boolean | undefined
  /** Node visits in a run of a graph, instead of what it says. */
  readonly maxSteps?: number | undefined
  /** Values for `${NAME}`, as text; for `$vars.NAME`, and for names in a graph's conditions, as they are. */
  readonly variables?: { readonly [name: string]: Json } | undefined
  /**
   * As `variables`, for values that must not be kept: templates show `[secret:NAME]`, and only the arguments of tool
   * steps and nodes get the value. Variables that are named like a secret (`token`, `api_key`) are treated as such.
   */
  readonly secrets?: { readonly [name: string]: string } | undefined
  /** The environment that `${NAME}` and `$env.NAME` see. Default: the process's. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  /** Another model for an agent, or an agent of a research, than the definition says; undefined leaves it. */
  readonly model?: ((agent: string, model: ModelRef) => ModelRef | undefined) | undefined
  /** Functions beside the engine's own: toolsets and documents of other packages. */
  readonly functions?: PlanFunctions | undefined
}

/** How far a definition is trusted: see `docs/security.md`. */
export type Trust = "full" | "none"

export type Dialect = "steps" | "graph" | "agents"

export interface Definition {
  readonly file: string
  readonly name: string
  /** `agents` is a file with agents and no workflow: its first agent, or the one called `root`, is the workflow. */
  readonly dialect: Dialect
  /** Takes the user's prompt. */
  readonly workflow: Workflow<string, unknown>
  readonly agents: ReadonlyMap<string, Agent>
  /** Names of agents that the workflow never asks. */
  readonly unusedAgents: ReadonlySet<string>
  /** As it came in. */
  readonly data: Json
  readonly plan: Plan
  /** As TypeScript that makes the same workflow. */
  eject(): string
  /** Closes what its toolsets and its documents have opened. */
  close(): Promise<void>
}

export interface Loaded {
  /** Absent when there are errors. */
  readonly definition?: Definition | undefined
  /** Absent where it is no definition at all. */
  readonly dialect?: Dialect | undefined
  readonly diagnostics: readonly Diagnostic[]
  /** The texts that were read, by file, to show where a problem is. */
  readonly sources: ReadonlyMap<string, string>
}

/** What variables of a definition may be filled from. */
export function environmentOf({ trust, env = process.env }: Pick<LoadOptions, "trust" | "env">) {
  return trust === "none" ? {} : env
}
