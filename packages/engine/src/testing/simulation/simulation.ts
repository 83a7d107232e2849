/**
 * One simulated run, from its start to its end through any number of processes. Everything that can happen in different
 * orders waits for its turn, and the seed selects the next turn: a write that becomes durable, a handler or step that ends,
 * an answer, a signal, a timer, the death of the process.
 *
 * Its parts: durable data (SimulatedJournal), the state of a process (SimulatedProcess), the timing of user code (Driver).
 * It checks: M1, M2, M6 to M10, that the run neither stops short nor continues after its end, that watchers saw the events
 * of the journal, and that no other code can change a value of the run (V1).
 */

import { isSuperstepError, type OpenRequest, SuperstepError } from "../../core/index.ts"
import {
  type JournalRecord,
  type Program,
  Run,
  type RunEvent,
  type RunResult,
  replayEvents,
} from "../../runtime/index.ts"
import { isLive } from "../../runtime/internal.ts"
import { memoryStore } from "../../stores/index.ts"
import { settled } from "../manual-clock.ts"
import { Driver, type Executions } from "./driven-program.ts"
import {
  built,
  checkTestOptions,
  type Random,
  SIMULATE,
  type SimulatedSignal,
  type SimulateOptions,
  type Simulation,
  seededRandom,
  type WorkflowSource,
} from "./simulate-options.ts"
import { difference, SimulatedJournal } from "./simulated-journal.ts"
import { SimulatedProcess, type Turn } from "./simulated-process.ts"
import { tamper } from "./tamper.ts"

/**
 * Rejects with INVARIANT_BROKEN if the engine or a handler breaks an invariant: for example, a handler changes its input or
 * a sent value, or restarts and does not repeat its recorded operations. Rejects with SIMULATION_STUCK if a handler waits
 * for something that the simulator does not control.
 */
export async function simulate<In, Out>(
  workflow: WorkflowSource<In, Out>,
  input: In,
  options: SimulateOptions,
): Promise<Simulation<Out>> {
  checkTestOptions("simulate", options, SIMULATE)
  return await new SimulatedRun<Out>(() => built(workflow).program, input, options).result()
}

const RUN_ID = "simulated"
const MAX_TURNS = 100_000
/** The probability that the process dies before a turn, while crashes remain. */
const CRASH_RATE = 0.12
/** The probability that a pause is among the next turns, while pauses remain. */
const PAUSE_RATE = 0.3
/** Choices for the number of entries between two snapshots. */
const SNAPSHOTS = [1, 2, 5, 1_000]
const HOUR = 3_600_000

