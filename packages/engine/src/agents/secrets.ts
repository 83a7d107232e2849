/**
 * Arguments that must not be journaled, logged or shown. The model's reply is masked before it is recorded, and so is what
 * the model gets to see of it again; the real values live in memory, for the one call. After a crash they are gone: the
 * model is asked to call again if the tool had not started, and told that the outcome is unknown if it had.
 */
import type { Json } from "../core/index.ts"
import type { ModelReply, ReplyPart } from "../models/index.ts"
import { MASK } from "../text/index.ts"
import type { Tool } from "../tools/index.ts"
import { Masking, maskArgs } from "../tools/secrets.ts"
import type { ToolCall } from "./conversation.ts"

/** Nothing was done: a call is on record before it is made, and this one is not. */
export const LOST =
  "The secret arguments of this call were not kept, and the process was restarted before the tool ran. Call it again."

export function outcomeUnknown(tool: string): string {
  return `The process stopped while "${tool}" ran, so the outcome of this call is unknown: it may have taken effect. It cannot be repeated, because its secret arguments were not kept. Check whether it took effect before you do anything else about it. If it has to be repeated, call "${tool}" with exactly the same arguments: that call has the same idempotency key.`
}

/** What is secret in one conversation, as far as this process has come to know it. */
export class Secrets {
  readonly #args = new Map<string, string>()
  #known: readonly Masking[] = []

  /** The arguments of a call that has secrets, as the model wrote them: until the call is over. */
  argsOf(call: string): string | undefined {
    return this.#args.get(call)
  }

  /** The calls are over. What was secret in them stays so. */
  endCalls(): void {
    this.#args.clear()
  }

  /** Nothing that was said so far has to be kept out of what is said from here on. */
  get isEmpty(): boolean {
    return this.#known.length === 0
  }

  /** The texts to keep out, also those of arguments that are not on record yet. */
  texts(more: readonly Masking[]): readonly string[] {
    return [...this.#known, ...more].flatMap(({ texts }) => texts)
  }

  /** The reply as it may be recorded. What it hides is known from here on. */
  maskReply(reply: ModelReply, tools: ReadonlyMap<string, Tool>): ModelReply {
    const calls = reply.content.map((part) =>
      part.type === "tool-call" ? this.#maskCall(part, tools) : part,
    )
    const content = calls.map((part): ReplyPart => {
      if (part.type !== "text" && part.type !== "reasoning") return part
      return { ...part, text: this.#known.reduce((text, masking) => masking.text(text), part.text) }
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

/** What is secret in arguments that may not have come to their end. */
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

/** Edited arguments, with the masks that the editor left in place filled with what was there. */
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
