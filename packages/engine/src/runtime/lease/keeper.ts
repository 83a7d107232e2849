/**
 * Holds the runs of this process in a store: sends heartbeats, verifies leases, delivers mail, and claims runs that no
 * living process holds. A run with a store has the keeper of its runtime, or the one of its store.
 *
 * Invariants:
 * K1 A run is written to under a lease only. A lease is taken only from a dead holder or from none, unless a person forces
 *    it.
 * K2 A holder is known to the store before it holds its first run.
 * K3 Mail gets its outcome with the record that carries it out, or is rejected once everything before it is durable.
 * K4 Nothing new starts under a lease that was not verified within the duration of a lease.
 * K5 A run has one host in this process: claims, starts and resumptions pass its gate one after another.
 */

import {
  isSuperstepError,
  type Json,
  type RunId,
  type SignalReceived,
  SuperstepError,
  toErrorData,
} from "../../core/index.ts"
import { loadRun } from "../journal/load-run.ts"
import { type Clock, systemClock } from "../ports/clock.ts"
import type { LiveListener, LiveQuery, LiveService, LiveSubscription } from "../ports/live-channel.ts"
import { andThen, isPromise, type MaybePromise, Signal } from "../ports/maybe-promise.ts"
import { runTaken, type Store } from "../ports/store.ts"
import type { Holder, JournalRecord, Lease, Mail, StoredHolder, StoredRun } from "../ports/stored.ts"
import { Places } from "../run/activity.ts"
import { newRunId } from "../run/options.ts"
import type { RunHost } from "../run/run-host.ts"
import { DEFAULT_HUNG_AFTER, DEFAULT_LEASE, TICK, thisProcess, Watch } from "./holders.ts"
import { LoopWatch } from "./loop-watch.ts"
import { SlotKeeper } from "./slot-keeper.ts"

/** Error codes of runs that stop here and can continue elsewhere. */
const LOST = ["JOURNAL_LOST", "STORE_WRITE_FAILED"]

export interface KeeperOptions {
  readonly clock: Clock
  /** Milliseconds; see DEFAULT_LEASE. */
  readonly lease?: number | undefined
  readonly hungAfter?: number | undefined
  /** The scope of this process's pid; default: this machine. */
  readonly machine?: string | undefined
  /** How many runs may execute here at the same time. Default: any number. */
  readonly concurrency?: number | undefined
  /** Called when the keeper holds its first run; the returned function is called when it holds none. */
  readonly whileHolding?: ((keeper: Keeper) => () => void) | undefined
  /** False: no thread sends heartbeats while the event loop is blocked. For short processes. Default true. */
  readonly hasThread?: boolean | undefined
  /** The thread starts with the first run; otherwise with the first tick, so that short processes need none. */
  readonly beatsAtOnce?: boolean | undefined
  readonly onProblem?: ((problem: { readonly runId?: RunId; readonly error: Error }) => void) | undefined
}

export class Keeper {
  readonly store: Store
  readonly id: string = newRunId()
  readonly watch: Watch
  /** Undefined: any number of runs may execute here. */
  readonly places: Places | undefined
  readonly slots: SlotKeeper
  readonly #holder: Holder
  readonly #lease: number
  readonly #options: KeeperOptions
  readonly #loop: LoopWatch | undefined
  readonly #live = new Map<RunId, RunHost>()
  readonly #gates = new Map<RunId, Promise<unknown>>()
  readonly #delivering = new Map<RunId, Promise<void>>()
  #toDeliver: Promise<void> | undefined
  #toBuffer: Promise<readonly Mail[]> | undefined
  readonly #beginning = new Map<RunId, Promise<unknown>>()
  readonly #toRelease: Lease[] = []
  /** Resolves when the run on trial, which executes alone in this process, has not killed it. */
  trial: Promise<void> | undefined
  /** Called for every run that it holds. */
  onHold: ((host: RunHost) => void) | undefined
  /** Why an answer does not match the JSON Schema of its question. Absent: only the process that executes a run checks answers. */
  answerProblem: ((schema: Json, value: Json) => Promise<string | undefined>) | undefined
  /** Releases a run that cannot continue here, with the error. By default it is released unchanged. */
  onStopped: ((lease: Lease, error: unknown) => Promise<void>) | undefined
  #noLonger: (() => void) | undefined
  #service: LiveService | undefined
  /** When the leases were last known to be valid, by both clocks; undefined: never. */
  #verified: { readonly monotonic: number; readonly now: number } | undefined
  #verifying: Promise<void> | undefined
  readonly #sure = new Signal()
  #ended = false

