/**
 * The signals of a run and of everything below it. A signal goes to the run, which buffers it; the oldest open wait for its
 * name takes it, in whatever workflow of the run that is. Both happen in one write if the wait is open already.
 *
 * Invariants:
 * S1 a buffered signal and an open wait for its name exist side by side only until the workflow of the wait executes here.
 * S2 a signal that was reported to its sender as accepted is never refused, whatever its value and however full the buffer.
 */
import {
  type BufferedSignal,
  type Json,
  type Machine,
  type SignalId,
  type SignalWaitSpec,
  SuperstepError,
  type TaskId,
} from "../../core/index.ts"
import { Fifo } from "../../core/internal.ts"
import type { Clock } from "../ports/clock.ts"
import { Signal } from "../ports/maybe-promise.ts"
import { runOver } from "../ports/store.ts"
import { ownValue, type Schema, type ValueLimit, validate } from "../ports/values.ts"
import type { RestoredCalls } from "./restored-calls.ts"
import { checkSignalName, type SignalFrame, signalInvalid, type TaskSignals } from "./signal-wait.ts"
import { attemptOf } from "./task-run.ts"

/** How many signals a run buffers; their values together may be as large as one value. */
export const MAX_BUFFERED = 1_000

/** A signal on its way to a run. */
export interface IncomingSignal {
  readonly id: SignalId
  readonly name: string
  readonly value: unknown
  /** S2: it was reported to its sender as accepted when it was in the store's mail. */
  readonly isAccepted?: boolean | undefined
  /** The mail that brings it. */
  readonly mail?: string | undefined
}

/** The run, as its signals use it. */
interface SignalHost extends ValueLimit {
  readonly clock: Clock
  readonly failure: unknown
  readonly isOver: boolean
  readonly root: SignalFrame
  readonly restored: Pick<RestoredCalls, "called" | "get"> | undefined
  frame(key: string): SignalFrame | undefined
  lostError(): Promise<unknown>
  now(): number
  changeBusy(by: 1 | -1): void
  together(act: () => void): void
  checkResult(): void
  durable(): Promise<void>
  stop(error: unknown): void
}

interface WaitPlace {
  readonly frame: string
  readonly task: TaskId
  readonly key: string
  readonly order: number
}

type MachineOf = readonly [frame: string, { readonly machine: Machine }]

export class RunSignals implements TaskSignals {
  readonly #host: SignalHost
  /** Open waits by name, the oldest first. Those that ended otherwise are removed when they come first. */
  readonly #waits = new Map<string, Fifo<WaitPlace>>()
  #order = 0
  readonly #sizes = new WeakMap<BufferedSignal, number>()
  /** A handler replied to a signal, or the run has stopped. */
  readonly #replied = new Signal()

  constructor(host: SignalHost) {
    this.#host = host
  }

  /** The open waits of a loaded run. */
  restore(frames: Iterable<MachineOf>): void {
    const open = [...frames].flatMap(([frame, { machine }]) => [...waitsIn(frame, machine)])
    open.sort((a, b) => a.wait.order - b.wait.order)
    for (const { name, wait } of open) this.#add(name, wait)
  }

