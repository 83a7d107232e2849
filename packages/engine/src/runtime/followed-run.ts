/**
 * A run that is not at work here: in another process, or put aside in the store. It is watched by looking at the store
 * now and then; what it is asked for goes to its holder by mail; and when nobody holds it, it is taken up here.
 */
import {
  DEFAULT_VALUE_BYTES,
  type Graph,
  isSuperstepError,
  type Json,
  type RequestId,
  type RunId,
  SuperstepError,
} from "../core/index.ts"
import { checkJson } from "./check-json.ts"
import type { Clock } from "./clock.ts"
import type { RunEvent } from "./events.ts"
import type { Keeper } from "./keeper.ts"
import { loadRun } from "./loaded-run.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import type { RunResult } from "./options.ts"
import { EventReplay } from "./replay-events.ts"
import type { RunHost } from "./run-host.ts"
import { newRunId } from "./run-id.ts"
import { loadedResult } from "./run-result.ts"
import type { Mail, StoredRun } from "./stored.ts"
import { runQuarantined, runUnknown } from "./take-up.ts"

/** Milliseconds between two looks. */
const LOOK = 250
/** How asking a run here ends when the run has left this process. */
const LEFT = ["RUN_TAKEN", "RUN_EVICTED"]
/** Milliseconds until mail that nobody took is reported. */
const MAIL_PATIENCE = 30_000

export class FollowedRun {
  readonly id: RunId
  readonly #keeper: Keeper
  readonly #clock: Clock
  readonly #takeUp: (run: StoredRun) => Promise<RunHost | undefined>

  /** `takeUp` brings the run into this process, or gives undefined where that cannot be. */
  constructor(
    id: RunId,
    keeper: Keeper,
    clock: Clock,
    takeUp: (run: StoredRun) => Promise<RunHost | undefined>,
  ) {
    this.id = id
    this.#keeper = keeper
    this.#clock = clock
    this.#takeUp = takeUp
  }

