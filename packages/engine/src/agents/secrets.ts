/**
 * Arguments that must not be journaled, logged or shown. The model's reply is masked before it is recorded, and so is what
 * the model gets to see of it again; the real values live in memory, for the one call. After a crash they are gone, and the
 * model is asked to call again.
 */
import type { Json } from "../core/index.ts"
import type { ModelReply, ReplyPart } from "../models/index.ts"
import type { Tool } from "../tools/index.ts"
import { MASK, Masking, maskArgs } from "../tools/secrets.ts"

/** The arguments of calls that have secrets, as the model wrote them, by the call's id. */
export type LiveArgs = Map<string, string>

export const LOST =
  "The secret arguments of this call were not kept, and the process was restarted before the tool ran. Call it again."

/** The reply as it may be recorded. What it hides goes into `live`. */
export function maskReply(reply: ModelReply, tools: ReadonlyMap<string, Tool>, live: LiveArgs): ModelReply {
  const secrets: Masking[] = []
  const content = reply.content.map((part): ReplyPart => {
    const names = part.type === "tool-call" ? tools.get(part.name)?.secret : undefined
    if (part.type !== "tool-call" || names === undefined || names.length === 0) return part
    live.set(part.id, part.args)
    const args = parsed(part.args)
    if (args === undefined) return { ...part, args: MASK }
    secrets.push(new Masking(args, names))
    return { ...part, args: JSON.stringify(maskArgs(args, names)) }
  })
  if (live.size === 0) return reply
  return { ...reply, content: content.map((part) => saidWithout(part, secrets)) }
}

function saidWithout(part: ReplyPart, secrets: readonly Masking[]): ReplyPart {
  if (part.type !== "text" && part.type !== "reasoning") return part
  return { ...part, text: secrets.reduce((text, masking) => masking.text(text), part.text) }
}

function parsed(args: string): Json | undefined {
  try {
    return args.trim() === "" ? {} : JSON.parse(args)
  } catch {
    return undefined
  }
}

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
