/**
 * Holds the runs of this process in a store: sends heartbeats, verifies leases, delivers mail, and claims runs that no
 * living process holds. A run with a store has the keeper of its runtime, or the one of its store.
 *
 * Invariants:
 * K1 A run is written to under a lease only. A lease is taken only from a dead holder, from none, or from one where the run only
 *    waits for others (`restsElsewhere`); unless a person forces it.
 * K2 A holder is known to the store before it holds its first run.
 * K3 Mail gets its outcome with the record that carries it out, or is rejected once everything before it is durable.
 * K4 Nothing new starts under a lease that was not verified within the duration of a lease.
 * K5 A run has one host in this process: claims, starts and resumptions pass its gate one after another.
 */
import {
  isSuperstepError,
  type Json,
  type RequestId,
  type RunId,
  SuperstepError,
  toErrorData,
} from "../../core/index.ts"
import { type Clock, systemClock } from "../ports/clock.ts"
import { type Dispatcher, withoutValues } from "../ports/dispatcher.ts"
import type { LiveListener, LiveQuery, LiveService, LiveSubscription } from "../ports/live-channel.ts"
import { andThen, deferred, isPromise, type MaybePromise, Signal } from "../ports/maybe-promise.ts"
import { runTaken, type Store } from "../ports/store.ts"
import {
  type Holder,
  hasLimits,
  type Lease,
  type Mail,
  type MailOutcome,
  type StoredHolder,
  type StoredRun,
} from "../ports/stored.ts"
import { Places } from "../run/activity.ts"
import { newRunId } from "../run/options.ts"
import type { RunHost } from "../run/run-host.ts"
import { bufferSignals, isAccepted } from "./accepted-signals.ts"
import { carryOut, HandedMail } from "./handed-mail.ts"
import { DEFAULT_HUNG_AFTER, DEFAULT_LEASE, thisProcess, Watch } from "./holders.ts"
import { LoopWatch } from "./loop-watch.ts"
import { SlotKeeper } from "./slot-keeper.ts"
import { Visits } from "./visits.ts"

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
  readonly dispatcher?: Dispatcher | undefined
}

/** A run that was claimed. `hasMail`: it may have mail, which has to be delivered. */
export interface Loaded {
  readonly host: RunHost | undefined
  readonly hasMail: boolean
}