  /** S1: what was buffered while no process executed the run. */
  async matchBuffered(): Promise<void> {
    const host = this.#host
    for (const signal of [...host.root.machine.signals()]) {
      for (let wait = this.#oldest(signal.name); wait !== undefined; wait = this.#oldest(signal.name)) {
        const { frame } = wait
        if (host.frame(frame) !== undefined) {
          const oldest = wait
          host.together(() => this.#take(oldest, signal))
          break
        }
        await host.restored?.called(frame, () => host.failure !== undefined || host.isOver)
        if (host.failure !== undefined || host.isOver) return
      }
    }
  }

  /** A handler waits. It takes the oldest buffered signal at once, if there is one. */
  open(frame: SignalFrame, task: TaskId, key: string, spec: Omit<SignalWaitSpec, "order">): void {
    const host = this.#host
    const { name } = spec
    const order = ++this.#order
    host.together(() => {
      frame.apply({ type: "signal.awaited", at: host.now(), task, key, wait: { ...spec, order } })
      const wait = { frame: frame.key, task, key, order }
      if (!this.#isOpen(wait)) return
      const isFirst = this.#oldest(name) === undefined
      this.#add(name, wait)
      const signal = isFirst ? this.#firstBuffered(name) : undefined
      if (signal !== undefined) this.#take(wait, signal)
    })
  }

  /**
   * Accepts a signal: the oldest open wait for its name takes it, or the run buffers it. Resolves when that is durable.
   * Rejects with SIGNAL_KNOWN if the run has received it before.
   */
  async receive(signal: IncomingSignal): Promise<void> {
    const host = this.#host
    const { id, name, mail, isAccepted = false } = signal
    checkSignalName("name", name)
    checkSignalName("id", id)
    const value = ownValue(signal.value, host, () => `The value of signal "${name}"`)
    let checked: WaitPlace | undefined
    for (;;) {
      if (host.failure !== undefined) throw await host.lostError()
      if (host.root.machine.hasReceived(id)) throw await this.#known(id)
      if (host.root.machine.isOver()) throw runOver({ runId: host.runId, status: host.root.machine.status })
      const wait = this.#oldest(name)
      if (wait === undefined && !isAccepted) this.#checkRoom(name, value)
      const isReady =
        wait === undefined || (host.frame(wait.frame) !== undefined && (isAccepted || wait === checked))
      if (isReady) {
        const entry = { type: "signal.received", at: host.now(), id, name, value } as const
        host.together(() => {
          host.root.apply(mail === undefined ? entry : { ...entry, mail })
          if (wait !== undefined) this.#take(wait, { id, name, value })
        })
        break
      }
      await this.#prepare(wait, name, isAccepted ? undefined : value)
      checked = wait
    }
    host.checkResult()
    await host.durable()
  }

  /** A sender relies on this answer: the signal is durable first. */
  async #known(id: SignalId): Promise<SuperstepError> {
    const { runId } = this.#host
    await this.#host.durable()
    return new SuperstepError("SIGNAL_KNOWN", `Run "${runId}" has received signal "${id}" before.`, {
      run: runId,
    })
  }

  #checkRoom(name: string, value: Json): void {
    const { root, valueBytes, runId } = this.#host
    let count = 0
    let bytes = sizeOf(value)
    for (const signal of root.machine.signals()) {
      count++
      bytes += this.#sizeOf(signal)
    }
    if (count < MAX_BUFFERED && bytes <= valueBytes) return
    const text = `Run "${runId}" buffers ${count} signals that nothing has waited for, and cannot take another "${name}": the limits are ${MAX_BUFFERED} signals and ${valueBytes} bytes. Send it again later.`
    throw new SuperstepError("SIGNALS_FULL", text, { run: runId })
  }

