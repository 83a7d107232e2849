/**
 * Keeps the runs that this process holds in a store: says that it is alive, brings them their mail, and takes runs over
 * from processes that are dead. Every run with a store has one: that of its runtime, or the one of its store.
 *
 * Invariants:
 * K1 A run is written to under a lease only, and a lease is taken from a dead holder or from none, unless a person says so.
 * K2 A holder is known to the store before it holds its first run.
 * K3 Mail is settled after what it asks for is durable, or refused.
 */
import { isSuperstepError, type RunId, SuperstepError, toErrorData } from "../core/index.ts"
import { type Clock, systemClock } from "./clock.ts"
import { DEFAULT_LEASE, TICK, thisMachine, Watch } from "./holder-life.ts"
import { isPromise } from "./maybe-promise.ts"
import type { RunHost } from "./run-host.ts"
import { newRunId } from "./run-id.ts"
import type { Store } from "./store.ts"
import type { Holder, Lease, Mail, MailOutcome, StoredRun } from "./stored.ts"

/** How a run ends here that could go on elsewhere. */
const LOST = ["JOURNAL_LOST", "STORE_WRITE_FAILED"]

export class Keeper {
  readonly store: Store
  readonly id: string = newRunId()
  readonly watch: Watch
  readonly #now: () => number
  readonly #lease: number
  readonly #live = new Map<RunId, RunHost>()
  readonly #toRelease: Lease[] = []
  /** Told of every run that it comes to hold. */
  onHold: ((host: RunHost) => void) | undefined
  readonly #whileHolding: ((keeper: Keeper) => () => void) | undefined
  #noLonger: (() => void) | undefined
  #beat = 0
  #beatDue = 0
  #beating: Promise<void> | undefined

  /** `whileHolding` is called with the first run that it holds; what it gives, with the last. */
  constructor(
    store: Store,
    clock: Pick<Clock, "now">,
    lease: number = DEFAULT_LEASE,
    whileHolding?: (keeper: Keeper) => () => void,
  ) {
    this.store = store
    this.watch = new Watch(lease)
    this.#now = () => clock.now()
    this.#lease = lease
    this.#whileHolding = whileHolding
  }

  /** K2. Undefined when there is nothing to wait for. */
  begin(): Promise<void> | undefined {
    return this.#beating ?? (this.#isBeatDue() ? this.#say() : undefined)
  }

