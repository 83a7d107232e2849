/**
 * A run that this process does not execute: another one does, or no process does. It polls the store for progress,
 * sends commands to the holder by mail, and claims the run when nobody holds it.
 */
import {
  DEFAULT_VALUE_BYTES,
  isSuperstepError,
  type Json,
  type RequestId,
  type RunId,
  type SignalId,
  SuperstepError,
} from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import { loadRun } from "../journal/load-run.ts"
import type { Clock } from "../ports/clock.ts"
import { DISPATCH_PATIENCE } from "../ports/dispatcher.ts"
import type { RunEvent } from "../ports/events.ts"
import { andThen, type MaybePromise } from "../ports/maybe-promise.ts"
import { runOver } from "../ports/store.ts"
import {
  type EscalateCommand,
  hasEnded,
  IN_FLIGHT,
  type JournalRecord,
  type Mail,
  type StoredRequest,
  type StoredRun,
} from "../ports/stored.ts"
import { ownValue } from "../ports/values.ts"
import { newRunId, type OnBusy, type PauseOptions, type RunResult } from "../run/options.ts"
import { endedResult, loadedResult } from "../run/result.ts"
import type { RunHost } from "../run/run-host.ts"
import { MAX_BUFFERED, noReply, replyTimeout } from "../run/run-signals.ts"
import { signalInvalid } from "../run/signal-wait.ts"
import {
  cancelFree,
  changePauseOfFree,
  type PauseChange,
  readShortRun,
  runQuarantined,
  runUnknown,
} from "./claim-run.ts"
import { FollowedEvents, type FollowedEventsOptions, LOOK } from "./followed-events.ts"
import { LEFT } from "./handed-mail.ts"
import type { Keeper } from "./keeper.ts"

/** Milliseconds until the first look for what another process was sent for; each later pause is twice as long. */
const FIRST_LOOK = 2
/** How many looks read the journal along with the row: a run that another process was sent for often ends at once. */
const WHOLE_LOOKS = 3
/** Milliseconds between two looks, at most, while a process that was sent for is with the run: its departure is noticed. */
const VISITED_LOOK = 2_000
const ANY = ["open", "delivering", "answered", "expired", "withdrawn"] as const
/** How often the sender of mail looks for its outcome until it has a dispatcher send for a process again. */
const SENDS_AGAIN = 20
/** Milliseconds until undelivered mail is reported. */
const MAIL_PATIENCE = 30_000

/** `taken`: the run has the answer or the signal. `stored`: it waits in the store for a process that executes the run. */
export type Delivery = "taken" | "stored"

type SignalMail = Extract<Mail["command"], { type: "signal" }>

export class FollowedRun {
  readonly id: RunId
  readonly #keeper: Keeper
  readonly #clock: Clock
  readonly #claim: (run: StoredRun) => Promise<RunHost | undefined>

  /** `claim` loads the run into this process, or returns undefined if it cannot. */
  constructor(
    id: RunId,
    keeper: Keeper,
    clock: Clock,
    claim: (run: StoredRun) => Promise<RunHost | undefined>,
  ) {
    this.id = id
    this.#keeper = keeper
    this.#clock = clock
    this.#claim = claim
  }

