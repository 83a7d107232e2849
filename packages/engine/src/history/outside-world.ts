/** External events in a replay: answers and signals arrive, timers fire, the run is cancelled, in the recorded order. */
import { type OpenRequest, type TaskId, toErrorData } from "../core/index.ts"
import { RUN_TIMER } from "../core/internal.ts"
import type { RunHost } from "../runtime/index.ts"
import { outerId } from "../runtime/internal.ts"
import type { FromOutside, Names, RecordedRun } from "./recorded-run.ts"

/** Something that can happen now, and its position in the record. */
export interface Move {
  readonly rank: number
  readonly act: () => unknown
}

type Note = (place: { readonly frame: string; readonly task: TaskId }, text: string) => void

export class OutsideWorld {
  readonly #host: RunHost
  readonly #recorded: RecordedRun
  readonly #names: Names
  readonly #note: Note
  /** The frames of the replay, by name. */
  readonly #frames = new Map<string, string>([["", ""]])

  /** `note` receives what could not be taken from the record. */
  constructor(host: RunHost, recorded: RecordedRun, names: Names, note: Note) {
    this.#host = host
    this.#recorded = recorded
    this.#names = names
    this.#note = note
  }

  /** A frame that has begun. */
  add(frame: string): void {
    this.#frames.set(this.#names.frame(frame), frame)
  }

  /** The first move that can happen now and was recorded before that rank. */
  next(before: number): Move | undefined {
    if ((this.#recorded.outside[0]?.rank ?? before) >= before) return undefined
    this.#nameRequests()
    for (const one of this.#recorded.outside) {
      if (one.rank >= before) break
      const act = this.#actOf(one)
      if (act !== undefined) return { rank: one.rank, act: () => this.#happen(one, act) }
    }
    return undefined
  }

  #happen(one: FromOutside, act: () => unknown): unknown {
    this.#recorded.takeOutside(one)
    return act()
  }

  /** The timer that is due first, except those that were still set when the recording was made. Never the run's own. */
  nextTimer(): { readonly at: number; readonly fire: () => void } | undefined {
    this.#nameRequests()
    let next: { readonly at: number; readonly fire: () => void } | undefined
    for (const key of this.#live()) {
      const frame = this.#host.frame(key)
      for (const [timer, at] of frame?.machine.snapshot().timers ?? []) {
        if (timer === RUN_TIMER || this.#recorded.wasSet(this.#names.timer(key, timer))) continue
        if (next === undefined || at < next.at) next = { at, fire: () => frame?.fireTimer(timer) }
      }
    }
    return next
  }

  #actOf(one: FromOutside): (() => unknown) | undefined {
    const { root } = this.#host
    switch (one.type) {
      case "answer":
        return this.#answerOf(one)
      case "signal":
        return this.#signalOf(one)
      case "timer":
        return this.#timerOf(one)
      case "fork":
        return this.#forkOf(one)
      case "cancel":
        return () => root.cancel(one.reason)
      case "fail":
        return () => root.apply({ type: "run.failed", at: this.#host.now(), error: one.error })
    }
  }

  *#live(): Generator<string, void, undefined> {
    for (const [name, key] of this.#frames) {
      if (this.#host.frame(key) !== undefined) yield key
      else this.#frames.delete(name)
    }
  }

  #requestsOf(key: string): OpenRequest[] {
    return this.#host.frame(key)?.machine.requests() ?? []
  }

  /** Names questions as the record does: by the key of their task's wait, or by number. */
  #nameRequests(): void {
    for (const key of this.#live()) {
      const numbers = new Map<number, number>()
      for (const request of this.#requestsOf(key)) {
        if (this.#names.request(key, request.id) !== undefined) continue
        const waits = this.#host.frame(key)?.machine.task(request.task)?.waits ?? []
        const inline = [...waits].find(([, wait]) => wait.kind === "request" && wait.request === request.id)
        const number = (numbers.get(request.task) ?? 0) + 1
        if (inline === undefined) numbers.set(request.task, number)
        this.#names.openRequest(key, request, inline?.[0] ?? number)
      }
    }
  }

  #answerOf({
    request: name,
    value,
    by,
  }: Extract<FromOutside, { type: "answer" }>): (() => unknown) | undefined {
    for (const key of this.#live()) {
      const request = this.#requestsOf(key).find(({ id }) => this.#names.request(key, id) === name)
      if (request === undefined) continue
      return () =>
        this.#host.respond(outerId(key, request.id), value, by).catch((error) => {
          this.#note(
            { frame: key, task: request.task },
            `The recorded answer is rejected: ${toErrorData(error).message}`,
          )
        })
    }
    return undefined
  }

  /** A signal that nothing waits for any more stays in the buffer, as it would in a new run. */
  #signalOf({ id, name, value }: Extract<FromOutside, { type: "signal" }>): () => unknown {
    return () => this.#host.signal({ id, name, value, isAccepted: true }).catch(() => undefined)
  }

  #timerOf({ timer: name }: Extract<FromOutside, { type: "timer" }>): (() => unknown) | undefined {
    for (const key of this.#live()) {
      const frame = this.#host.frame(key)
      for (const timer of frame?.machine.timers() ?? []) {
        if (this.#names.timer(key, timer) === name) return () => frame?.fireTimer(timer)
      }
    }
    return undefined
  }

  /** What the fork changed, for channels that exist. */
  #forkOf({ frame: name, entry }: Extract<FromOutside, { type: "fork" }>): (() => unknown) | undefined {
    const frame = this.#host.frame(this.#frames.get(name) ?? name)
    if (frame === undefined) return undefined
    const { channels } = frame.machine.graph
    const state = Object.fromEntries(Object.entries(entry.state ?? {}).filter(([key]) => channels.has(key)))
    return () => frame.apply({ ...entry, state })
  }
}