  /** The run, if it is executed here by now. */
  #here(): MaybePromise<RunHost | undefined> {
    return this.#keeper.settledHost(this.id)
  }

  async #row(): Promise<StoredRun> {
    const row = await this.#keeper.store.run(this.id)
    if (row === undefined) throw runUnknown(this.id)
    return row
  }

  #look(): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(this.#clock.now() + LOOK, resolve))
  }

  /** The result, once the run is over or waits for a person. */
  async settled(): Promise<RunResult> {
    for (;;) {
      const here = await this.#here()
      if (here !== undefined) return await here.settled()
      const row = await this.#row()
      if (isOver(row)) return await this.#fold()
      if (row.status === "quarantined") throw runQuarantined(row)
      if (this.#isDue(row) && !(await this.#keeper.isHeldElsewhere(row))) {
        const host = await this.#takeUp(row)
        if (host !== undefined) return await host.settled()
      } else if (row.status === "waiting") {
        const open = await this.#keeper.store.requests({ runId: this.id, limit: 1 })
        if (open.length > 0) return await this.#fold()
      }
      await this.#look()
    }
  }

  #isDue({ status, wakeAt, holder }: StoredRun): boolean {
    if (holder !== undefined) return true
    return wakeAt === undefined ? status === "running" : wakeAt <= this.#clock.now()
  }

  async #fold(): Promise<RunResult> {
    const run = await loadRun(this.#keeper.store, this.id)
    if (run === undefined) throw runUnknown(this.id)
    return loadedResult(run)
  }

  async respond(request: RequestId, value: unknown, by: string | undefined): Promise<void> {
    await this.#ask({ type: "answer", request, value: value as Json, by }, (host, mail) =>
      host.respond(request, value, by, mail),
    )
  }

  cancel(reason: string | undefined): Promise<void> {
    return this.#ask({ type: "cancel", reason }, (host, mail) => host.cancel(reason, mail))
  }

  /** Asks the run here, or by mail where it is. Whichever record carries the mail's id has the wish carried out. */
  async #ask(wish: Mail["wish"], act: (host: RunHost, mail: string) => Promise<void>): Promise<void> {
    const mail = newRunId()
    const host = await this.#awake()
    if (host !== undefined) {
      try {
        return await act(host, mail)
      } catch (error) {
        // It left this process before the record was durable: whoever has it now is asked.
        if (!LEFT.some((code) => isSuperstepError(error, code))) throw error
      }
    }
    if (wish.type === "answer") {
      // Whoever executes the run checks the answer against the run's own limit; what is posted is bounded too.
      const limit = { runId: this.id, valueBytes: DEFAULT_VALUE_BYTES }
      checkJson(wish.value, limit, () => `The answer to "${wish.request}"`)
    }
    await this.#write(mail, wish)
  }

  /** Here, unless another process has it. */
  async #awake(): Promise<RunHost | undefined> {
    const here = await this.#here()
    if (here !== undefined) return here
    const row = await this.#row()
    if (isOver(row)) throw runOver(row)
    if (row.status === "quarantined") throw runQuarantined(row)
    return (await this.#keeper.isHeldElsewhere(row)) ? undefined : await this.#takeUp(row)
  }

  async #write(id: string, wish: Mail["wish"]): Promise<void> {
    const { store } = this.#keeper
    const at = this.#clock.now()
    await store.post({ id, runId: this.id, at, wish })
    for (;;) {
      const outcome = await store.mailOutcome(id)
      if (outcome?.ok) return
      if (outcome !== undefined) throw new SuperstepError(outcome.code, outcome.message, { run: this.id })
      if (this.#clock.now() - at > MAIL_PATIENCE) throw mailUnread(this.id)
      await this.#look()
      // Its holder may have died meanwhile; whoever claims it reads the mail.
      const row = await this.#row()
      if (isOver(row)) return await this.#wasSettled(id, row)
      if (row.status === "quarantined") throw runQuarantined(row)
      const here = await this.#here()
      if (here === undefined && !(await this.#keeper.isHeldElsewhere(row))) await this.#takeUp(row)
      if (this.#keeper.host(this.id) !== undefined) await this.#keeper.deliver()
    }
  }

  /** The run ended before anybody read the mail, or because of it: the record that carries its id says which. */
  async #wasSettled(id: string, row: StoredRun): Promise<void> {
    const { store } = this.#keeper
    const outcome = await store.mailOutcome(id)
    if (outcome !== undefined && !outcome.ok)
      throw new SuperstepError(outcome.code, outcome.message, { run: this.id })
    if (outcome !== undefined) return
    const records = await store.read(this.id, 0)
    if (!records.some(({ entry }) => "mail" in entry && entry.mail === id)) throw runOver(row)
  }

  /** Events after that number, from the journal, until the run is over. */
  async *events(after: number, known?: Graph): AsyncGenerator<RunEvent, void, undefined> {
    const { store } = this.#keeper
    const replay = new EventReplay(store, known)
    let seq = 0
    for (;;) {
      const row = await this.#row()
      if (row.seq > seq) {
        const records = await store.read(this.id, seq)
        seq = records.at(-1)?.seq ?? seq
        yield* await replay.add(records, after)
      }
      if (isOver(row)) return
      await this.#look()
    }
  }
}

export function isOver({ status }: Pick<StoredRun, "status">): boolean {
  return status !== "running" && status !== "waiting" && status !== "quarantined"
}

function runOver({ runId, status }: StoredRun): SuperstepError {
  return new SuperstepError("RUN_OVER", `Run "${runId}" is over: ${status}.`, { run: runId })
}

function mailUnread(runId: RunId): SuperstepError {
  const text = `Nobody took the mail to run "${runId}" within ${MAIL_PATIENCE / 1_000} s. It is kept: a process that has the workflow delivers it when it runs.`
  return new SuperstepError("MAIL_UNREAD", text, { run: runId })
}