export class Keeper {
  readonly store: Store
  readonly id: string = newRunId()
  readonly watch: Watch
  /** Undefined: any number of runs may execute here. */
  readonly places: Places | undefined
  readonly slots: SlotKeeper
  /** Brings runs to the processes that execute them, if they do not find them by themselves. */
  readonly dispatcher: Dispatcher | undefined
  readonly visits: Visits | undefined
  readonly #holder: Holder
  readonly #lease: number
  readonly #options: KeeperOptions
  readonly #loop: LoopWatch | undefined
  readonly #live = new Map<RunId, RunHost>()
  readonly #gates = new Map<RunId, Promise<unknown>>()
  readonly #delivering = new Map<RunId, Promise<void>>()
  #toDeliver: Promise<void> | undefined
  /** Runs that are being loaded, and whose mail has not been read since. */
  readonly #loading = new Set<RunId>()
  #toBuffer: Promise<readonly Mail[]> | undefined
  #buffering: Promise<unknown> = Promise.resolve()
  /** Runs that were loaded with mail, until it is delivered: they stay loaded. */
  readonly #expecting = new Map<RunId, ReturnType<typeof deferred>>()
  readonly #answering = new Map<string, ReturnType<typeof deferred>>()
  readonly #handed = new HandedMail()
  readonly #beginning = new Map<RunId, Promise<unknown>>()
  readonly #toRelease: Lease[] = []
  /** Resolves when the run on trial, which executes alone in this process, has not killed it. */
  trial: Promise<void> | undefined
  /** Called when a run has taken mail that it found in the store. */
  onMail: ((host: RunHost) => void) | undefined
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
    this.dispatcher =
      options.dispatcher && store.isEncrypted ? withoutValues(options.dispatcher) : options.dispatcher
    const report = (runId: RunId, error: Error) => this.report(runId, error)
    this.visits = this.dispatcher && new Visits(this.dispatcher, store.live, report)
    this.watch = this.watchWith(lease)
    // A clock that a test moves says nothing about this process's event loop.
    if (options.clock === systemClock && options.hasThread !== false) {
      const onBlocked = (error: SuperstepError) => options.onProblem?.({ runId: error.run as RunId, error })
      this.#loop = new LoopWatch(store, { holder: this.#holder, every: lease / 3, hungAfter }, onBlocked)
    }
  }

  /** A watch that counts holders on other machines as dead after this many silent milliseconds. */
  watchWith(lease: number): Watch {
    const { hungAfter = DEFAULT_HUNG_AFTER } = this.#options
    return new Watch({ machine: this.#holder.machine, lease, hungAfter }, () => this.#monotonic())
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
    host.settle()
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
    for (const runId of this.#expecting.keys()) if (!byRun.has(runId)) this.#noMore(runId)
    for (const [runId, mail] of byRun) {
      // A run that is held and not loaded is being loaded or unloaded: its mail waits.
      const host = this.#live.get(runId)
      if (host === undefined) this.#loading.delete(runId)
      if (host === undefined || this.#delivering.has(runId)) continue
      const delivered = this.#deliverTo(host, mail)
        .catch((error) => this.#options.onProblem?.({ runId, error: asError(error) }))
        .finally(() => {
          this.#delivering.delete(runId)
          this.#noMore(runId)
        })
      this.#delivering.set(runId, delivered)
    }
  }

  #expect(runId: RunId): void {
    if (!this.#expecting.has(runId)) this.#expecting.set(runId, deferred())
  }
  #noMore(runId: RunId): void {
    this.#expecting.get(runId)?.resolve()
    this.#expecting.delete(runId)
  }
  /** Resolves when the mail that is known here is delivered to the run. Undefined if there is none. */
  delivered(runId: RunId): Promise<void> | undefined {
    const all = [this.#expecting.get(runId)?.promise, this.#delivering.get(runId), this.#handed.of(runId)]
    const pending = all.filter((one) => one !== undefined)
    return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)
  }

  /**
   * Delivers mail that a dispatcher brought; `load` brings the run here. Resolves with the outcome when it is durable, or with
   * undefined if the run cannot take it here.
   */
  async handOver(mail: Mail, load: () => Promise<RunHost | undefined>): Promise<MailOutcome | undefined> {
    this.#expectAnswer(mail)
    return await this.#handed.carry(mail, load).finally(() => this.#delivered(mail))
  }

  #expectAnswer({ runId, command }: Mail): void {
    if (command.type !== "answer") return
    const key = answerKey(runId, command.request)
    if (!this.#answering.has(key)) this.#answering.set(key, deferred())
  }

  async #deliverTo(host: RunHost, mail: readonly Mail[]): Promise<void> {
    for (const one of mail) await this.#carryOut(host, one)
    this.onMail?.(host)
  }

  /** K3. */
  async #carryOut(host: RunHost, mail: Mail): Promise<void> {
    try {
      await carryOut(host, mail)
    } catch (error) {
      await this.#refuse(host, mail.id, error)
    } finally {
      this.#delivered(mail)
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

  /** Resolves when an answer that was in the mail before the run was loaded is delivered: its deadline waits for it. */
  answering(runId: RunId, request: RequestId): Promise<void> | undefined {
    return this.#answering.get(answerKey(runId, request))?.promise
  }

  #delivered({ runId, command }: Mail): void {
    if (command.type !== "answer") return
    const key = answerKey(runId, command.request)
    this.#answering.get(key)?.resolve()
    this.#answering.delete(key)
  }

  /** Loads a run that was claimed, after its accepted signals are in its journal. */
  async load(
    lease: Lease,
    restore: (lease: Lease) => Promise<RunHost | undefined>,
    mayHaveMail = true,
  ): Promise<Loaded> {
    const runId = lease.runId as RunId
    this.#loading.add(runId)
    // What could not be read or written stays in the mail: restoring the run reports the problem.
    const hadMail = mayHaveMail && (await this.#bufferSignals(lease).catch(() => true))
    if (hadMail) this.#expect(runId)
    try {
      const host = await restore(lease)
      // What was sent meanwhile waits for the run, and nobody delivers it again before the next tick.
      const isUnread = !this.#loading.has(runId)
      if (host === undefined) this.#noMore(runId)
      return { host, hasMail: host !== undefined && (hadMail || isUnread) }
    } catch (error) {
      this.#noMore(runId)
      throw error
    } finally {
      this.#loading.delete(runId)
    }
  }

  /** Notes the answers of the run, which only its handlers can check. Returns whether it has any mail. */
  async #bufferSignals(lease: Lease): Promise<boolean> {
    const mail = (await this.#ownMail()).filter(({ runId }) => runId === lease.runId)
    for (const one of mail) this.#expectAnswer(one)
    await bufferSignals(this.store, lease, mail.filter(isAccepted), this.#options.clock.now())
    return mail.length > 0
  }

  /** The mail of this process, read after the call. Runs that are claimed before a reading begins share it. */
  #ownMail(): Promise<readonly Mail[]> {
    this.#toBuffer ??= this.#buffering.then(() => {
      const read = Promise.resolve(this.store.mail(this.id))
      this.#toBuffer = undefined
      this.#buffering = read.catch(() => undefined)
      return read
    })
    return this.#toBuffer
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

  /** Claims a run that no live process holds (K1), if its limits admit it and it is not paused. */
  claim(run: StoredRun): Promise<Lease | undefined> {
    return this.#claim(run, true)
  }

  /** The same for a run that only waits for others, also from a live holder. Undefined if that is no longer so. */
  async claimAtRest({ runId, token, seq }: StoredRun): Promise<Lease | undefined> {
    await this.begin()
    return await this.store.claim(runId, token, this.id, seq)
  }

  /** The same whatever its limits are, to write to its journal: nothing of the run executes. */
  claimToWrite(run: StoredRun): Promise<Lease | undefined> {
    return this.#claim(run, false)
  }

  async #claim(run: StoredRun, isLimited: boolean): Promise<Lease | undefined> {
    const { runId, holder } = run
    await this.begin()
    // A process that claimed or paused it since the row was read has raised the token.
    if (holder === undefined && run.status !== "paused" && !(isLimited && hasLimits(run))) {
      const lease = await this.store.claim(runId, run.token, this.id)
      if (lease !== undefined) return lease
    }
    // Its holder may have been dismissed since the row was read, which raised the token.
    const row = await this.store.run(runId)
    if (row === undefined || (row.holder !== undefined && row.holder !== holder)) return undefined
    if (isLimited && row.status === "paused") return undefined
    if (!isLimited || !hasLimits(row) || (await this.#counts(row))) {
      return await this.store.claim(runId, row.token, this.id)
    }
    const now = () => this.#options.clock.now()
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
    await this.pass(host.runId, async () => {
      if (this.onStopped === undefined) await this.store.release(lease, host.wakeAt())
      else await this.onStopped(lease, error)
    })
  }

  /** Those who pass the gate of the run afterwards find it released. */
  release(host: RunHost, wakeAt: number | undefined): MaybePromise<void> {
    this.remove(host)
    const { lease } = host
    if (lease !== undefined) return this.pass(host.runId, () => this.store.release(lease, wakeAt))
  }

  /** Releases everything. */
  async end(): Promise<void> {
    this.#ended = true
    this.slots.close()
    this.#loop?.stop()
    this.#stopServing()
    this.visits?.close()
    await this.#verifying?.catch(() => undefined)
    if (this.#verified !== undefined) await this.store.dismiss(this.id, { reason: "closed" })
  }
}

function answerKey(runId: RunId, request: RequestId): string {
  return `${runId} ${request}`
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
