/** The scope of an agent in a run: its context, its signal, and its path. */
import type { Context } from "../runtime/index.ts"
import type { ToolCallContext } from "../tools/index.ts"

export interface AgentScope {
  /** After a hand-off, the context of the agent that continues. */
  ctx: Context
  /** Fires with the task's signal, or when an agent's time is up. */
  signal: AbortSignal
  /**
   * The names of the enclosing scopes, each followed by a slash; empty for the task itself. Step keys and deltas include
   * it.
   */
  readonly path: string
  /** Whether the agent runs in a tool call of another agent. */
  readonly isNested: boolean
}

export function taskScope(ctx: Context): AgentScope {
  return { ctx, signal: ctx.signal, path: "", isNested: false }
}

const PATH = Symbol("path")

/** Attaches a path to a tool call. */
export function withPath(call: ToolCallContext, path: string): ToolCallContext {
  return Object.assign(call, { [PATH]: path })
}

export function pathOf(call: ToolCallContext & { readonly [PATH]?: string }): string {
  return call[PATH] ?? ""
}

const paths = new WeakMap<Context, string>()

/** A nested scope of the agent's context. `pathOfContext` returns its path. */
export function scopedContext({ ctx, path }: AgentScope, name: string): Context {
  const scoped = ctx.scope(name)
  paths.set(scoped, `${path}${name}/`)
  return scoped
}

export function pathOfContext(ctx: Context): string {
  return paths.get(ctx) ?? ""
}

/** The journal key of the n-th step with this name. */
export function stepKey(path: string, name: string, n: number): string {
  return `step${n === 1 ? "" : `#${n}`}:${path}${name}`
}
