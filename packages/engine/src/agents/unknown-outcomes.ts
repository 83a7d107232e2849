/**
 * Calls whose outcome nobody knows, because the process died while they ran and their secret arguments died with it. When
 * the model makes such a call again, it has the idempotency key of the first one, so that the other side can tell that it
 * is the same. Keys follow from positions in the record; arguments only tell which call is repeated.
 */
import type { Json } from "../core/index.ts"
import { canonicalJson } from "../core/reducers.ts"
import type { ToolOutcome } from "../tools/call-tool.ts"
import { readObject, type ToolCall } from "./conversation.ts"

export const UNKNOWN = "TOOL_OUTCOME_UNKNOWN"

export class UnknownOutcomes {
  readonly #calls: { readonly name: string; readonly args: string; readonly key: string }[] = []

  /** The key of a call that this one repeats: the same tool, and the same arguments as far as they are not secret. */
  take({ name, args }: ToolCall): string | undefined {
    if (this.#calls.length === 0) return undefined
    const shown = shownArgs(args)
    const at = this.#calls.findIndex((one) => one.name === name && one.args === shown)
    return at < 0 ? undefined : this.#calls.splice(at, 1)[0]?.key
  }

  /** Notes a call that came to this outcome under this key. */
  note({ name, args }: ToolCall, outcome: ToolOutcome, key: string): void {
    if (outcome.ok || outcome.error.code !== UNKNOWN) return
    this.#calls.push({ name, args: shownArgs(args), key })
  }
}

function shownArgs(args: string): string {
  return canonicalJson(readObject(args) as Json)
}
