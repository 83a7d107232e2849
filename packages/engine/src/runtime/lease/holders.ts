/**
 * Which holders are alive. No wall clock is compared: a clock may be stepped at any time.
 * - On the watcher's machine a holder is alive while its process exists. A process that is silent for minutes (stopped or
 *   stuck) counts as hung.
 * - On another machine a holder is dead when this process has seen no heartbeat for the duration of a lease, or when the
 *   lease has lapsed by the store's own clock.
 */
import type { Dismissal, Holder, StoredHolder } from "../ports/stored.ts"

/** Milliseconds between two polls of the store. */
export const TICK = 1_000
/** Milliseconds without a heartbeat after which a holder on another machine counts as dead. */
export const DEFAULT_LEASE = 10_000
/** Milliseconds without a heartbeat after which a process of this machine counts as hung. */
export const DEFAULT_HUNG_AFTER = 300_000

// Not imported: the exports of an imported `node:fs` include its streams, which would be loaded with every import of this
// package.
const files = () => process.getBuiltinModule("node:fs")
const system = () => process.getBuiltinModule("node:os")

let machine: string | undefined
let born: string | undefined

/** Equal for processes that can see each other by pid: a container and a reboot have pids of their own. */
function thisMachine(): string {
  machine ??= [system().hostname(), bootId(), processSpace()].join(" ")
  return machine
}

function bootId(): string {
  try {
    return files().readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
  } catch {
    return "-"
  }
}

function processSpace(): string {
  try {
    return files().readlinkSync("/proc/self/ns/pid")
  } catch {
    return process.platform
  }
}

/** This process, as a holder of runs. */
export function thisProcess(): Omit<Holder, "id"> {
  born ??= statusOf(process.pid)?.born ?? ""
  return { machine: thisMachine(), pid: process.pid, born }
}

/** The status of a process on Linux: when it was started, in ticks since boot, and whether it is dead and not yet reaped. */
function statusOf(pid: number): { readonly born: string; readonly isZombie: boolean } | undefined {
  try {
    const stat = files().readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return { born: fields[19] ?? "", isZombie: fields[0] === "Z" || fields[0] === "X" }
  } catch {
    return undefined
  }
}

function isRunning({ pid, born }: Holder): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it exists, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
  }
  const status = statusOf(pid)
  if (status === undefined) return true
  return !status.isZombie && (born === "" || status.born === born)
}

/** Whether a holder's process exists, if this process can see it. */
export function processOf(holder: Holder): "running" | "gone" | "elsewhere" {
  if (holder.machine !== thisMachine()) return "elsewhere"
  return isRunning(holder) ? "running" : "gone"
}

interface Observed {
  readonly beat: number
  /** Observed milliseconds without a new heartbeat. */
  readonly silent: number
  readonly lookedAt: number
}

export class Watch {
  readonly #machine: string
  readonly #lease: number
  readonly #hungAfter: number
  readonly #monotonic: () => number
  readonly #seen = new Map<string, Observed>()

  constructor(
    options: { readonly machine: string; readonly lease: number; readonly hungAfter: number },
    monotonic: () => number,
  ) {
    this.#machine = options.machine
    this.#lease = options.lease
    this.#hungAfter = options.hungAfter
    this.#monotonic = monotonic
  }

  /** The holders that are gone, and why. */
  gone(holders: readonly StoredHolder[]): { readonly id: string; readonly why: Dismissal }[] {
    for (const id of this.#seen.keys()) if (!holders.some((holder) => holder.id === id)) this.#seen.delete(id)
    return holders.flatMap((holder) => {
      const why = this.isGone(holder)
      return why === undefined ? [] : [{ id: holder.id, why }]
    })
  }

  /** Undefined while it is alive. */
  isGone(holder: StoredHolder): Dismissal | undefined {
    if (holder.lapsed) return { reason: "died" }
    const silent = this.#look(holder)
    if (holder.machine !== this.#machine) return silent > this.#lease ? { reason: "died" } : undefined
    if (!isRunning(holder)) return { reason: "died" }
    return silent > this.#hungAfter ? { reason: "hung", runId: undefined } : undefined
  }

  /** Whether the holder can be judged at once: this process can see its process. */
  isHere({ machine }: Holder): boolean {
    return machine === this.#machine
  }

  /**
   * A poll after a long pause proves little: the watcher itself may have been stopped, or the store locked. A holder counts
   * as silent only after several polls in a row.
   */
  #look({ id, beat }: StoredHolder): number {
    const now = this.#monotonic()
    const seen = this.#seen.get(id)
    const most = Math.min(2 * TICK, this.#lease / 3)
    const silent = seen?.beat === beat ? seen.silent + Math.min(now - seen.lookedAt, most) : 0
    this.#seen.set(id, { beat, silent, lookedAt: now })
    return silent
  }
}
