/**
 * Has other processes execute runs, through a dispatcher, and knows which of them are with a run: who waits for the run need not look
 * for its end meanwhile. A visit that is lost is none: the run is in the store, where a process finds it.
 *
 * The process that takes mail replies twice: through the dispatcher, and straight through the store's live channel, which is faster and may
 * lose the reply. Whichever comes first counts.
 */
import type { Json, RunId } from "../../core/index.ts"
import type {
  BroughtMail,
  Dispatcher,
  EndedRun,
  MailReply,
  RunStart,
  StartReply,
} from "../ports/dispatcher.ts"
import type { LiveChannel, LiveService } from "../ports/live-channel.ts"
import type { Mail } from "../ports/stored.ts"
import { newRunId } from "../run/options.ts"

/** How many ends of runs are kept for those who ask for them next, and for how many milliseconds. */
const MAX_ENDS = 64
const END_KEPT = 1_000
/** Characters of a reply through the live channel: a larger one comes through the dispatcher alone. */
const MAX_DIRECT = 4_096

export class Visits {
  readonly #dispatcher: Dispatcher
  readonly #report: (runId: RunId, error: Error) => void
  readonly #live: LiveChannel | undefined
  /** Nobody else can guess it. */
  readonly #address: string = `replies ${newRunId()}`
  readonly #awaited = new Map<string, (reply: MailReply) => void>()
  #listening: LiveService | undefined
  readonly #visits = new Map<RunId, Promise<unknown>>()
  /** Of runs that ended with mail from here, the latest last. */
  readonly #ends = new Map<RunId, { readonly ended: EndedRun; readonly at: number }>()

  constructor(
    dispatcher: Dispatcher,
    live: LiveChannel | undefined,
    report: (runId: RunId, error: Error) => void,
  ) {
    this.#dispatcher = dispatcher
    this.#live = live
    this.#report = report
  }

  /** Sends for a process, which executes the run at once, or `at` a time; `graph`: one that has it. Never rejects: problems are reported. */
  send(runId: RunId, at?: number, graph?: string): Promise<void> {
    const isWatched = at === undefined && graph === undefined && this.#dispatcher.execute !== undefined
    const sent = isWatched ? this.#dispatcher.execute?.(runId) : this.#dispatcher.activate(runId, at, graph)
    const reported = this.#reported(runId, sent as Promise<void>)
    return isWatched ? this.#keep(runId, reported) : reported
  }

  /** Has a process create the run and execute it. Undefined, or a promise of that, if none does: create it here. */
  start(run: RunStart): Promise<StartReply | undefined> | undefined {
    const sent = this.#dispatcher.start?.(run)
    return sent && this.#keep(run.runId, this.#reported(run.runId, sent))
  }

  #reported<T>(runId: RunId, sent: Promise<T>): Promise<T | undefined> {
    return sent.catch((error) => {
      this.#report(runId, error instanceof Error ? error : new Error(String(error)))
      return undefined
    })
  }

  #keep<T>(runId: RunId, sent: Promise<T>): Promise<T> {
    const kept = sent.finally(() => {
      if (this.#visits.get(runId) === kept) this.#visits.delete(runId)
    })
    this.#visits.set(runId, kept)
    return kept
  }

  /** Has a process take the mail. Resolves with its reply; undefined if none took it, which is reported if it is a problem. */
  async deliver(mail: Mail): Promise<MailReply | undefined> {
    this.#listening ??= this.#live?.listen?.(this.#address, (message) => this.#take(message))
    const direct = new Promise<MailReply>((resolve) => this.#awaited.set(mail.id, resolve))
    const brought = this.#dispatcher.deliver?.(this.#listening ? { ...mail, replyTo: this.#address } : mail)
    try {
      return await Promise.race([direct, brought])
    } catch (error) {
      this.#report(mail.runId, error instanceof Error ? error : new Error(String(error)))
      return undefined
    } finally {
      this.#awaited.delete(mail.id)
    }
  }

  #take(message: Json): void {
    const { mail, reply } = (message ?? {}) as Partial<DirectReply>
    if (typeof mail === "string" && typeof reply?.ok === "boolean") this.#awaited.get(mail)?.(reply)
  }

  close(): void {
    this.#listening?.close()
  }

  /** A process has replied with the end of the run. */
  noteEnd(runId: RunId, ended: EndedRun, at: number): void {
    for (const [known, end] of this.#ends) {
      if (this.#ends.size < MAX_ENDS && at - end.at < END_KEPT) break
      this.#ends.delete(known)
    }
    this.#ends.set(runId, { ended, at })
  }

  /** The end, once: the store has it, too. */
  takeEnd(runId: RunId, now: number): EndedRun | undefined {
    const end = this.#ends.get(runId)
    this.#ends.delete(runId)
    return end !== undefined && now - end.at < END_KEPT ? end.ended : undefined
  }

  /** Resolves when the process that was sent for last has left the run. Undefined if none is with it, as far as is known. */
  of(runId: RunId): Promise<unknown> | undefined {
    return this.#visits.get(runId)
  }
}

interface DirectReply {
  readonly mail: string
  readonly reply: MailReply
}

/** Sends the reply to mail straight to its sender, who also gets it from the dispatcher. */
export function replyDirectly(live: LiveChannel | undefined, mail: BroughtMail, reply: MailReply): void {
  if (typeof mail.replyTo !== "string" || live?.send === undefined) return
  const message: DirectReply = { mail: mail.id, reply }
  if (JSON.stringify(message).length <= MAX_DIRECT) live.send(mail.replyTo, message as unknown as Json)
}
