/**
 * Executes single runs in this process when a dispatcher sends for it: claims the run, and stays with it until it has ended or
 * only waits. The claim raises the token of the run, which fences every write (K1), so that any number of activations of one
 * run, on any machines, are safe.
 *
 * Invariants:
 * A1 An activation resolves when its run has ended, waits, is queued behind others, or is not executed here: nothing of the
 *    run executes here on its behalf afterwards. The run may stay loaded.
 * A2 While a live process elsewhere executes the run, the activation waits: it takes over when that process dies. So the one that
 *    dispatched it may lose sight of that process, and need not know whether it is alive. Where the run only waits for others, it is
 *    taken from that process as soon as there is something for it.
 * A3 Activations of one run share one loop in this process.
 */
import { graphData, type RunId, SuperstepError } from "../core/index.ts"
import { loadModule } from "../core/internal.ts"
import {
  type BroughtMail,
  type EndedRun,
  hasEnded,
  type Keeper,
  type Mail,
  type MailReply,
  type RunEnvironment,
  type RunHost,
  type RunStart,
  runUnknown,
  type SpreadOutcome,
  type SpreadState,
  type SpreadTask,
  type StartReply,
  type Store,
  type StoredHolder,
  type StoredRun,
} from "../runtime/index.ts"
import {
  type Begun,
  type Demand,
  endedRun,
  performTask,
  readRun,
  replyDirectly,
  restsElsewhere,
  runOver,
  startRun,
} from "../runtime/internal.ts"
import type { Order } from "./enqueue.ts"
import type { RuntimeProblem } from "./options.ts"
import type { Programs } from "./programs.ts"
import type { Sweeper } from "./sweeper.ts"

/** Milliseconds that a run executes without an activation until it gets one: it may have one that is on its way. */
const SUPERVISED_AFTER = 1_000
/** The same for a run that continues with mail that was brought here, which has none. */
const CONTINUED_AFTER = 50
/** Milliseconds until the first look at a run that another process holds, which often is about to leave it; and at most. */
const FIRST_LOOK = 5
const LOOK = 250
/** How often mail that was brought here looks for its run until it is delivered otherwise. */
const LOOKS_FOR_MAIL = 6
/** Milliseconds that a closing process waits for what it has sent. What is lost, a process finds in the store. */
const FLUSH = 100
/**
 * A holder on another machine that is silent for this part of a lease, longer than between two heartbeats, counts as dead: a
 * second activation is a hint that the first one broke.
 */
const IMPATIENT = 0.4

/** Milliseconds until a run that no process has created yet is created here: a process may be on its way, and finds it then. */
const START_PATIENCE = 1_000
/**
 * Milliseconds after which a run is no longer created by the process that it was sent to. Its sender has created it long before, and it may
 * have been removed since.
 */
const START_EXPIRES = 60_000

/** Captured at load time: tests may fake timers. */
const nextTurn = setImmediate

/** The state in which an activation leaves a run. */
export interface Rest {
  /** When the run is due by itself, and is to be activated again. Absent: something else has to happen first. */
  readonly wakeAt?: number | undefined
  /** The graph of the run, which other processes have and this one does not: it is to be activated there. */
  readonly graph?: string | undefined
}

/** What a process does that a dispatcher sends for. */
export interface RuntimeWorker {
  /** The graphs of its workflows: activations that name one of them are for it. */
  readonly graphs: readonly string[]
  /**
   * Executes a stored run here until it has ended or only waits, and resolves then; while another live process holds it, waits to
   * take over. `at`: the time of the timer that is due, if it is one. Activate the run again when it is due by itself.
   */
  activate(runId: RunId, at?: number): Promise<Rest>
  /**
   * Creates a run and executes it here, as `activate` does. `isCreated`: it did not exist. If it cannot be created here, nothing happens:
   * its sender has to create it.
   */
  start(run: RunStart): Promise<StartReply & Rest>
  /**
   * Has a run that waits take an answer or a signal here, and continues the run. Resolves with the outcome when that is recorded, or
   * with undefined if this process cannot execute the run now. The same mail again has the same outcome.
   */
  deliver(mail: BroughtMail): Promise<MailReply | undefined>
  /** Calls the handler of a task whose run another process executes: see `Dispatcher.perform`. */
  perform(task: SpreadTask, state: SpreadState): Promise<SpreadOutcome>
}

interface Left extends Rest {
  /** The run executed here, so its next timer has no activation yet. */
  readonly isOwn: boolean
  /** It ended here. */
  readonly ended?: RunHost | undefined
}

export interface ActivationsOptions extends Pick<RunEnvironment, "keeper" | "clock" | "contextOf"> {
  /** Of runs that begin here: its telemetry may be replaced. */
  readonly environment: RunEnvironment
  readonly programs: Programs
  readonly sweeper: Sweeper
  readonly lease: number
  readonly onProblem: ((problem: RuntimeProblem) => void) | undefined
}

