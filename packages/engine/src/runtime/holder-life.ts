/**
 * Who is alive. A holder says so in the store every few seconds, and counts as dead when it is not heard of for the time
 * it gave itself; when its count of heartbeats has not moved for as long by the watcher's own ticks, whatever the clocks
 * say; or, on the watcher's machine, when its process is gone.
 */
import { readlinkSync } from "node:fs"
import { hostname } from "node:os"
import type { Holder } from "./stored.ts"

/** Milliseconds between two looks at the store. */
export const TICK = 1_000
/** Milliseconds without a heartbeat after which a holder counts as dead. */
export const DEFAULT_LEASE = 10_000

let machine: string | undefined

/** The same for processes that can see each other by id: a container has process ids of its own. */
export function thisMachine(): string {
  machine ??= `${hostname()} ${processSpace()}`
  return machine
}

function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid")
  } catch {
    return process.platform
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, and another user's.
    return (error as NodeJS.ErrnoException).code !== "ESRCH"
  }
}

export class Watch {
  readonly #lease: number
  /** By holder: its heartbeat when it was first seen, and at which tick. */
  readonly #seen = new Map<string, { readonly beat: number; readonly tick: number }>()
  #tick = 0

  constructor(lease: number) {
    this.#lease = lease
  }

  tick(): void {
    this.#tick++
  }

  /** Those of the holders that are dead. */
  dead(holders: readonly Holder[], now: number): Holder[] {
    for (const id of this.#seen.keys()) if (!holders.some((holder) => holder.id === id)) this.#seen.delete(id)
    return holders.filter((holder) => this.isDead(holder, now))
  }

  isDead(holder: Holder, now: number): boolean {
    if (holder.until <= now) return true
    if (holder.machine === thisMachine() && !isRunning(holder.pid)) return true
    const seen = this.#seen.get(holder.id)
    if (seen?.beat !== holder.beat) {
      this.#seen.set(holder.id, { beat: holder.beat, tick: this.#tick })
      return false
    }
    return (this.#tick - seen.tick) * TICK > this.#lease
  }
}
