/** Which part of a task something belongs to: what streams is told apart by it, as the journal tells apart its steps. */
import type { ToolCallContext } from "../tools/index.ts"

const PATH = Symbol("path")

/** Notes in a tool's call where in the task it is made. */
export function withPath(call: ToolCallContext, path: string): ToolCallContext {
  return Object.assign(call, { [PATH]: path })
}

/** Empty for the task itself, else the names of its scopes, each with a slash. */
export function pathOf(call: ToolCallContext & { readonly [PATH]?: string }): string {
  return call[PATH] ?? ""
}

/** The key that the n-th step of this name has in the journal. */
export function stepKey(path: string, name: string, n: number): string {
  return `step${n === 1 ? "" : `#${n}`}:${path}${name}`
}
