/** Where in a run an agent works: its context, its signal, and the path of its scope. */
import type { Context } from "../runtime/index.ts"
import type { ToolCallContext } from "../tools/index.ts"

export interface AgentScope {
  /** After a hand-off, that of the agent which continues. */
  ctx: Context
  /** Also fires when an agent's time is up. */
  signal: AbortSignal
  /** The names of the scopes that lead here, each with a slash; empty for the task itself. Step keys and deltas have it. */
  readonly path: string
  /** The agent works in a tool call of another agent. */
  readonly isNested: boolean
}

export function taskScope(ctx: Context): AgentScope {
  return { ctx, signal: ctx.signal, path: "", isNested: false }
}

const PATH = Symbol("path")

/** Attaches its path to a tool call. */
export function withPath(call: ToolCallContext, path: string): ToolCallContext {
  return Object.assign(call, { [PATH]: path })
}

export function pathOf(call: ToolCallContext & { readonly [PATH]?: string }): string {
  return call[PATH] ?? ""
}

const paths = new WeakMap<Context, string>()

/** A scope of an agent's context, which knows its path. */
export function scopedContext({ ctx, path }: AgentScope, name: string): Context {
  const scoped = ctx.scope(name)
  paths.set(scoped, `${path}${name}/`)
  return scoped
}

export function pathOfContext(ctx: Context): string {
  return paths.get(ctx) ?? ""
}

/** The key that the n-th step of this name has in the journal. */
export function stepKey(path: string, name: string, n: number): string {
  return `step${n === 1 ? "" : `#${n}`}:${path}${name}`
}
