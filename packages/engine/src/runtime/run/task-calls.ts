/**
 * The sub-workflows that an attempt calls. Each is journaled before it starts. After a restart the handler must repeat the
 * calls that its task waits for; a changed handler that does not would orphan those sub-workflows.
 */
import type {
  Entry,
  ErrorData,
  Json,
  LeftNotice,
  Machine,
  NodeId,
  OpenRequest,
  RunId,
  RunStarted,
  Task,
  TaskId,
} from "../../core/index.ts"
import { NO_ITEMS, pushSized, SmallMap } from "../../core/internal.ts"
import { callPart, joinKey } from "../journal/journal-fold.ts"
import { Signal } from "../ports/maybe-promise.ts"
import type { Callable, Program } from "../ports/program.ts"
import { CALLED_FROM, type TracedCallOptions } from "./context.ts"
import { runStarted } from "./start.ts"

/** One call of a sub-workflow. */
export interface Call {
  readonly task: TaskId
  readonly node: NodeId
  readonly attempt: number
  readonly key: string
  /** The key of the frame that is called. As long as the call is deep, so it is made once. */
  readonly callee: string
  /** The last part of that key. */
  readonly part: string
  /** Which of the attempt's calls it is, from 1. */
  readonly number: number
  readonly onRequest?: ((request: OpenRequest) => unknown) | undefined
}

/** The frame, as calls use it. */
export interface CallFrame {
  readonly host: {
    readonly runId: RunId
    /** A handler must repeat the calls that its task waits for. */
    readonly requiresCalls: boolean
    now(): number
    armTimer(at: number, callback: () => void): () => void
    changeBusy(by: 1 | -1): void
    afterDurable(callback: () => void): void
    together(act: () => void): void
  }
  readonly machine: Machine
  readonly key: string
  apply(entry: Entry): void
  /** Checks the program against the sub-workflow that is in progress, if there is one. */
  prepareCall(callee: string, program: Program): void
  /** Starts the sub-workflow, or restores it as its journal left it. */
  call(call: Call, program: Program, entry: RunStarted): void
  abandonCall(part: string, left?: ErrorData): void
  leftByCall(part: string, error: unknown): readonly LeftNotice[]
  /** The handler does not make a call again that its task waits for: the run is released unchanged. */
  refuseRemovedCall(task: Task, call: string, instead?: string): void
}

/** The attempt, as its calls and operations use it. */
export interface Attempt {
  isOver(): boolean
  /** The handler returned or threw. */
  readonly hasReturned: boolean
  /** The handler begins to wait for something external; it stops waiting. */
  onWait(): void
  onResume(): void
  /** The handler continues after a pause, once it has its slot. */
  again(): Promise<void>
  trace(): string | undefined
}

/** Milliseconds in which a handler must have made the recorded calls again. */
const CALL_PATIENCE = 5_000

export class TaskCalls {
  readonly #frame: CallFrame
  readonly #task: Task
  readonly #number: number
  readonly #attempt: Attempt
  /** The last parts of the keys of the frames that were started. */
  #frames: readonly string[] = NO_ITEMS
  /** The calls that the handler has made, recorded or not: by key, which one it was. */
  readonly #made = new SmallMap<string, number>()
  /** The handler has made all recorded calls, or is stopped. */
  #allMade: Signal | undefined

  constructor(frame: CallFrame, task: Task, number: number, attempt: Attempt) {
    this.#frame = frame
    this.#task = task
    this.#number = number
    this.#attempt = attempt
  }

  /** The handler makes this call. Returns its number: a call that was made before a restart keeps the one it had. */
  note(key: string): number {
    const next = this.#made.size + 1
    this.#made.set(key, next)
    if (this.#allMade?.isAwaited && this.missing() === undefined) this.noteAllMade()
    const wait = this.#frame.machine.isWaitingFor(this.#task.id, key)
    return (wait?.kind === "call" ? wait.number : undefined) ?? next
  }

  noteAllMade(): void {
    this.#allMade?.notify()
  }

  /** The key of a recorded call that the handler has not made again. Undefined if the run may continue without it. */
  missing(): string | undefined {
    if (!this.#frame.host.requiresCalls) return undefined
    for (const [key, { kind }] of this.#task.waits ?? []) {
      if (kind === "call" && !this.#made.has(key)) return key
    }
    return undefined
  }

  /** Before a new call: waits until the recorded ones are made. Parts of a handler may run at different speeds. */
  async recordedMade(instead: string): Promise<void> {
    const { host } = this.#frame
    const disarm = host.armTimer(host.now() + CALL_PATIENCE, () => {
      const key = this.missing()
      if (key === undefined || this.#attempt.isOver()) return
      this.#frame.refuseRemovedCall(this.#task, key, instead)
    })
    this.#allMade ??= new Signal()
    await this.#allMade.wait()
    disarm()
  }

  start(
    { name, program }: Callable,
    input: Json,
    key: string,
    number: number,
    options: TracedCallOptions | undefined,
  ): void {
    const { host, machine } = this.#frame
    const { id: task, node } = this.#task
    const onRequest = options?.onRequest
    const part = callPart(task, this.#number, key)
    const callee = joinKey(this.#frame.key, part)
    const call: Call = { task, node: node.id, attempt: this.#number, key, callee, part, number, onRequest }
    this.#frame.prepareCall(callee, program)
    this.#frames = pushSized(this.#frames, part)
    // The sub-workflow is about to start: until then the run counts as busy.
    host.changeBusy(1)
    if (machine.isWaitingFor(task, key) === undefined) {
      this.#frame.apply({ type: "call.started", at: host.now(), task, key, workflow: name, number })
    }
    const entry = runStarted(program, host.runId, input, host.now(), {
      timeout: program.timeout,
      budget: program.budget,
      trace: options?.[CALLED_FROM]?.() ?? this.#attempt.trace(),
    })
    host.afterDurable(() =>
      host.together(() => {
        if (!this.#attempt.isOver()) this.#frame.call(call, program, entry)
        host.changeBusy(-1)
      }),
    )
  }

  left(error: unknown): readonly LeftNotice[] {
    return this.#frames.flatMap((part) => this.#frame.leftByCall(part, error))
  }

  /** Sub-workflows end with the attempt that called them. */
  abandon(left?: ErrorData): void {
    for (const part of this.#frames) this.#frame.abandonCall(part, left)
  }
}