class SimulatedRun<Out> {
  /** Builds the program of one process. */
  readonly #build: () => Program
  #program!: Program
  readonly #input: unknown
  readonly #options: SimulateOptions
  readonly #random: Random
  readonly #journal: SimulatedJournal
  readonly #rows = memoryStore()
  readonly #dead = new Set<string>()
  readonly #time = { now: 0 }
  readonly #events: string[] = []
  readonly #executions: Executions = new Map()
  readonly #steps = new Map<string, number>()
  readonly #snapshots: number
  readonly #declined = new Set<string>()
  #process!: SimulatedProcess
  #driver!: Driver
  /** Processes that have lost the run and have not noticed yet. */
  #slow: SimulatedProcess[] = []
  #run!: Run<Out>
  /** Requests answered in this process, including those to retry later. */
  #answering = new Set<string>()
  #tooEarly = new Set<string>()
  /** Durable answers, and those that were not sent again to this process. */
  readonly #answered = new Set<string>()
  #toAnswerAgain = new Set<string>()
  /** How many signals are accepted, and whether one is on its way from this process. */
  #accepted = 0
  #isSending = false
  /** How many pauses were asked for, and whether one is being recorded. */
  #paused = 0
  #isPausing = false
  #crashes = 0
  #turns = 0
  #broken: string | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(build: () => Program, input: unknown, options: SimulateOptions) {
    this.#build = build
    this.#input = input
    this.#options = options
    this.#random = seededRandom(options.seed)
    this.#snapshots = SNAPSHOTS[this.#random.below(SNAPSHOTS.length)] as number
    this.#journal = new SimulatedJournal(this.#onBroken)
  }

  async result(): Promise<Simulation<Out>> {
    this.#begin()
    return this.#report(await this.#atRest())
  }

  readonly #onBroken = (problem: string): void => {
    this.#broken ??= problem
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#broken !== undefined) throw new SuperstepError("INVARIANT_BROKEN", this.#broken)
  }

  /** Starts the run in a new process, or resumes it from the store. Sometimes attaches a watcher. */
  #begin(): void {
    const { faults = {}, run } = this.#options
    const world = { random: this.#random, journal: this.#journal, onBroken: this.#onBroken }
    const process = new SimulatedProcess({
      ...world,
      rows: this.#rows,
      dead: this.#dead,
      time: this.#time,
      duplicateTimers: faults.duplicateTimers ?? 0,
      snapshots: this.#snapshots,
      death: typeof faults.crash === "object" ? faults.crash[this.#crashes] : undefined,
    })
    const driver = new Driver({
      ...world,
      executions: this.#executions,
      steps: this.#steps,
      runId: RUN_ID,
      process,
      fail: faults.fail ?? 0,
      changeSent: faults.changeSent ?? false,
    })
    this.#driver = driver
    this.#program = this.#build()
    const program = driver.drive(this.#program)
    const watched = this.#random.chance(0.5)
    const { store, clock } = process
    this.#process = process
    this.#run =
      this.#journal.length === 0
        ? Run.start(program, this.#input, { ...run, runId: RUN_ID, store, clock }, watched)
        : Run.resume(program, RUN_ID, { store, clock, takeOver: this.#slow.length > 0 })
    if (watched) void this.#watch(this.#run)
  }

  async #watch(run: Run<Out>): Promise<void> {
    try {
      for await (const event of run) {
        this.#events.push(JSON.stringify(event))
        for (const part of Object.values(event)) this.#refuseChange("a watcher", "an event", part)
      }
    } catch (error) {
      if (run === this.#run) this.#failure ??= { error }
    }
  }

  /** V1: any recipient of a value of the run may try to change it. */
  #refuseChange(who: string, what: string, value: unknown): void {
    const [where] = tamper(value).changed
    if (where !== undefined) this.#onBroken(`${who} could change ${what} at ${where} (V1)`)
  }

  async #atRest(): Promise<RunResult<Out>> {
    for (;;) {
      const result = await this.#untilAtRest()
      if (result !== undefined) return result
    }
  }

  /** Takes turn after turn. Returns the result when no turn is left; undefined after a crash. */
  async #untilAtRest(): Promise<RunResult<Out> | undefined> {
    for (;;) {
      await settled()
      this.#driver.changeSent()
      this.#check()
      if (this.#process.isDoomed) return this.#crash()
      const turns = this.#nextTurns()
      if (turns.length === 0) return this.#settledResult()
      if (++this.#turns > MAX_TURNS) throw stuck(`it has not ended after ${MAX_TURNS} turns`)
      if (this.#isTimeToCrash()) return this.#crash()
      this.#take(turns[this.#random.below(turns.length)] as Turn)
    }
  }

  /** Time stands still while there is something else to do, unless timers may come at any time. */
  #nextTurns(): Turn[] {
    const turns = [
      ...this.#process.turns,
      ...this.#answers(),
      ...this.#signals(),
      ...this.#pauses(),
      ...this.#slow.flatMap((slow) => slow.turns),
    ]
    if (turns.length > 0 && this.#options.timers !== "anytime") return turns
    const timers = this.#isOver() ? [] : this.#process.dueTimers
    if (timers.length === 0) return turns
    return [...turns, ...timers, ...this.#slow.flatMap((slow) => slow.dueTimers)]
  }

  #take(turn: Turn): void {
    const { clockBack = 0 } = this.#options.faults ?? {}
    if (clockBack > 0 && this.#random.chance(clockBack)) this.#time.now -= this.#random.below(HOUR)
    if (turn.kind !== "answer") this.#tooEarly.clear()
    turn.take()
  }

  #isOver(): boolean {
    return this.#journal.root?.isOver() === true
  }

  // Crashes

  #isTimeToCrash(): boolean {
    const { crash = 0 } = this.#options.faults ?? {}
    if (typeof crash === "object") return false
    return this.#crashes < crash && !this.#isOver() && this.#random.chance(CRASH_RATE)
  }

  /** The process is dead, or it has lost the run: another one resumes it. */
  #crash(): undefined {
    const { takeOver = 0 } = this.#options.faults ?? {}
    const { isDoomed, holdsRun } = this.#process
    const isSlow = !isDoomed && holdsRun && takeOver > 0 && this.#random.chance(takeOver)
    this.#crashes++
    if (isSlow) {
      this.#process.isSlow = true
      this.#slow.push(this.#process)
    } else this.#process.die()
    this.#answering = new Set()
    this.#tooEarly = new Set()
    this.#toAnswerAgain = new Set(this.#answered)
    this.#isSending = false
    this.#isPausing = false
    this.#begin()
  }

  // Answers

  #answers(): Turn[] {
    if (this.#options.answers === undefined) return []
    const open = this.#journal
      .requests()
      .filter(({ id }) => !this.#answering.has(id) && !this.#declined.has(id) && !this.#tooEarly.has(id))
    return [
      ...open.map((request) => () => void this.#answer(this.#run, request)),
      ...[...this.#toAnswerAgain].map((id) => () => void this.#answerAgain(this.#run, id)),
    ].map((take) => ({ kind: "answer", take }))
  }

  async #answer(run: Run<Out>, request: OpenRequest): Promise<void> {
    const { id } = request
    this.#answering.add(id)
    try {
      const value = await this.#options.answers?.(request)
      if (value === undefined) {
        this.#declined.add(id)
        return
      }
      await run.respond(id, value)
      this.#answered.add(id)
      await this.#answerAgain(run, id)
    } catch (error) {
      if (run === this.#run) this.#answerRefused(id, error)
    }
  }

  /** M7, and after a restart too: a late answer is rejected with REQUEST_ANSWERED. */
  async #answerAgain(run: Run<Out>, id: string): Promise<void> {
    this.#toAnswerAgain.delete(id)
    try {
      await run.respond(id, "again")
      this.#onBroken(`request "${id}" accepts a second answer (M7)`)
    } catch (error) {
      if (run !== this.#run || isSuperstepError(error, "REQUEST_ANSWERED")) return
      this.#onBroken(
        `request "${id}" was answered, but a second answer is rejected with ${String(error)} (M7)`,
      )
    }
  }

  /** A sub-workflow's question is unknown until its caller has repeated the call; its deadline may pass first. */
  #answerRefused(id: string, error: unknown): void {
    if (isSuperstepError(error, "REQUEST_ANSWERED")) return
    if (!isSuperstepError(error, "REQUEST_UNKNOWN")) this.#failure ??= { error }
    this.#answering.delete(id)
    this.#tooEarly.add(id)
  }

  // Signals

  #signals(): Turn[] {
    const signal = this.#options.signals?.[this.#accepted]
    if (signal === undefined || this.#isSending || this.#isOver()) return []
    return [{ kind: "signal", take: () => void this.#send(this.#run, signal) }]
  }

  /** M9: an accepted signal is in the journal, once; sent again, it changes nothing. */
  async #send(
    run: Run<Out>,
    { name, value, id = `signal ${this.#accepted}` }: SimulatedSignal,
  ): Promise<void> {
    this.#isSending = true
    try {
      await run.signal(name, value, { id })
      if (this.#random.chance(0.3)) await run.signal(name, value, { id })
    } catch (error) {
      // After a crash the signal is sent again.
      if (run === this.#run && !isSuperstepError(error, "RUN_OVER")) this.#failure ??= { error }
      return
    }
    if (!this.#journal.root?.hasReceived(id))
      this.#onBroken(`signal "${id}" was accepted and is not journaled (M9)`)
    if (run !== this.#run) return
    this.#isSending = false
    this.#accepted++
  }

  // Pauses

  #pauses(): Turn[] {
    const { pauses = 0 } = this.#options.faults ?? {}
    const { root } = this.#journal
    if (this.#isPausing || root === undefined || root.isOver()) return []
    if (root.pause !== undefined) return [{ kind: "pause", take: () => void this.#pause(this.#run, false) }]
    if (this.#paused >= pauses || !this.#random.chance(PAUSE_RATE)) return []
    return [{ kind: "pause", take: () => void this.#pause(this.#run, true) }]
  }

  async #pause(run: Run<Out>, isPause: boolean): Promise<void> {
    this.#isPausing = true
    if (isPause) this.#paused++
    try {
      await (isPause ? run.pause({ reason: "simulated" }) : run.resume())
    } catch (error) {
      if (run === this.#run && !isSuperstepError(error, "RUN_OVER")) this.#failure ??= { error }
    }
    if (run === this.#run) this.#isPausing = false
  }

  // The end

  async #settledResult(): Promise<RunResult<Out>> {
    let result: RunResult<Out> | undefined
    this.#run.result.then(
      (value) => (result = value),
      (error) => (this.#failure ??= { error }),
    )
    await settled()
    this.#check()
    if (result === undefined) throw stuck("no turn is left, but it has neither ended nor does it wait")
    // Agent reports belong to the process that executed them: they are not journaled.
    const { agents: _, ...lasting } = result
    return lasting
  }

  async #report(result: RunResult<Out>): Promise<Simulation<Out>> {
    const journal = this.#journal.records()
    const crashes = this.#crashes
    this.#compareWithJournal(result)
    for (const value of [...result.outputs, ...Object.values(result.state), ...result.undelivered])
      this.#refuseChange("the caller", "the result", value)
    await this.#compareEvents(journal)
    await this.#compareThread(result)
    if (this.#isOver()) await this.#startOnceMore(result)
    this.#check()
    return {
      seed: this.#options.seed,
      result,
      journal,
      writes: [...this.#journal.ends],
      executions: [...this.#executions.values()],
      lost: this.#journal.root?.lost ?? {},
      repeatedSteps: [...this.#steps.values()].reduce((sum, times) => sum + times - 1, 0),
      crashes,
    }
  }

  /** M6: the run's result equals the fold of its journal. */
  #compareWithJournal(result: RunResult<Out>): void {
    const { root } = this.#journal
    if (root === undefined) return this.#onBroken("the run has a result but no journal (M6)")
    const folded = {
      status: root.isOver() || root.pause !== undefined ? root.status : "waiting",
      outputs: root.outputs,
      state: root.allState(),
      undelivered: root.undelivered,
      usage: root.usage,
      supersteps: root.superstep,
      requests: this.#journal.requests(),
      waits: this.#journal.waits(),
      error: root.error?.code,
    }
    // Agent reports exist only in the process.
    const { runId: _, error, agents: __, ...reported } = result
    const differences = difference({ ...reported, error: error?.code }, folded)
    if (differences !== undefined) this.#onBroken(`the run and its journal do not agree (M6): ${differences}`)
  }

  /** A thread contains, once, the writes of a run that completed or reached a limit. */
  async #compareThread({ status, state }: RunResult<Out>): Promise<void> {
    const { thread } = this.#options.run ?? {}
    if (thread === undefined) return
    const { channels } = this.#program.graph
    const lasting = Object.entries(state).filter(([key]) => channels.get(key)?.lasting)
    const isKept = status === "completed" || status === "limit"
    const expected = isKept ? Object.fromEntries(lasting) : {}
    const differences = difference((await this.#rows.thread(thread)).state, expected)
    if (differences !== undefined)
      this.#onBroken(`thread "${thread}" differs from the run's state: ${differences}`)
  }

  /** Watchers saw the same events as a replay of the journal. */
  async #compareEvents(journal: readonly JournalRecord[]): Promise<void> {
    if (this.#events.length === 0) return
    const replayed = new Map<number, RunEvent>()
    for (const event of await replayEvents(this.#rows, journal, 0, this.#program.graph)) {
      replayed.set(event.seq, event)
    }
    for (const text of this.#events) {
      const event = JSON.parse(text) as RunEvent
      const other = replayed.get(event.seq)
      if (isLive(event) || other === undefined) continue
      const differences = difference(event, other)
      if (differences !== undefined) {
        this.#onBroken(`event ${event.seq} differs from the journal: ${differences}`)
      }
    }
  }

  /** A run that has ended stays unchanged, however often it is resumed. */
  async #startOnceMore(result: RunResult<Out>): Promise<void> {
    const { length } = this.#journal
    this.#process.die()
    this.#begin()
    const again = await this.#atRest()
    const differences = difference(
      { ...again, error: again.error?.code, agents: undefined },
      { ...result, error: result.error?.code, agents: undefined },
    )
    if (differences !== undefined)
      this.#onBroken(`resumed after its end, the run differs (M6): ${differences}`)
    if (this.#journal.length !== length) this.#onBroken("resumed after its end, the run journals more (M1)")
  }
}

function stuck(why: string): SuperstepError {
  return new SuperstepError(
    "SIMULATION_STUCK",
    `The simulated run is stuck: ${why}. Handlers must wait with ctx (sleep, ask, step), not for real time or IO.`,
  )
}