  constructor(store: Store, options: KeeperOptions) {
    const { lease = DEFAULT_LEASE, hungAfter = DEFAULT_HUNG_AFTER } = options
    const here = thisProcess()
    this.store = store
    this.places = options.concurrency === undefined ? undefined : new Places(options.concurrency)
    this.slots = new SlotKeeper(store.slots, options.clock, this.id)
    this.#holder = { ...here, machine: options.machine ?? here.machine, id: this.id }
    this.#lease = lease
    this.#options = options
    this.watch = new Watch({ machine: this.#holder.machine, lease, hungAfter }, () => this.#monotonic())
    // A clock that a test moves says nothing about this process's event loop.
    if (options.clock === systemClock && options.hasThread !== false) {
      const onBlocked = (error: SuperstepError) => options.onProblem?.({ runId: error.run as RunId, error })
      this.#loop = new LoopWatch(store, { holder: this.#holder, every: lease / 3, hungAfter }, onBlocked)
    }
  }

  /** Reports an error that nobody awaits to the runtime, if there is one. */
  report(runId: RunId, error: Error): void {
    this.#options.onProblem?.({ runId, error })
  }

  #monotonic(): number {
    const { clock } = this.#options
    return clock.monotonic?.() ?? clock.now()
  }

  /** Throws if the keeper has ended. */
  checkOpen(): void {
    if (this.#ended) throw keeperEnded()
  }

  // Being alive

  /** K2. Undefined when there is nothing to wait for. */
  begin(): Promise<void> | undefined {
    if (this.#ended) return Promise.reject(keeperEnded())
    return this.#age() < this.#lease / 3 ? this.#verifying : this.verify()
  }

  /** The same before a run starts: waits while a suspected run is on trial. */
  admit(): Promise<void> | undefined {
    return this.trial === undefined ? this.begin() : this.trial.then(() => this.begin())
  }

  /** Milliseconds since the leases were verified, by the clock that shows more: a suspended machine stops one of them. */
  #age(): number {
    if (this.#verified === undefined) return Number.POSITIVE_INFINITY
    const { monotonic, now } = this.#verified
    return Math.max(this.#monotonic() - monotonic, this.#options.clock.now() - now)
  }

  /** K4. Undefined while the leases are known to be valid; else resolves when they are again. */
  sure(): Promise<void> | undefined {
    if (this.#age() < this.#lease) return undefined
    const verifying = this.verify()
    if (verifying === undefined) return undefined
    // A store that does not answer is retried with every tick.
    verifying.catch(() => undefined)
    return this.#sure.wait()
  }

  /** Sends a heartbeat, and stops the runs that other processes have claimed. */
  verify(): Promise<void> | undefined {
    if (this.#verifying !== undefined) return this.#verifying
    // A late call must not register the holder with the store again.
    if (this.#ended) return Promise.reject(keeperEnded())
    const began = { monotonic: this.#monotonic(), now: this.#options.clock.now() }
    const done = () => {
      this.#verified = began
      this.#verifying = undefined
      this.#sure.notify()
    }
    const taken = this.store.beat(this.#holder)
    if (!isPromise(taken) && (!taken || this.#live.size === 0)) {
      done()
      return undefined
    }
    const verified = async () => {
      if ((await taken) && this.#live.size > 0) await this.#stopTaken()
      done()
    }
    this.#verifying = verified().catch((error) => {
      this.#verifying = undefined
      throw error
    })
    return this.#verifying
  }

  /** Stops the runs that were claimed elsewhere. */
  async #stopTaken(): Promise<void> {
    const hosts = [...this.#live.values()].filter((host) => host.isStored && !host.isOver)
    const held = new Map((await this.store.held(this.id)).map(({ runId, token }) => [runId, token]))
    for (const host of hosts) {
      const isGood = held.get(host.runId) === host.lease?.token
      if (!isGood && !host.isOver && this.#live.get(host.runId) === host) host.stop(runTaken(host.runId))
    }
  }

  /** A task of the run has control from now on. */
  enter(runId: RunId, node: string): void {
    this.#loop?.enter(runId, node)
  }

  // Holding runs

  /** K5. Passes the gate of a run: acts at once, or after those who passed it before. */
  pass<T>(runId: RunId, act: () => MaybePromise<T>): MaybePromise<T> {
    const before = this.#gates.get(runId)
    const acted = before === undefined ? act() : before.then(act, act)
    if (!isPromise(acted)) return acted
    keepUntilOver(this.#gates, runId, acted)
    return acted
  }

  /** A run is being started here, and will be held once the promise resolves. */
  begins(runId: RunId, begun: Promise<void>): void {
    keepUntilOver(this.#beginning, runId, begun)
  }
  /** Resolves when the store knows a run that was started here; at once for any other run. */
  async stored(runId: RunId): Promise<void> {
    await this.#beginning.get(runId)
    const host = this.#live.get(runId)
    // The caller that started the run gets the error.
    if (host?.isStored === false) await host.durable().catch(() => undefined)
  }

  newLease(runId: RunId): Lease {
    return { runId, holder: this.id, token: 1 }
  }

  add(host: RunHost): void {
    this.#live.set(host.runId, host)
    this.#noLonger ??= this.#options.whileHolding?.(this)
    if (this.#options.beatsAtOnce) this.#loop?.start()
    this.#service ??= this.store.live?.serve(this.id, (query, listener) => this.follow(query, listener))
    this.onHold?.(host)
    host.onFinish(() => this.#finished(host))
  }
  remove(host: RunHost): void {
    if (this.#live.get(host.runId) === host) this.#live.delete(host.runId)
    if (this.#live.size > 0 || this.#toRelease.length > 0) return
    this.#noLonger?.()
    this.#noLonger = undefined
    // A runtime's process continues; the thread of a script ends with its last run.
    if (this.#options.whileHolding === undefined) return
    this.#loop?.stop()
    this.#stopServing()
  }
  /** A run whose writes failed is released once the store answers again: other processes may continue it. */
  #finished(host: RunHost): void {
    const isLost = LOST.some((code) => isSuperstepError(host.failure, code))
    if (isLost && host.lease !== undefined) this.#toRelease.push(host.lease)
    this.remove(host)
  }
  host(runId: RunId): RunHost | undefined {
    return this.#live.get(runId)
  }
  /** The host once the run's gate is free: a run that is being started may turn out to exist already. */
  hostAfterGate(runId: RunId): MaybePromise<RunHost | undefined> {
    return this.pass(runId, () => this.#live.get(runId))
  }
  hosts(): Iterable<RunHost> {
    return this.#live.values()
  }
  get size(): number {
    return this.#live.size
  }

  // Watchers

  /** Watches a run that is executed here, or is about to be. */
  follow(query: LiveQuery, listener: LiveListener): LiveSubscription {
    let subscription: LiveSubscription | undefined
    let hasLeft = false
    andThen(this.hostAfterGate(query.runId), (host) => {
      if (hasLeft) return
      if (host !== undefined) subscription = host.follow(query, listener)
      else listener({ type: "closed", reason: "left" })
    })
    return {
      leave() {
        hasLeft = true
        subscription?.leave()
      },
    }
  }
  #stopServing(): void {
    this.#service?.close()
    this.#service = undefined
  }

  /** Call every TICK. A failing store is retried with the next tick. */
  async tick(): Promise<void> {
    if (this.#live.size > 0) this.#loop?.start()
    if (this.#age() >= this.#lease / 3 || this.#sure.isAwaited) await this.verify()
    for (let lease = this.#toRelease[0]; lease !== undefined; lease = this.#toRelease[0]) {
      await this.store.release(lease, this.#options.clock.now())
      this.#toRelease.shift()
    }
    for (const host of this.#live.values()) host.noteIdle()
    if (this.#live.size > 0) await this.deliver()
  }

  // Mail

  /**
   * Delivers mail to the runs of this process, one delivery per run at a time: mail that arrives meanwhile is part of the
   * next delivery. Resolves when the mail is read; a run may take longer to carry it out.
   */
  deliver(): Promise<void> {
    // A call before the mail is read joins this delivery.
    this.#toDeliver ??= Promise.resolve().then(() => {
      this.#toDeliver = undefined
      return this.#deliverAll()
    })
    return this.#toDeliver
  }

  async #deliverAll(): Promise<void> {
    const byRun = new Map<RunId, Mail[]>()
    for (const mail of await this.store.mail(this.id)) {
      const list = byRun.get(mail.runId)
      if (list === undefined) byRun.set(mail.runId, [mail])
      else list.push(mail)
    }
    for (const [runId, mail] of byRun) {
      // A run that is held and not loaded is being loaded or unloaded: its mail waits.
      const host = this.#live.get(runId)
      if (host === undefined || this.#delivering.has(runId)) continue
      const delivered = this.#deliverTo(host, mail)
        .catch((error) => this.#options.onProblem?.({ runId, error: asError(error) }))
        .finally(() => this.#delivering.delete(runId))
      this.#delivering.set(runId, delivered)
    }
  }

  async #deliverTo(host: RunHost, mail: readonly Mail[]): Promise<void> {
    for (const one of mail) await this.#carryOut(host, one)
  }

  /** K3. */
  async #carryOut(host: RunHost, { id, command }: Mail): Promise<void> {
    try {
      if (command.type === "answer") await host.respond(command.request, command.value, command.by, id)
      else if (command.type === "signal") await host.signal({ ...command, mail: id })
      else await host.cancel(command.reason, id)
    } catch (error) {
      await this.#refuse(host, id, error)
    }
  }

  /** A rejection that is not durable does not count: the run may have left, and its new holder decides. */
  async #refuse(host: RunHost, id: string, error: unknown): Promise<void> {
    try {
      await host.durable()
    } catch {
      return
    }
    const { code, message } = toErrorData(error)
    if (host.lease !== undefined) await this.store.refuseMail(host.lease, id, { code, message })
  }

  /** The run cannot be restored here: the sender of its mail gets the error, unless it was accepted. */
  async refuseMail(lease: Lease, error: unknown): Promise<void> {
    const { code, message } = toErrorData(error)
    for (const mail of await this.store.mail(this.id)) {
      if (mail.runId !== lease.runId || isAccepted(mail)) continue
      await this.store.refuseMail(lease, mail.id, { code, message })
    }
  }

  /** Puts accepted signals of a run that was claimed and is not loaded yet into its journal. */
  async bufferSignals(lease: Lease): Promise<void> {
    // Runs that are claimed together share the reading.
    this.#toBuffer ??= Promise.resolve().then(() => {
      this.#toBuffer = undefined
      return this.store.mail(this.id)
    })
    const mail = (await this.#toBuffer).filter(({ runId }) => runId === lease.runId)
    await bufferSignals(this.store, lease, mail.filter(isAccepted), this.#options.clock.now())
  }

  // Runs of others

  /** The live holder of the run, if it is not this process. */
  async isHeldElsewhere({ holder }: StoredRun): Promise<StoredHolder | undefined> {
    if (holder === undefined || holder === this.id) return undefined
    const found = (await this.store.holders()).find(({ id }) => id === holder)
    if (found === undefined) return undefined
    const why = this.watch.isGone(found)
    if (why === undefined) return found
    await this.store.dismiss(holder, why)
    return undefined
  }

  /** Claims a run that no live process holds (K1), if its limits admit it. */
  claim(run: StoredRun): Promise<Lease | undefined> {
    return this.#claim(run, true)
  }

  /** The same whatever its limits are: nothing of the run executes. */
  claimToEnd(run: StoredRun): Promise<Lease | undefined> {
    return this.#claim(run, false)
  }

  async #claim({ runId, holder }: StoredRun, isLimited: boolean): Promise<Lease | undefined> {
    await this.begin()
    // Its holder may have been dismissed since the row was read, which raised the token.
    const row = await this.store.run(runId)
    if (row === undefined || (row.holder !== undefined && row.holder !== holder)) return undefined
    const hasLimits = row.status === "queued" || row.flow?.lanes !== undefined
    if (!isLimited || !hasLimits || (await this.#counts(row))) {
      return await this.store.claim(runId, row.token, this.id)
    }
    const now = this.#options.clock.now()
    const query = { holder: this.id, workflows: [row.workflow], runId, now, limit: 1 }
    const [claimed] = (await this.store.queue.claimNext(query)).runs
    return claimed && { runId, holder: this.id, token: claimed.token }
  }

  /** Whether the run counts in its limits already: then it only changes hands. */
  async #counts({ holder }: StoredRun): Promise<boolean> {
    return holder !== undefined && (await this.store.holders()).some(({ id }) => id === holder)
  }

  /** The run has stopped here with the error, and another process may continue it. */
  async releaseStopped(host: RunHost, error: unknown): Promise<void> {
    this.remove(host)
    const { lease } = host
    if (lease === undefined) return
    if (this.onStopped === undefined) await this.store.release(lease, host.wakeAt())
    else await this.onStopped(lease, error)
  }

  release(host: RunHost, wakeAt: number | undefined): Promise<void> | void {
    this.remove(host)
    return host.lease === undefined ? undefined : this.store.release(host.lease, wakeAt)
  }

  /** Releases everything. */
  async end(): Promise<void> {
    this.#ended = true
    this.slots.close()
    this.#loop?.stop()
    this.#stopServing()
    await this.#verifying?.catch(() => undefined)
    if (this.#verified !== undefined) await this.store.dismiss(this.id, { reason: "closed" })
  }
}

/** Keeps a promise under the run's id until it resolves or rejects. */
function keepUntilOver(kept: Map<RunId, Promise<unknown>>, runId: RunId, promise: Promise<unknown>): void {
  const over = promise.then(
    () => undefined,
    () => undefined,
  )
  kept.set(runId, over)
  over.then(() => {
    if (kept.get(runId) === over) kept.delete(runId)
  })
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function keeperEnded(): SuperstepError {
  return new SuperstepError("RUNTIME_CLOSED", "This runtime is closed. Create another one.")
}

export function runHeld(runId: RunId, { machine, pid }: Holder): SuperstepError {
  const where = `process ${pid} on ${machine.split(" ")[0]}`
  const text = `Run "${runId}" is being executed by ${where}. Wait for it, or resume it with takeOver: true if that process is stuck.`
  return new SuperstepError("RUN_HELD", text, { run: runId })
}

/** For runs that were started without a runtime: one keeper per store, for as long as the store is used. */
const keepers = new WeakMap<Store, Keeper>()

export function keeperOf(store: Store): Keeper {
  let keeper = keepers.get(store)
  if (keeper === undefined) {
    keeper = new Keeper(store, { clock: systemClock, whileHolding: keepAlive })
    keepers.set(store, keeper)
  }
  return keeper
}

/** It keeps neither the process nor the store alive. */
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

interface AcceptedMail extends Mail {
  readonly command: Extract<Mail["command"], { type: "signal" }>
}

/** A signal that was reported to its sender as accepted. */
function isAccepted(mail: Mail): mail is AcceptedMail {
  return mail.command.type === "signal" && mail.command.isAccepted === true
}

async function bufferSignals(
  store: Store,
  lease: Lease,
  mail: readonly AcceptedMail[],
  at: number,
): Promise<void> {
  if (mail.length === 0) return
  const loaded = await loadRun(store, lease.runId as RunId)
  const machine = loaded?.frames.get("")?.machine
  if (loaded === undefined || machine === undefined || machine.isOver()) return
  let { seq, events } = loaded
  const records: JournalRecord[] = []
  const known: string[] = []
  for (const { id: mailId, command } of mail) {
    const { id, name, value } = command
    known.push(mailId)
    if (machine.hasReceived(id)) continue
    const entry: SignalReceived = { type: "signal.received", at, id, name, value, mail: mailId }
    const before = machine.eventCount
    machine.apply(entry)
    events += machine.eventCount - before
    records.push({ seq: ++seq, frame: "", entry, events })
  }
  // Nothing executed: the run stays under the suspicion that it is under.
  await store.append(lease, loaded.seq, records, { mail: known, intent: true })
}