  #sizeOf(signal: BufferedSignal): number {
    let size = this.#sizes.get(signal)
    if (size === undefined) {
      size = sizeOf(signal.value)
      this.#sizes.set(signal, size)
    }
    return size
  }

  /** Waits until the workflow of the wait executes here, and checks the value against the schema of the wait. */
  async #prepare(wait: WaitPlace, name: string, value: Json | undefined): Promise<void> {
    const host = this.#host
    // A signal in progress counts as work: callers that await the run now get its outcome.
    host.changeBusy(1)
    try {
      await host.restored?.called(wait.frame, () => host.failure !== undefined || host.isOver)
      if (value === undefined) return
      const schema = await this.#schemaOf(wait)
      const checked = schema === undefined ? undefined : await validate(schema, value)
      if (checked?.ok === false && this.#isOpen(wait))
        throw signalInvalid(name, `${checked.reason}. Nothing was recorded; send it again.`)
    } finally {
      host.changeBusy(-1)
      host.checkResult()
    }
  }

  /** After a restart the handler may not wait again yet: then this waits until it does, or until the run stops here. */
  async #schemaOf(wait: WaitPlace): Promise<Schema | undefined> {
    for (;;) {
      const frame = this.#host.frame(wait.frame)
      const task = frame?.machine.task(wait.task)
      if (this.#host.failure !== undefined || frame === undefined) return undefined
      if (task === undefined || !this.#isOpen(wait)) return undefined
      const held = attemptOf(task)?.held(wait.key)
      if (held !== undefined) return held.schema
      await frame.nextChange()
    }
  }

  #add(name: string, wait: WaitPlace): void {
    let waits = this.#waits.get(name)
    if (waits === undefined) {
      waits = new Fifo()
      this.#waits.set(name, waits)
    }
    waits.push(wait)
    this.#order = Math.max(this.#order, wait.order)
  }

  #oldest(name: string): WaitPlace | undefined {
    const waits = this.#waits.get(name)
    for (let wait = waits?.peek(); wait !== undefined; wait = waits?.peek()) {
      if (this.#isOpen(wait)) return wait
      waits?.shift()
    }
    this.#waits.delete(name)
    return undefined
  }

  #isOpen({ frame: key, task, key: under, order }: WaitPlace): boolean {
    const { restored } = this.#host
    const frame = this.#host.frame(key)
    const machine = frame?.machine ?? restored?.get(key)?.machine
    if (machine === undefined || machine.isOver() || frame?.isAbandoned()) return false
    const wait = machine.isWaitingFor(task, under)
    return wait?.kind === "signal" && wait.order === order
  }

  #firstBuffered(name: string): BufferedSignal | undefined {
    for (const signal of this.#host.root.machine.signals()) if (signal.name === name) return signal
    return undefined
  }

  #take(wait: WaitPlace, { id, name, value }: Pick<BufferedSignal, "id" | "name" | "value">): void {
    const { root } = this.#host
    const { task, key } = wait
    const taken = { type: "signal.taken", at: this.#host.now(), id, name } as const
    if (wait.frame === root.key) return root.apply({ ...taken, task, key })
    root.apply(taken)
    this.#host.frame(wait.frame)?.apply({ ...taken, task, key, value })
  }

  // Replies

  /** A task replies to a signal. Recorded as a step of the task too. */
  reply(frame: SignalFrame, task: TaskId, key: string, id: SignalId, value: Json): void {
    const host = this.#host
    const at = host.now()
    host.together(() => {
      frame.apply({ type: "step.recorded", at, task, key, value: null })
      if (host.root.machine.isOver() || host.root.machine.replyTo(id) !== undefined) return
      host.root.apply({ type: "signal.replied", at, id, value })
    })
    this.#replied.notify()
  }

  /** The reply to a signal, once it is durable. Rejects if there is none by the deadline, or when the run has ended. */
  async replyTo(id: SignalId, deadline: number | undefined): Promise<Json> {
    const host = this.#host
    const cancel =
      deadline === undefined ? undefined : host.clock.setTimer(deadline, () => this.#replied.notify())
    try {
      for (;;) {
        if (host.failure !== undefined) throw await host.lostError()
        const { machine } = host.root
        const reply = machine.replyTo(id)
        if (reply !== undefined) {
          await host.durable()
          return reply
        }
        if (machine.isOver()) throw noReply(host.runId, machine.status)
        if (deadline !== undefined && host.now() >= deadline) throw replyTimeout(host.runId, id)
        await this.#replied.wait()
      }
    } finally {
      cancel?.()
    }
  }

  /** The run has ended, or stopped here. */
  noteEnd(): void {
    this.#replied.notify()
  }
}

function* waitsIn(
  frame: string,
  machine: Machine,
): Generator<{ readonly name: string; readonly wait: WaitPlace }, void, undefined> {
  for (const { id: task, waits } of machine.tasks()) {
    for (const [key, wait] of waits ?? []) {
      if (wait.kind === "signal") yield { name: wait.name, wait: { frame, task, key, order: wait.order } }
    }
  }
}

function sizeOf(value: Json): number {
  return JSON.stringify(value).length
}

export function noReply(runId: string, status: string): SuperstepError {
  const text = `Run "${runId}" has ended without a reply to the update: ${status}.`
  return new SuperstepError("RUN_OVER", text, { run: runId })
}

export function replyTimeout(runId: string, id: SignalId): SuperstepError {
  const text = `Run "${runId}" did not reply to update "${id}" in time. The run has it: send it again with the same id to wait for the reply.`
  return new SuperstepError("UPDATE_TIMEOUT", text, { run: runId })
}