  /** A clock that jumped back must not silence it. */
  #isBeatDue(): boolean {
    const now = this.#now()
    return now >= this.#beatDue || this.#beatDue - now > this.#lease
  }

  #say(): Promise<void> | undefined {
    const now = this.#now()
    const holder: Holder = {
      id: this.id,
      machine: thisMachine(),
      pid: process.pid,
      beat: ++this.#beat,
      until: now + this.#lease,
    }
    const said = this.store.beat(holder)
    const done = () => {
      this.#beatDue = now + this.#lease / 3
      this.#beating = undefined
    }
    if (!isPromise(said)) {
      done()
      return undefined
    }
    this.#beating = said.then(done, (error) => {
      this.#beating = undefined
      throw error
    })
    return this.#beating
  }

  newLease(runId: RunId): Lease {
    return { runId, holder: this.id, token: 1 }
  }

  /** A run that is being started, and may turn out to be here already. */
  addNew(host: RunHost): void {
    if (!this.#live.has(host.runId)) this.add(host)
  }
  add(host: RunHost): void {
    this.#live.set(host.runId, host)
    this.#noLonger ??= this.#whileHolding?.(this)
    this.onHold?.(host)
    host.onFinish(() => this.#finished(host))
  }
  remove(host: RunHost): void {
    if (this.#live.get(host.runId) === host) this.#live.delete(host.runId)
    if (this.#live.size > 0 || this.#toRelease.length > 0) return
    this.#noLonger?.()
    this.#noLonger = undefined
  }
  /** A run that the store did not take for a while is let go once it answers again: others may go on with it. */
  #finished(host: RunHost): void {
    const isLost = LOST.some((code) => isSuperstepError(host.failure, code))
    if (isLost && host.lease !== undefined) this.#toRelease.push(host.lease)
    this.remove(host)
  }
  host(runId: RunId): RunHost | undefined {
    return this.#live.get(runId)
  }
  hosts(): Iterable<RunHost> {
    return this.#live.values()
  }
  get size(): number {
    return this.#live.size
  }

  /** To be called every TICK. A store that fails is tried again with the next one. */
  async tick(): Promise<void> {
    this.watch.tick()
    await this.begin()
    for (let lease = this.#toRelease[0]; lease !== undefined; lease = this.#toRelease[0]) {
      await this.store.release(lease, this.#now())
      this.#toRelease.shift()
    }
    if (this.#live.size > 0) await this.deliver()
  }

  /** Brings the runs that are here their mail. */
  async deliver(): Promise<void> {
    const mail = await this.store.mail(this.id)
    // A run that is held and not here is on its way in, or out: its mail waits.
    for (const one of mail) {
      const host = this.#live.get(one.runId)
      if (host !== undefined) await this.#settle(host, one)
    }
  }

  /** Does what the mail asks for, and says what came of it (K3). */
  async #settle(host: RunHost, { id, wish }: Mail): Promise<void> {
    let outcome: MailOutcome = { ok: true }
    try {
      if (wish.type === "answer") await host.respond(wish.request, wish.value, wish.by)
      else {
        host.root.cancel(wish.reason)
        await host.durable()
      }
    } catch (error) {
      const { code, message } = toErrorData(error)
      outcome = { ok: false, code, message }
    }
    await this.store.settleMail(id, outcome)
  }

  /** The run cannot be taken up: who wrote to it is told. */
  async refuseMail(runId: RunId, error: unknown): Promise<void> {
    const { code, message } = toErrorData(error)
    for (const mail of await this.store.mail(this.id)) {
      if (mail.runId === runId) await this.store.settleMail(mail.id, { ok: false, code, message })
    }
  }

  /** Whether somebody alive, and not this process, holds the run. */
  async isHeldElsewhere({ holder }: StoredRun): Promise<Holder | undefined> {
    if (holder === undefined || holder === this.id) return undefined
    const found = (await this.store.holders()).find(({ id }) => id === holder)
    return found === undefined || this.watch.isDead(found, this.#now()) ? undefined : found
  }

  /** Takes a run that nobody alive holds (K1). */
  async claim(run: StoredRun): Promise<Lease | undefined> {
    await this.begin()
    return await this.store.claim(run.runId, run.token, this.id)
  }

  release(host: RunHost, wakeAt: number | undefined): Promise<void> | void {
    this.remove(host)
    return host.lease === undefined ? undefined : this.store.release(host.lease, wakeAt)
  }

  /** Nothing is held any more. */
  async end(): Promise<void> {
    if (this.#beat > 0) await this.store.dismiss(this.id)
  }
}

export function runHeld({ runId }: StoredRun, { machine, pid }: Holder): SuperstepError {
  const text = `Run "${runId}" is at work in process ${pid} on ${machine.split(" ")[0]}. Wait for it, or resume it with takeOver: true if that process is stuck.`
  return new SuperstepError("RUN_HELD", text, { run: runId })
}

/** For runs that were started without a runtime: one keeper a store, for as long as the store is used. */
const keepers = new WeakMap<Store, Keeper>()

export function keeperOf(store: Store): Keeper {
  let keeper = keepers.get(store)
  if (keeper === undefined) {
    keeper = new Keeper(store, systemClock, DEFAULT_LEASE, keepAlive)
    keepers.set(store, keeper)
  }
  return keeper
}

/** Neither the process nor the store is kept by it. */
function keepAlive(keeper: Keeper): () => void {
  const reference = new WeakRef(keeper)
  const timer = setInterval(() => {
    const found = reference.deref()
    if (found === undefined) clearInterval(timer)
    else found.tick().catch(() => undefined)
  }, TICK)
  timer.unref()
  return () => clearInterval(timer)
}
