/**
 * The text and the reasoning of one model call: what has arrived live, what of it was emitted, and how the record of the
 * call completes that. Live text is a prefix of the record, unless a retry or a secret replaced it: then what was emitted is
 * void, and its items begin again.
 */
import type { ReplyPart } from "@superstep/engine/models"

export type TextKind = "text" | "reasoning"

export interface TextDelta {
  readonly kind: TextKind
  readonly text: string
  /** The length of earlier text of the same kind in the call. */
  readonly offset: number
}

/** Where the text goes. */
export interface TextSink {
  /** Begins the next item. */
  next(): ItemEdition
  /** `offset` is that in the item. */
  delta(at: ItemEdition, delta: TextDelta): void
  /** The item has ended. Void: what follows replaces it. */
  done(at: ItemEdition, kind: TextKind, text: string, isVoid: boolean): void
  /** The item and those after it begin again. */
  again(item: number): void
}

interface ItemEdition {
  readonly item: number
  readonly edition: number
}

interface Segment {
  readonly kind: TextKind
  text: string
}

interface Emitted extends Segment {
  readonly at: ItemEdition
  isDone: boolean
}

export class CallText {
  readonly #sink: TextSink
  #arrived: Segment[] = []
  readonly #emitted: Emitted[] = []
  /** Live text is missing: the rest comes with the record. */
  isLost: boolean

  constructor(sink: TextSink, isLost: boolean) {
    this.#sink = sink
    this.isLost = isLost
  }

  take({ kind, text, offset }: TextDelta): void {
    const length = lengthOf(this.#arrived, kind)
    if (offset > length) this.isLost = true
    if (this.isLost) return
    if (offset < length) this.#arrived = upTo(this.#arrived, kind, offset)
    if (text === "") return
    const emitted = this.#emitted.at(-1)
    const last = this.#arrived.at(-1)
    const isInStep =
      this.#arrived.length === this.#emitted.length && last?.text.length === emitted?.text.length
    if (last?.kind === kind) last.text += text
    else this.#arrived.push({ kind, text })
    if (isInStep && emitted?.kind === kind) this.#emit(emitted, text)
    else this.#reconcile(false)
  }

  /** The record of the call. */
  complete(content: readonly ReplyPart[], kinds: ReadonlySet<TextKind>): void {
    this.#arrived = segmentsOf(content, kinds)
    this.#reconcile(true)
    for (const emitted of this.#emitted) this.#done(emitted, false)
  }

  /** The call has no record: it failed, or its task did. */
  drop(): void {
    this.#void(0)
  }

  /** Emits what has arrived and was not emitted yet. */
  #reconcile(isWhole: boolean): void {
    for (const [i, { kind, text }] of this.#arrived.entries()) {
      const emitted = this.#emitted[i]
      if (emitted?.kind === kind && text.startsWith(emitted.text)) {
        if (text === emitted.text) continue
        if (!emitted.isDone) {
          this.#emit(emitted, text.slice(emitted.text.length))
          continue
        }
      }
      const isGrowing = !isWhole && i === this.#arrived.length - 1
      // A retry that is not yet as long as the attempt before it.
      if (isGrowing && emitted?.kind === kind && emitted.text.startsWith(text)) return
      this.#void(i)
      const before = this.#emitted.at(-1)
      if (before !== undefined) this.#done(before, false)
      const next: Emitted = { kind, text: "", at: this.#sink.next(), isDone: false }
      this.#emitted.push(next)
      this.#emit(next, text)
    }
    if (isWhole) this.#void(this.#arrived.length)
  }

  #emit(emitted: Emitted, text: string): void {
    this.#sink.delta(emitted.at, { kind: emitted.kind, text, offset: emitted.text.length })
    emitted.text += text
  }

  #done(emitted: Emitted, isVoid: boolean): void {
    if (emitted.isDone) return
    emitted.isDone = true
    this.#sink.done(emitted.at, emitted.kind, emitted.text, isVoid)
  }

  #void(from: number): void {
    const replaced = this.#emitted.splice(from)
    for (const emitted of replaced) this.#done(emitted, true)
    const [first] = replaced
    if (first !== undefined) this.#sink.again(first.at.item)
  }
}

function lengthOf(segments: readonly Segment[], kind: TextKind): number {
  return segments.reduce((sum, segment) => sum + (segment.kind === kind ? segment.text.length : 0), 0)
}

/** What is left of the segments if the text of this kind ends at `length`. */
function upTo(segments: readonly Segment[], kind: TextKind, length: number): Segment[] {
  const kept: Segment[] = []
  let left = length
  for (const segment of segments) {
    if (segment.kind === kind && segment.text.length > left) {
      if (left > 0) kept.push({ kind, text: segment.text.slice(0, left) })
      return kept
    }
    if (segment.kind === kind) left -= segment.text.length
    kept.push(segment)
  }
  return kept
}

/** Text and reasoning as they arrive live: in order, neighbours of one kind together. */
function segmentsOf(content: readonly ReplyPart[], kinds: ReadonlySet<TextKind>): Segment[] {
  const segments: Segment[] = []
  for (const part of content) {
    if ((part.type !== "text" && part.type !== "reasoning") || part.text === "") continue
    if (!kinds.has(part.type)) continue
    const last = segments.at(-1)
    if (last?.kind === part.type) last.text += part.text
    else segments.push({ kind: part.type, text: part.text })
  }
  return segments
}