export class Activations implements RuntimeWorker {
  readonly #options: ActivationsOptions
  readonly #watch: Keeper["watch"]
  readonly #sending = new Set<Promise<void>>()
  readonly #closed = new AbortController()
  readonly #active = new Map<RunId, Promise<Left>>()
  /** How many activations of a run are in progress here. */
  readonly #activated = new Map<RunId, number>()

  constructor(options: ActivationsOptions) {
    this.#options = options
    this.#watch = options.keeper.watchWith(options.lease * IMPATIENT)
  }

  /**
   * Sends for a process, in the background: the run is stored, and what the dispatcher does not take, a process finds. False
   * without a dispatcher.
   */
  dispatch(runId: RunId, isDelayed = false): boolean {
    const { visits, store } = this.#options.keeper
    if (visits === undefined) return false
    const send = async () => {
      await visits.send(runId, (await store.run(runId))?.wakeAt)
    }
    const sent: Promise<void> = (isDelayed ? send() : visits.send(runId))
      .catch((error) => this.#report(runId, error))
      .finally(() => this.#sending.delete(sent))
    this.#sending.add(sent)
    return true
  }

  /** Has another process execute a new run: one that is only awaited is created there, any other here. */
  async begin(order: Order, demand: Demand): Promise<Begun> {
    const { place, runStartOf } = await loadModule(() => import("./enqueue.ts"))
    const begun = await this.#send(demand.isAwaited ? runStartOf(order) : undefined, demand)
    if (begun !== undefined) return begun
    const { keeper } = this.#options
    const runId = await place(keeper, order)
    // Else the process that the run was sent to is on its way, or with it.
    if (keeper.visits?.of(runId) === undefined) this.dispatch(runId)
    return { runId }
  }

  /**
   * Undefined if no process has created the run after a while, or as soon as somebody needs more than its result: create it, and what is
   * on its way joins it.
   */
  async #send(run: RunStart | undefined, { more }: Demand): Promise<Begun | undefined> {
    const { clock, keeper } = this.#options
    const sent = run && keeper.visits?.start(run)
    if (run === undefined || sent === undefined) return undefined
    let cancel: (() => void) | undefined
    const late = new Promise<void>((resolve) => {
      cancel = clock.setTimer(clock.now() + START_PATIENCE, resolve)
    })
    const reply = await Promise.race([sent, late, more.promise])
    cancel?.()
    return reply?.isCreated ? { runId: run.runId, ended: reply.ended } : undefined
  }

  get graphs(): readonly string[] {
    return this.#options.programs.graphs()
  }

  /** Calls the handler of a task whose run another process executes. */
  async perform(task: SpreadTask, state: SpreadState): Promise<SpreadOutcome> {
    const { keeper, clock, programs, contextOf } = this.#options
    const { runId, workflow, labels } = task
    if (!programs.has(workflow)) await programs.refresh()
    // Of a stored run, no more than these is read.
    const program = await programs.of({ runId, workflow, labels } as StoredRun)
    if (program === undefined) {
      const text = `This worker does not have workflow "${workflow}", whose task it is to execute.`
      throw new SuperstepError("WORKFLOW_UNKNOWN", text, { run: runId })
    }
    const context = await contextOf?.({ runId, workflow, labels, thread: undefined })
    return await performTask(program, task, state, {
      store: keeper.store,
      clock,
      context,
      signal: this.#closed.signal,
    })
  }

  /** Waits for what is being sent. */
  async close(): Promise<void> {
    this.#closed.abort()
    if (this.#sending.size === 0) return
    const { clock } = this.#options
    let cancel: (() => void) | undefined
    const late = new Promise<void>((resolve) => {
      cancel = clock.setTimer(clock.now() + FLUSH, resolve)
    })
    await Promise.race([late, Promise.all(this.#sending)])
    cancel?.()
  }

  /**
   * A run that this process found in the store gets an activation too, which takes over when this process dies; unless it has one,
   * which may be on its way, or is over soon.
   */
  supervise(runId: RunId, after = SUPERVISED_AFTER): void {
    const { keeper, clock } = this.#options
    clock.setTimer(clock.now() + after, () => {
      if (keeper.host(runId)?.isBusy && !this.#activated.has(runId)) this.dispatch(runId)
    })
  }

  /** `at`: the time that a timer of the run was set to. If the run has another one, that one has its own activation. */
  async activate(runId: RunId, at?: number): Promise<Rest> {
    await this.#ready()
    const { wakeAt, isOwn, graph } = await this.#during(runId, () => this.#shared(runId))
    if (graph !== undefined) return { graph }
    const isStale = at !== undefined && wakeAt !== at && !isOwn
    return wakeAt === undefined || isStale ? {} : { wakeAt }
  }

  async start(run: RunStart): Promise<StartReply & Rest> {
    const { clock } = this.#options
    await this.#ready()
    const { runId, entry } = run
    return await this.#during(runId, async () => {
      const isExpired = clock.now() - entry.at > START_EXPIRES
      // What fails here is left to the sender, which creates the run as if nobody had been sent for.
      const failed = (error: unknown) => this.#report(runId, error)
      const isCreated = isExpired ? undefined : await this.#create(run).catch(failed)
      if (isCreated === undefined) return { isCreated: false }
      const { isOwn: _, ended, ...rest } = await this.#shared(runId)
      return { ...rest, isCreated, ended: ended && endedRun(ended.root.machine) }
    })
  }

  /** False if the run exists; undefined if another process has to execute it, or it has to be queued. */
  async #create(start: RunStart): Promise<boolean | undefined> {
    const { programs, sweeper, environment } = this.#options
    const run = { ...start.created, runId: start.runId, status: "queued" } as StoredRun
    if (!programs.has(run.workflow)) await programs.refresh()
    if (!programs.has(run.workflow) || sweeper.isElsewhere(run) || !sweeper.isNext(run)) return undefined
    const program = await programs.of(run)
    if (program === undefined || graphData(program.graph).hash !== run.graph) return undefined
    return await startRun(program, start, environment)
  }

  async #ready(): Promise<void> {
    const { keeper, sweeper } = this.#options
    keeper.checkOpen()
    sweeper.begin()
    await sweeper.look()
  }

  /** The run has an activation here meanwhile. */
  async #during<T>(runId: RunId, act: () => Promise<T>): Promise<T> {
    this.#activated.set(runId, (this.#activated.get(runId) ?? 0) + 1)
    try {
      return await act()
    } finally {
      const left = (this.#activated.get(runId) ?? 1) - 1
      if (left === 0) this.#activated.delete(runId)
      else this.#activated.set(runId, left)
    }
  }

  async deliver(mail: BroughtMail): Promise<MailReply | undefined> {
    const reply = await this.#take(mail)
    if (reply !== undefined) replyDirectly(this.#options.keeper.store.live, mail, reply)
    return reply
  }

  async #take(mail: Mail): Promise<MailReply | undefined> {
    const { keeper } = this.#options
    await this.#ready()
    let host: RunHost | undefined
    const outcome = await keeper.handOver(mail, async () => {
      host = await this.#hostFor(mail.runId)
      return host
    })
    // It may have been delivered before: the reply to that was lost.
    if (outcome?.ok === false && (await isRecorded(keeper.store, mail))) return { ok: true }
    if (!outcome?.ok || host === undefined) return outcome
    // A handler that has nothing else to wait for returns within this turn.
    await new Promise<void>((resolve) => nextTurn(resolve))
    const ended = await durableEnd(host)
    // Also if it has left already: its next timer has no activation yet.
    if (ended === undefined) this.#continue(mail.runId)
    return { ...outcome, ended }
  }

  /** The run, loaded here. Undefined if it cannot be loaded, or not now. */
  async #hostFor(runId: RunId): Promise<RunHost | undefined> {
    const { keeper, programs, sweeper } = this.#options
    for (let turn = 0; turn < LOOKS_FOR_MAIL; turn++) {
      const host = await keeper.hostAfterGate(runId)
      if (host !== undefined) return host
      const { row, ahead } = await readRun(keeper.store, runId)
      if (row === undefined) throw runUnknown(runId)
      if (hasEnded(row)) throw runOver(row)
      if (row.status !== "waiting" && row.status !== "running") return undefined
      if (!programs.has(row.workflow)) await programs.refresh()
      if (!programs.has(row.workflow) || sweeper.isElsewhere(row)) return undefined
      if (ahead?.isHeld || (await this.#liveHolder(row)) === undefined) {
        const claimed = await sweeper.claimFor(row, ahead)
        if (claimed !== undefined) return claimed
      } else if (row.executing) return undefined
      // Its holder is about to release it.
      await this.#look(turn)
    }
    return undefined
  }

  /** A run that took its mail here executes without an activation until it rests, or gets one. */
  #continue(runId: RunId): void {
    this.supervise(runId, CONTINUED_AFTER)
    if (this.#active.has(runId)) return
    this.#shared(runId).then(
      ({ wakeAt, graph }) => {
        const isDue = wakeAt !== undefined || graph !== undefined
        if (isDue) this.#options.keeper.visits?.send(runId, wakeAt, graph)
      },
      (error) => this.#report(runId, error),
    )
  }

  #look(turn: number): Promise<void> {
    const { clock } = this.#options
    const pause = Math.min(LOOK, FIRST_LOOK * 2 ** turn)
    return new Promise((resolve) => clock.setTimer(clock.now() + pause, resolve))
  }

