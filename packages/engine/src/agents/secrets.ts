/**
 * Arguments that must not be journaled, logged or shown. The model's reply is masked before it is recorded, and the model
 * sees the masked form again; the real values stay in memory for one call. A crash loses them: if the tool had not
 * started, the model is asked to call it again; if it had, the result says that the outcome is unknown.
 */
import type { Json } from "../core/index.ts"
import { canonicalJson } from "../core/internal.ts"
import type { ModelReply, ReplyPart } from "../models/index.ts"
import { MASK } from "../text/index.ts"
import type { Tool } from "../tools/index.ts"
import { Masking, maskArgs, type ToolOutcome } from "../tools/internal.ts"
import { readObject, type ToolCall } from "./conversation.ts"

/** The call did nothing: calls are recorded before they are made, and this one is not recorded. */
export const LOST =
  "The secret arguments of this call were not stored, and the process was restarted before the tool ran. Call it again."

export function outcomeUnknown(tool: string): string {
  return `The process stopped while "${tool}" ran, so the outcome of this call is unknown: it may have taken effect. It cannot be repeated, because its secret arguments were not stored. Check whether it took effect before you do anything else about it. If it has to be repeated, call "${tool}" with exactly the same arguments: that call has the same idempotency key.`
}

/** The secrets of one conversation that this process knows. */
export class Secrets {
  readonly #args = new Map<string, string>()
  #known: readonly Masking[] = []

  /** The unmasked arguments of a call with secrets, until the call ends. */
  argsOf(call: string): string | undefined {
    return this.#args.get(call)
  }

  /** Replaces the arguments after a hook changed the non-secret ones. */
  setArgs(call: string, args: string): void {
    this.#args.set(call, args)
  }

  /** Forgets the arguments of calls that have ended. Their secrets are still masked. */
  endCalls(): void {
    this.#args.clear()
  }

  /** Whether no secret is known. */
  get isEmpty(): boolean {
    return this.#known.length === 0
  }

  /** The strings to mask, including those in arguments that are not recorded yet. */
  texts(more: readonly Masking[]): readonly string[] {
    return [...this.#known, ...more].flatMap(({ texts }) => texts)
  }

  /** Masks a reply for the record, and remembers the secrets that it masks. */
  maskReply(reply: ModelReply, tools: ReadonlyMap<string, Tool>): ModelReply {
    const calls = reply.content.map((part) =>
      part.type === "tool-call" ? this.#maskCall(part, tools) : part,
    )
    const mask = (text: string) => this.#known.reduce((masked, masking) => masking.text(masked), text)
    const bound = calls.filter((part) => part.type === "reasoning" && part.providerMetadata !== undefined)
    // Reasoning is signed or encrypted, so it can only be kept unchanged or removed.
    const isVoid = bound.some((part) => part.type === "reasoning" && mask(part.text) !== part.text)
    const content = calls.flatMap((part): ReplyPart[] => {
      if (part.type === "provider-call") return [{ ...part, args: mask(part.args) }]
      if (part.type === "provider-result") {
        const result = this.#known.reduce((masked, masking) => masking.json(masked), part.result)
        return [{ ...part, result }]
      }
      if (part.type !== "text" && part.type !== "reasoning") return [part]
      return isVoid && bound.includes(part) ? [] : [{ ...part, text: mask(part.text) }]
    })
    return { ...reply, content }
  }

  #maskCall(call: ToolCall, tools: ReadonlyMap<string, Tool>): ToolCall {
    const names = secretNames(tools, call.name)
    if (names.length === 0) return call
    this.#args.set(call.id, call.args)
    const args = parsed(call.args)
    if (args === undefined) return { ...call, args: MASK }
    this.#known = [...this.#known, new Masking(args, names)]
    return { ...call, args: JSON.stringify(maskArgs(args, names)) }
  }
}

const NONE: readonly string[] = []

/** The names of a tool's secret arguments. */
export function secretNames(tools: ReadonlyMap<string, Tool>, tool: string): readonly string[] {
  return tools.get(tool)?.secret ?? NONE
}

/** The secrets in arguments, which may be incomplete JSON. */
export function maskingOf(args: string, names: readonly string[]): Masking | undefined {
  const read = parsed(args)
  return read === undefined ? undefined : new Masking(read, names)
}

function parsed(args: string): Json | undefined {
  try {
    return args.trim() === "" ? {} : JSON.parse(args)
  } catch {
    return undefined
  }
}

/** Whether the recorded arguments of a call are masked. */
export function isMasked(tool: Tool, args: string): boolean {
  return tool.secret !== undefined && tool.secret.length > 0 && args.includes(MASK)
}

/** Edited arguments, with the remaining masks replaced by the real values. */
export function fillMasks(edited: unknown, real: unknown): unknown {
  if (edited === MASK) return real
  if (typeof edited !== "object" || edited === null || typeof real !== "object" || real === null)
    return edited
  if (Array.isArray(edited)) return edited.map((item, i) => fillMasks(item, (real as unknown[])[i]))
  const before = real as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(edited).map(([name, item]) => [name, fillMasks(item, before[name])]),
  )
}

export const UNKNOWN = "TOOL_OUTCOME_UNKNOWN"

/**
 * Calls with an unknown outcome: the process died while they ran, and their secret arguments are lost. When the model
 * repeats such a call, it gets the idempotency key of the first one, so that the receiver recognizes it.
 */
export class UnknownOutcomes {
  readonly #calls: { readonly name: string; readonly args: string; readonly key: string }[] = []

  /** The key of the call that this one repeats: the same tool, and the same arguments except secret ones. */
  take({ name, args }: ToolCall): string | undefined {
    if (this.#calls.length === 0) return undefined
    const shown = shownArgs(args)
    const at = this.#calls.findIndex((one) => one.name === name && one.args === shown)
    return at < 0 ? undefined : this.#calls.splice(at, 1)[0]?.key
  }

  /** Remembers the key of a call whose outcome is unknown. */
  note({ name, args }: ToolCall, outcome: ToolOutcome, key: string): void {
    if (outcome.ok || outcome.error.code !== UNKNOWN) return
    this.#calls.push({ name, args: shownArgs(args), key })
  }
}

function shownArgs(args: string): string {
  return canonicalJson(readObject(args) as Json)
}
