/**
 * Arguments that must not be journaled, logged or shown. The model's reply is masked before it is recorded, and the model
 * sees the masked form again; the real values stay in memory, for the one call. After a crash they are lost: the model is
 * asked to call again if the tool had not started, and learns that the outcome is unknown if it had.
 */
import type { Json } from "../core/index.ts"
import { canonicalJson } from "../core/internal.ts"
import type { ModelReply, ReplyPart } from "../models/index.ts"
import { MASK } from "../text/index.ts"
import type { Tool } from "../tools/index.ts"
import { Masking, maskArgs, type ToolOutcome } from "../tools/internal.ts"
import { readObject, type ToolCall } from "./conversation.ts"

/** Nothing was done: a call is recorded before it is made, and this one is not. */
export const LOST =
  "The secret arguments of this call were not stored, and the process was restarted before the tool ran. Call it again."

export function outcomeUnknown(tool: string): string {
  return `The process stopped while "${tool}" ran, so the outcome of this call is unknown: it may have taken effect. It cannot be repeated, because its secret arguments were not stored. Check whether it took effect before you do anything else about it. If it has to be repeated, call "${tool}" with exactly the same arguments: that call has the same idempotency key.`
}

/** The secrets of one conversation that this process knows. */
export class Secrets {
  readonly #args = new Map<string, string>()
  #known: readonly Masking[] = []

  /** The arguments of a call with secrets, as the model wrote them, until the call ends. */
  argsOf(call: string): string | undefined {
    return this.#args.get(call)
  }

  /** A hook changed the other arguments of the call. */
  setArgs(call: string, args: string): void {
    this.#args.set(call, args)
  }

  /** The calls have ended. Their secrets stay secret. */
  endCalls(): void {
    this.#args.clear()
  }

  /** No secret is known so far. */
  get isEmpty(): boolean {
    return this.#known.length === 0
  }

  /** The strings to mask, those of unrecorded arguments included. */
  texts(more: readonly Masking[]): readonly string[] {
    return [...this.#known, ...more].flatMap(({ texts }) => texts)
  }

  /** The reply as it may be recorded. Remembers the secrets that it masks. */
  maskReply(reply: ModelReply, tools: ReadonlyMap<string, Tool>): ModelReply {
    const calls = reply.content.map((part) =>
      part.type === "tool-call" ? this.#maskCall(part, tools) : part,
    )
    const mask = (text: string) => this.#known.reduce((masked, masking) => masking.text(masked), text)
    const bound = calls.filter((part) => part.type === "reasoning" && part.providerMetadata !== undefined)
    // Such reasoning is signed, or encrypted beside its text: it goes back whole or not at all.
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

/** Names of the arguments that a tool keeps secret. */
export function secretNames(tools: ReadonlyMap<string, Tool>, tool: string): readonly string[] {
  return tools.get(tool)?.secret ?? NONE
}

/** The secrets in arguments that may be incomplete. */
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

/** Whether a call's arguments are on record without their secrets. */
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

  /** The key of a call that this one repeats: the same tool, and the same arguments as far as they are not secret. */
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
