/**
 * A run is under suspicion when two processes died while they executed it. In its trial it executes with no other suspect,
 * alone if nothing else executes yet, until it makes progress, waits, ends, or has survived for a while, which absolves it.
 * This distinguishes a run that kills its process from those that executed alongside.
 */
import type { RunHost, StoredRun } from "../runtime/index.ts"
import { deferred } from "../runtime/internal.ts"

export interface TrialOptions {
  /** Nothing else executes in the process, and nothing is started before the trial has ended. */
  readonly isAlone: boolean
  readonly now: number
  /** Milliseconds that a first trial takes at most; each further one takes twice as long, for runs that kill slowly. */
  readonly lease: number
}

export class Trial {
  readonly host: RunHost
  readonly isAlone: boolean
  readonly ended: Promise<void>
  readonly end: () => void
  readonly #progress: number
  readonly #until: number

  constructor(host: RunHost, { trials }: StoredRun, { isAlone, now, lease }: TrialOptions) {
    const { promise, resolve } = deferred()
    this.ended = promise
    this.end = resolve
    this.host = host
    this.isAlone = isAlone
    this.#progress = host.progress
    this.#until = now + lease * 2 ** trials
  }

  /** Undefined while it continues. `cleared`: the run has made progress, waits, or has ended. */
  outcome(now: number): "cleared" | "survived" | undefined {
    const { host } = this
    if (host.isOver || host.failure !== undefined || host.progress > this.#progress) return "cleared"
    if (!host.isBusy && host.hasCaughtUp()) return "cleared"
    return now >= this.#until ? "survived" : undefined
  }
}

/**
 * Whether to quarantine the run. Several suspects that died together are not guilty yet; but no run may kill processes
 * without bound.
 */
export function isGuilty({ takeovers, blamed }: StoredRun, maxTakeovers: number): boolean {
  if (takeovers <= maxTakeovers) return false
  return blamed || maxTakeovers < 2 || takeovers > 3 * maxTakeovers
}