  /** The run, if this process now executes it. One that only waits here may have been taken by another process. */
  #here(): MaybePromise<RunHost | undefined> {
    const { dispatcher } = this.#keeper
    return andThen(this.#keeper.hostAfterGate(this.id), (host) =>
      dispatcher !== undefined && host?.isResigned() ? undefined : host,
    )
  }

  async #row(): Promise<StoredRun> {
    const { store } = this.#keeper
    const row = await store.run(this.id)
    if (row !== undefined) return row
    // It may have been started here a moment ago.
    await this.#keeper.stored(this.id)
    const stored = await store.run(this.id)
    if (stored === undefined) throw runUnknown(this.id)
    return stored
  }

  /**
   * Pauses until the next look. A process that was sent for is waited for; one that got mail often answers within milliseconds:
   * looks soon, then less and less often.
   */
  #look(turn = Number.POSITIVE_INFINITY): Promise<void> {
    const { visits } = this.#keeper
    const visit = visits?.of(this.id)
    const soon = visits === undefined ? LOOK : Math.min(LOOK, FIRST_LOOK * 2 ** turn)
    const pause = visit === undefined ? soon : Math.min(VISITED_LOOK, 4 * LOOK * 2 ** turn)
    return new Promise((resolve) => {
      const cancel = this.#clock.setTimer(this.#clock.now() + pause, resolve)
      visit?.then(() => {
        cancel()
        resolve()
      })
    })
  }

  /** The result, once the run has ended or waits for a person or a signal. */
  async result(): Promise<RunResult> {
    const ended = this.#keeper.visits?.takeEnd(this.id, this.#clock.now())
    if (ended !== undefined) return endedResult(this.id, ended)
    const seen: { seq?: number; waits?: RunResult["waits"] } = {}
    if (this.#keeper.visits?.of(this.id) !== undefined) await this.#look(0)
    for (let turn = 0; ; turn++) {
      const here = await this.#here()
      if (here !== undefined) return await here.result()
      const isWhole = this.#keeper.visits !== undefined && turn < WHOLE_LOOKS
      const found = isWhole ? await readShortRun(this.#keeper.store, this.id) : undefined
      const row = found?.row ?? (await this.#row())
      if (hasEnded(row)) return await this.#fold(row, found?.records)
      if (row.status === "quarantined") throw runQuarantined(row)
      if (row.status === "paused" && (!row.executing || !(await this.#keeper.isHeldElsewhere(row)))) {
        return await this.#fold(row)
      }
      const mayClaim = this.#keeper.dispatcher === undefined && this.#isDue(row)
      if (mayClaim && !(await this.#keeper.isHeldElsewhere(row))) {
        const host = await this.#claim(row)
        if (host !== undefined) return await host.result()
      } else if (row.status === "waiting" && (row.holder === undefined || !row.executing)) {
        const open = await this.#keeper.store.requests({ runId: this.id, limit: 1 })
        // A run that only sleeps is read again when it has changed.
        if (open.length === 0 && row.seq !== seen.seq) {
          Object.assign(seen, { seq: row.seq, waits: (await this.#fold(row)).waits })
        }
        if (open.length > 0 || (seen.waits?.length && !(await this.#hasMail()))) return await this.#fold(row)
      }
      await this.#look(turn)
    }
  }

  /** A signal or an answer is on its way. */
  async #hasMail(): Promise<boolean> {
    return (await this.#keeper.store.mailAmount(this.id)).count > 0
  }

  #isDue({ status, wakeAt, holder }: StoredRun): boolean {
    if (holder !== undefined) return true
    if (wakeAt !== undefined) return wakeAt <= this.#clock.now()
    return status === "running" || status === "queued"
  }

  async #fold({ seq }: StoredRun, records?: readonly JournalRecord[]): Promise<RunResult> {
    const run = await loadRun(this.#keeper.store, this.id, undefined, seq, records)
    if (run === undefined) throw runUnknown(this.id)
    return loadedResult(run)
  }

  /**
   * The process that executes the run takes the answer; if none does, it is validated and stored for the next one.
   */
  async respond(request: RequestId, value: Json, by: string | undefined): Promise<Delivery> {
    return await this.#ask({ type: "answer", request, value, by }, (host, mail) =>
      host.respond(request, value, by, mail),
    )
  }

  /** The process that executes the run passes the question on; if none does, the next one that does. */
  async escalate(command: EscalateCommand): Promise<Delivery> {
    return await this.#ask(command, (host, mail) => host.escalate(command, mail))
  }

  /** The run takes the signal; if no process executes the run, the signal is stored for the next one that does. */
  async signal(signal: Omit<SignalMail, "type" | "isAccepted">): Promise<Delivery> {
    const command = { type: "signal", ...signal } as const
    try {
      return await this.#ask(command, (host, mail) => host.signal({ ...signal, mail }))
    } catch (error) {
      if (isSuperstepError(error, "SIGNAL_KNOWN")) return "taken"
      // It may have ended after it received the signal.
      if (isSuperstepError(error, "RUN_OVER") && (await this.#hasReceived(signal.id))) return "taken"
      throw error
    }
  }

  async #hasReceived(id: SignalId): Promise<boolean> {
    const run = await loadRun(this.#keeper.store, this.id)
    return run?.frames.get("")?.machine.hasReceived(id) === true
  }

  /** Reads on in the journal until the reply is there. */
  async replyTo(id: SignalId, deadline: number | undefined): Promise<Json> {
    const { store } = this.#keeper
    let seq: number | undefined
    for (;;) {
      const here = await this.#here()
      if (here !== undefined) {
        try {
          return await here.replyTo(id, deadline)
        } catch (error) {
          if (!LEFT.some((code) => isSuperstepError(error, code))) throw error
        }
      }
      const row = await this.#row()
      if (seq === undefined) {
        const run = await loadRun(store, this.id)
        const reply = run?.frames.get("")?.machine.replyTo(id)
        if (reply !== undefined) return reply
        seq = run?.seq ?? 0
      } else {
        for (const { seq: number, entry } of await store.read(this.id, seq)) {
          if (entry.type === "signal.replied" && entry.id === id) return entry.value
          seq = number
        }
      }
      if (hasEnded(row)) throw noReply(this.id, row.status)
      if (deadline !== undefined && this.#clock.now() >= deadline) throw replyTimeout(this.id, id)
      await this.#look()
    }
  }

  /** With `timeout`: resolves with `stored` if the process that executes the run does not answer in time. */
  async cancel(reason: string | undefined, timeout?: number): Promise<Delivery> {
    const row = await this.#row()
    const isUnheld = row.status === "queued" || row.status === "paused"
    const isEnded = isUnheld && cancelFree(this.#keeper, row, reason, this.#clock.now())
    if (await isEnded) return "taken"
    return await this.#ask({ type: "cancel", reason }, (host, mail) => host.cancel(reason, mail), timeout)
  }

  /** With `timeout`: the same. A run that is paused already stays as it is. */
  async pause(why: PauseOptions, timeout?: number): Promise<Delivery> {
    return await this.#changePause({ type: "run.paused", ...why }, timeout)
  }

  /** With `timeout`: the same. A run that is not paused stays as it is. */
  async unpause(by: Pick<PauseOptions, "by">, timeout?: number): Promise<Delivery> {
    return await this.#changePause({ type: "run.resumed", ...by }, timeout)
  }

  async #changePause(change: PauseChange, timeout: number | undefined): Promise<Delivery> {
    const { type, ...why } = change
    try {
      const row = await this.#row()
      if (await changePauseOfFree(this.#keeper, row, change, this.#clock.now())) return "taken"
      if (type === "run.paused")
        return await this.#ask({ type: "pause", ...why }, (host, mail) => host.pause(why, mail), timeout)
      return await this.#ask({ type: "resume", ...why }, (host, mail) => host.unpause(why, mail), timeout)
    } catch (error) {
      const code = type === "run.paused" ? "RUN_PAUSED" : "RUN_NOT_PAUSED"
      if (isSuperstepError(error, code)) return "taken"
      throw error
    }
  }

  /**
   * Sends the command to the run: directly if it is here, else by mail. The record with the mail's id has carried it out.
   */
  async #ask(
    command: Mail["command"],
    act: (host: RunHost, mail: string) => Promise<void>,
    timeout?: number,
  ): Promise<Delivery> {
    const mail = newRunId()
    const isAnswer = command.type === "answer" || command.type === "escalate"
    const isBrought = isAnswer && this.#keeper.dispatcher?.deliver !== undefined
    if (!isBrought || (await this.#here()) !== undefined) return await this.#find(mail, command, act, timeout)
    // A run with a question waits, most probably: it is looked for only if that fails.
    if (await this.#bring(mail, command)) return "taken"
    try {
      return await this.#find(mail, command, act, timeout)
    } catch (error) {
      // It did arrive: the reply was lost.
      const records = await this.#keeper.store.read(this.id, 0)
      if (records.some(({ entry }) => "mail" in entry && entry.mail === mail)) return "taken"
      throw error
    }
  }

  async #find(
    mail: string,
    command: Mail["command"],
    act: (host: RunHost, mail: string) => Promise<void>,
    timeout?: number,
  ): Promise<Delivery> {
    const { host, isFree } = await this.#awake()
    if (host !== undefined) {
      try {
        await act(host, mail)
        return "taken"
      } catch (error) {
        // The run left this process before the record was durable: ask its new holder.
        if (!LEFT.some((code) => isSuperstepError(error, code))) throw error
      }
    }
    if (isFree && command.type === "signal" && (await this.#bring(mail, command))) return "taken"
    if (command.type === "answer") {
      // The process that executes the run checks the answer against the run's own limit; what is posted is bounded too.
      const limit = { runId: this.id, valueBytes: DEFAULT_VALUE_BYTES }
      ownValue(command.value, limit, () => `The answer to "${command.request}"`)
      await this.#checkAnswer(command)
    } else if (command.type === "escalate") {
      await this.#openRequest(command.request)
    } else if (command.type === "signal") {
      const limit = { runId: this.id, valueBytes: DEFAULT_VALUE_BYTES }
      ownValue(command.value, limit, () => `The value of signal "${command.name}"`)
      if (await this.#isLeft()) return await this.#storeSignal(command)
    }
    return await this.#write(mail, command, timeout)
  }

  /** By the dispatcher, to a process that takes it at once. False: it goes by mail. */
  async #bring(id: string, command: Mail["command"]): Promise<boolean> {
    const { dispatcher, visits } = this.#keeper
    if (dispatcher?.deliver === undefined) return false
    const reply = await visits?.deliver({ id, runId: this.id, at: this.#clock.now(), command })
    if (reply?.ok === false) throw new SuperstepError(reply.code, reply.message, { run: this.id })
    if (reply?.ended !== undefined) visits?.noteEnd(this.id, reply.ended, this.#clock.now())
    return reply !== undefined
  }

  /** No process takes the signal now: from now on it counts as accepted, and one takes it later. */
  async #storeSignal(command: SignalMail): Promise<Delivery> {
    const { store, answerProblem } = this.#keeper
    const { name, value } = command
    const { count, bytes } = await store.mailAmount(this.id)
    if (count >= MAX_BUFFERED || bytes > DEFAULT_VALUE_BYTES) throw mailFull(this.id, name, count)
    const row = await this.#row()
    if (row.status === "waiting") {
      const wait = (await this.#fold(row)).waits.find((one) => one.name === name)
      const problem = wait?.schema === undefined ? undefined : await answerProblem?.(wait.schema, value)
      if (problem !== undefined) throw signalInvalid(name, `${problem}. Nothing was recorded; send it again.`)
    }
    const accepted = { ...command, isAccepted: true } as const
    await store.post({ id: newRunId(), runId: this.id, at: this.#clock.now(), command: accepted })
    return "stored"
  }

  /** Validates by what the store knows of the request; the process that executes the run has its full schema. */
  async #checkAnswer({ request: id, value }: Extract<Mail["command"], { type: "answer" }>): Promise<void> {
    const { schema } = await this.#openRequest(id)
    const problem = schema === undefined ? undefined : await this.#keeper.answerProblem?.(schema, value)
    if (problem === undefined) return
    const text = `The answer to request "${id}" of run "${this.id}" is not valid: ${problem}. Nothing was recorded; answer again.`
    throw new SuperstepError("REQUEST_INVALID", text, { run: this.id })
  }

  async #openRequest(id: RequestId): Promise<StoredRequest> {
    const all = await this.#keeper.store.requests({ runId: this.id, outcome: ANY })
    const request = all.find((one) => one.id === id)
    if (request === undefined) {
      const open = all.filter(({ outcome }) => outcome === "open").map((one) => `"${one.id}"`)
      const text = `Run "${this.id}" has no open request "${id}". Open: ${open.join(", ") || "none"}.`
      throw new SuperstepError("REQUEST_UNKNOWN", text, { run: this.id })
    }
    if (request.outcome === "delivering" || request.outcome === "answered") {
      const text = `Request "${id}" of run "${this.id}" was answered before; an answer cannot be changed.`
      throw new SuperstepError("REQUEST_ANSWERED", text, { run: this.id })
    }
    if (request.outcome !== "open") {
      const text = `Request "${id}" of run "${this.id}" is no longer open: ${request.outcome}.`
      throw new SuperstepError("REQUEST_UNKNOWN", text, { run: this.id })
    }
    return request
  }

  /** Here, unless another process has it. `isFree`: no process executes it, and one that is sent for may. */
  async #awake(): Promise<{ readonly host: RunHost | undefined; readonly isFree: boolean }> {
    const here = await this.#here()
    if (here !== undefined) return { host: here, isFree: false }
    const row = await this.#row()
    if (hasEnded(row)) throw runOver(row)
    if (row.status === "quarantined") throw runQuarantined(row)
    const { holder, executing, status } = row
    const isFree = status === "waiting" && (holder === undefined || !executing)
    if (this.#keeper.dispatcher?.deliver !== undefined && isFree) return { host: undefined, isFree }
    if (await this.#keeper.isHeldElsewhere(row)) return { host: undefined, isFree: false }
    return { host: await this.#claim(row), isFree: false }
  }

  async #write(id: string, command: Mail["command"], timeout?: number): Promise<Delivery> {
    const { store } = this.#keeper
    const at = this.#clock.now()
    const { seq } = await this.#row()
    await store.post({ id, runId: this.id, at, command })
    for (let turn = 0; ; turn++) {
      // The store notifies a process that holds the run. Not with every look: a process may be on the way.
      if (turn % SENDS_AGAIN === 0) await this.#sendFor()
      const outcome = await store.mailOutcome(id)
      if (outcome?.ok) return "taken"
      if (outcome !== undefined) throw new SuperstepError(outcome.code, outcome.message, { run: this.id })
      const waited = this.#clock.now() - at
      if (timeout !== undefined && waited >= timeout) return "stored"
      const isLate = waited > MAIL_PATIENCE
      if (command.type === "signal" && (isLate || (await this.#isLeft(waited))))
        return await this.#storeSignal(command)
      if (isLate) throw mailUnread(this.id)
      const mayWait = command.type === "answer" || command.type === "escalate"
      if (mayWait && (await this.#isLeft(waited))) return "stored"
      await this.#look(turn)
      // Its holder may have died meanwhile; the process that claims it reads the mail.
      const row = await this.#row()
      if (hasEnded(row)) {
        await this.#checkCarriedOut(id, seq, row)
        return "taken"
      }
      if (row.status === "quarantined") throw runQuarantined(row)
      const here = await this.#here()
      // The process that had the run has released it with the mail unread, and nobody loads a paused run.
      if (command.type === "resume" && row.status === "paused" && here === undefined) {
        const change = { type: "run.resumed", by: command.by, mail: id } as const
        if (await changePauseOfFree(this.#keeper, row, omitUndefined(change), this.#clock.now()))
          return "taken"
      }
      if (here === undefined && !(await this.#keeper.isHeldElsewhere(row))) await this.#claim(row)
      if (this.#keeper.host(this.id) !== undefined) await this.#keeper.deliver()
    }
  }

  /** Has a process execute the run, if a dispatcher does that and no live process holds it. */
  async #sendFor(): Promise<void> {
    const { visits } = this.#keeper
    if (visits === undefined || (await this.#here()) !== undefined) return
    const row = await this.#row()
    if (hasEnded(row) || (await this.#keeper.isHeldElsewhere(row))) return
    // What is posted is durable: a process finds it later, without having been sent for.
    visits.send(this.id)
  }

  /** No live process holds the run, and it cannot be executed here: its mail waits for the process that claims it. */
  async #isLeft(waited = 0): Promise<boolean> {
    const row = await this.#row()
    if (hasEnded(row) || row.status === "quarantined") return false
    const isSentFor = this.#keeper.dispatcher !== undefined && row.status !== "paused"
    if (isSentFor && waited < DISPATCH_PATIENCE) return false
    if ((await this.#here()) !== undefined || (await this.#keeper.isHeldElsewhere(row))) return false
    return (await this.#claim(row)) === undefined && (await this.#row()).holder === undefined
  }

  /** The run ended before its mail was read, or because of it: the record with the mail's id decides which. */
  async #checkCarriedOut(id: string, postedAfter: number, row: StoredRun): Promise<void> {
    const { store } = this.#keeper
    const outcome = await store.mailOutcome(id)
    if (outcome !== undefined && !outcome.ok)
      throw new SuperstepError(outcome.code, outcome.message, { run: this.id })
    if (outcome !== undefined) return
    const records = await store.read(this.id, postedAfter)
    if (!records.some(({ entry }) => "mail" in entry && entry.mail === id)) throw runOver(row)
  }

  /** Journaled events after that number, and live ones as they come, until the run has ended. */
  events(options: FollowedEventsOptions): AsyncGenerator<RunEvent, void, undefined> {
    return new FollowedEvents(this.id, this.#keeper, this.#clock, options).events(() => this.#row())
  }
}

function mailFull(runId: RunId, name: string, count: number): SuperstepError {
  const text = `${count} messages to run "${runId}" wait in the store for a process that executes it, which is as many as it keeps; signal "${name}" is not sent. Send it again later.`
  return new SuperstepError("SIGNALS_FULL", text, { run: runId })
}

function mailUnread(runId: RunId): SuperstepError {
  const text = `No process took the mail to run "${runId}" within ${MAIL_PATIENCE / 1_000} s. It stays stored: a process that has the workflow delivers it when it executes the run.`
  return new SuperstepError("MAIL_UNREAD", text, { run: runId })
}

export interface ThreadTurn {
  readonly thread: string
  readonly onBusy: OnBusy
  /** The run that waits. It never waits for itself, which it may find in the store when it is started again. */
  readonly runId: RunId
  readonly key: string | undefined
}

/** Resolves when the thread is free. If another process is faster, starting the run fails with THREAD_BUSY. */
export async function threadTurn(turn: ThreadTurn, keeper: Keeper, clock: Clock): Promise<void> {
  const { thread, onBusy, runId, key } = turn
  for (;;) {
    const [busy] = await keeper.store.runs({
      thread,
      status: IN_FLIGHT,
      limit: 1,
    })
    if (busy === undefined || busy.runId === runId || (key !== undefined && busy.key === key)) return
    if (onBusy === "interrupt") await interrupt(busy, thread, keeper, clock)
    await over(busy.runId, keeper, clock)
  }
}

async function interrupt(run: StoredRun, thread: string, keeper: Keeper, clock: Clock): Promise<void> {
  const reason = `interrupted by another message of thread "${thread}"`
  if (await cancelFree(keeper, run, reason, clock.now())) return
  try {
    await new FollowedRun(run.runId, keeper, clock, async () => undefined).cancel(reason)
  } catch (error) {
    // It ended by itself meanwhile.
    if (!isSuperstepError(error, "RUN_OVER")) throw error
  }
}

async function over(runId: RunId, keeper: Keeper, clock: Clock): Promise<void> {
  for (;;) {
    const row = await keeper.store.run(runId)
    if (row === undefined || hasEnded(row)) return
    keeper.checkOpen()
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + LOOK, resolve)
      keeper.host(runId)?.onFinish(() => {
        cancel()
        resolve()
      })
    })
  }
}