  /** A3. */
  #shared(runId: RunId): Promise<Left> {
    const active = this.#active.get(runId)
    if (active !== undefined) return active
    const begun = this.#drive(runId).finally(() => this.#active.delete(runId))
    this.#active.set(runId, begun)
    return begun
  }

  async #drive(runId: RunId): Promise<Left> {
    const { keeper, programs, sweeper } = this.#options
    let isOwn = false
    for (let turn = 0; ; turn++) {
      keeper.checkOpen()
      const host = await keeper.hostAfterGate(runId)
      if (host !== undefined) {
        if (host.isResigned() && !(await this.#hasWork(host))) return { isOwn }
        isOwn = true
        if (keeper.host(runId) === host) await host.settled()
        if (host.isResigned()) return { isOwn }
        const isDurable = await host.durable().then(
          () => true,
          () => false,
        )
        if (host.isOver && isDurable) return { isOwn, ended: host }
        continue
      }
      const { row, ahead } = await this.#read(runId, turn)
      if (row === undefined || hasEnded(row) || row.status === "quarantined" || row.status === "paused")
        return { isOwn }
      if (!programs.has(row.workflow)) await programs.refresh()
      if (!programs.has(row.workflow)) return { isOwn }
      if (sweeper.isElsewhere(row)) return { isOwn, graph: row.graph }
      if (!ahead?.isHeld && (await this.#liveHolder(row)) !== undefined) {
        await this.#look(turn)
        continue
      }
      if (!(await this.#isDue(row, ahead?.hasMail))) return { wakeAt: row.wakeAt, isOwn }
      try {
        if ((await sweeper.claimFor(row, ahead)) !== undefined) continue
      } catch (error) {
        // It is postponed, or stays queued: a process that can continue it finds it in the store.
        this.#report(runId, error)
        return { isOwn }
      }
      if (sweeper.isElsewhere(row)) continue
      if (ahead?.isHeld) {
        // The process where it waited has continued it, or another one has taken it (A2).
        await this.#look(turn)
        continue
      }
      // Another process was faster, or it has to wait for its turn.
      const after = await keeper.store.run(runId)
      if (after?.holder === undefined || after.holder === row.holder) return { isOwn }
    }
  }

  /** The journal is not read with every look: most of them are at a run that another process executes. */
  async #read(runId: RunId, turn: number): ReturnType<typeof readRun> {
    const { store } = this.#options.keeper
    const row = turn === 0 ? undefined : await store.run(runId)
    return row === undefined || restsElsewhere(row) ? await readRun(store, runId) : { row }
  }

  /** Whether there is mail for a run that only waits here, or another process has taken it. */
  async #hasWork(host: RunHost): Promise<boolean> {
    const { keeper } = this.#options
    if (await host.isTaken()) return true
    await keeper.deliver()
    await keeper.delivered(host.runId)
    // A run that was loaded and waits again has written nothing since.
    await host.noteIdle()
    return !host.isResigned()
  }

  #report(runId: RunId, error: unknown): void {
    const problem = { runId, error: error instanceof Error ? error : new Error(String(error)) }
    this.#options.onProblem?.(problem)
  }

  /** A2. Dismisses a holder that is dead. */
  async #liveHolder({ holder }: StoredRun): Promise<StoredHolder | undefined> {
    const { store, id } = this.#options.keeper
    if (holder === undefined || holder === id) return undefined
    const found = (await store.holders()).find((one) => one.id === holder)
    const why = found && this.#watch.isGone(found)
    if (why === undefined) return found
    await store.dismiss(holder, why)
    return undefined
  }

  async #isDue(run: StoredRun, hasMail?: boolean): Promise<boolean> {
    const { runId, holder, status, wakeAt } = run
    if (holder !== undefined && !restsElsewhere(run)) return true
    const isReady = status === "running" || status === "queued"
    if (wakeAt === undefined ? isReady : wakeAt <= this.#options.clock.now()) return true
    if (status === "queued") return false
    return hasMail ?? (await this.#options.keeper.store.mailAmount(runId)).count > 0
  }
}

/** The end of the run, once the store has it. Undefined if it has not ended, or ended elsewhere. */
async function durableEnd(host: RunHost): Promise<EndedRun | undefined> {
  if (!host.isOver) return undefined
  try {
    await host.durable()
  } catch {
    return undefined
  }
  return endedRun(host.root.machine)
}

/** Whether a record of the run's journal carries the mail out. */
async function isRecorded(store: Store, { id, runId }: Mail): Promise<boolean> {
  const records = await store.read(runId, 0)
  return records.some(({ entry }) => "mail" in entry && entry.mail === id)
}
