/** The open questions of a run and of everything below it, under ids that are unique in the run. */
import { type Json, type OpenRequest, type RequestId, SuperstepError, type Task } from "../../core/index.ts"
import { outerId } from "../ports/events.ts"
import type { EscalateCommand } from "../ports/stored.ts"
import { ownValue, type Schema, type ValueLimit, validate } from "../ports/values.ts"
import type { KeptAnswer } from "./context.ts"
import type { Frame } from "./frame.ts"
import type { RestoredCalls } from "./restored-calls.ts"
import { requestsOf } from "./result.ts"
import { attemptOf } from "./task-run.ts"

/** The run, as answers use it. */
interface RequestHost extends ValueLimit {
  readonly failure: unknown
  readonly isOver: boolean
  readonly restored: Pick<RestoredCalls, "called"> | undefined
  readonly root: Frame
  frame(key: string): Frame | undefined
  frames(): Iterable<[string, Frame]>
  lostError(): Promise<unknown>
  together(act: () => void): void
  changeBusy(by: 1 | -1): void
  checkResult(): void
  durable(): Promise<void>
}

export class RunRequests {
  readonly #host: RequestHost
  /** Answered requests of sub-workflows that have ended. */
  #answered: Set<RequestId> | undefined

  constructor(host: RequestHost) {
    this.#host = host
  }

  list(): OpenRequest[] {
    return requestsOf(this.#host.frames())
  }

  /** Remembers the answered requests of a frame that has ended. */
  remember(frame: Frame): void {
    for (const id of frame.machine.answered()) {
      this.#answered ??= new Set()
      this.#answered.add(outerId(frame.key, id))
    }
  }

  /** The same, from before a restart. */
  rememberAnswered(ids: readonly RequestId[]): void {
    if (ids.length > 0) this.#answered = new Set([...(this.#answered ?? []), ...ids])
  }

  answeredBelow(): RequestId[] {
    return [...(this.#answered ?? [])]
  }

  /** Accepts a valid answer, which `mail` may have delivered. Resolves when it is durable. */
  async respond(id: RequestId, value: unknown, by: string | undefined, mail?: string): Promise<void> {
    const host = this.#host
    if (host.failure !== undefined) throw host.failure
    const owned = ownValue(value, host, () => `The answer to request "${id}"`)
    await this.#withFrame(id, (uncount) => this.#answer(id, owned, by, mail, uncount))
    await host.durable()
  }

  /**
   * Acts once the workflow that asked is there. Until then, or until `uncount`, this counts as work: callers that await the run
   * now get its outcome.
   */
  async #withFrame(id: RequestId, act: (uncount: () => void) => Promise<void>): Promise<void> {
    const host = this.#host
    if (host.failure !== undefined) throw host.failure
    let isCounted = true
    const uncount = () => {
      if (isCounted) host.changeBusy(-1)
      isCounted = false
    }
    host.changeBusy(1)
    try {
      // After a restart, the sub-workflow that asked may not have been called again yet.
      const frame = id.slice(0, Math.max(id.lastIndexOf("/"), 0))
      await host.restored?.called(frame, () => host.failure !== undefined || host.isOver)
      if (host.failure !== undefined) throw await host.lostError()
      await act(uncount)
    } finally {
      uncount()
      host.checkResult()
    }
  }

  /** Passes an open question on to another person, perhaps on request of `mail`. Resolves when that is durable. */
  async escalate({ request: id, to, note, by }: EscalateCommand, mail?: string): Promise<void> {
    const host = this.#host
    await this.#withFrame(id, async () => {
      const { frame, request } = this.#find(id)
      frame.apply({
        type: "request.escalated",
        at: frame.host.now(),
        request: request.id,
        to,
        ...(note === undefined ? {} : { note }),
        ...(by === undefined ? {} : { by }),
        ...(mail === undefined ? {} : { mail }),
      })
    })
    await host.durable()
  }

  /** Validates an answer, then takes it: at most once (M7). */
  async #answer(
    id: RequestId,
    value: Json,
    by: string | undefined,
    mail: string | undefined,
    uncount: () => void,
  ): Promise<void> {
    const { frame, request } = this.#find(id)
    const { schema, keeps } = await heldFor(this.#host, frame, request)
    const checked = schema === undefined ? undefined : await validate(schema, value)
    if (checked?.ok === false) {
      const text = `The answer to request "${id}" is not valid: ${checked.reason}. Nothing was recorded; answer again.`
      throw new SuperstepError("REQUEST_INVALID", text)
    }
    // The run may have stopped here meanwhile, or the request been answered.
    if (this.#host.failure !== undefined) throw await this.#host.lostError()
    this.#find(id)
    const at = this.#host.root.host.now()
    // The handler may ask again at once: the row then says that the run waits, and executes nothing.
    uncount()
    this.#host.together(() => {
      frame.apply({
        type: "request.answered",
        at,
        request: request.id,
        value,
        by,
        ...(mail === undefined ? {} : { mail }),
      })
      if (keeps !== undefined) this.keep(keeps, value, by)
    })
  }

  /** If the answer holds for more questions than its own, the run keeps it, and the open ones get it too. */
  keep(keeps: KeptAnswer, answer: Json, by?: string): void {
    const { root } = this.#host
    const value = keeps.of(answer)
    if (value === undefined || root.machine.keptAnswer(keeps.name) !== undefined) return
    const at = root.host.now()
    this.#host.together(() => {
      root.apply({ type: "answer.kept", at, name: keeps.name, value })
      for (const [, frame] of [...this.#host.frames()]) {
        for (const request of [...frame.machine.requests()]) {
          if (keeps.covers(request) && mayKeep(frame, request, keeps))
            frame.apply({ type: "request.answered", at, request: request.id, value, by })
        }
      }
    })
  }

  #find(id: RequestId): { frame: Frame; request: OpenRequest } {
    const slash = id.lastIndexOf("/")
    const frame = this.#host.frame(slash < 0 ? "" : id.slice(0, slash))
    const inner = id.slice(slash + 1)
    const request = frame?.machine.request(inner)
    if (frame !== undefined && request !== undefined) return { frame, request }
    const root = this.#host.frame("")?.machine
    const over = root?.isOver() ? ` Run "${this.#host.runId}" is finished: ${root.status}.` : ""
    if (frame?.machine.wasAnswered(inner) || this.#answered?.has(id)) {
      const text = `Request "${id}" was answered before; an answer cannot be changed.${over}`
      throw new SuperstepError("REQUEST_ANSWERED", text, { run: this.#host.runId })
    }
    if (over !== "") {
      const text = `Request "${id}" is no longer open.${over} A finished run accepts no answers.`
      throw new SuperstepError("REQUEST_UNKNOWN", text, { run: this.#host.runId })
    }
    const open = this.list().map((one) => `"${one.id}"`)
    const text = `Run ${this.#host.runId} has no open request "${id}". Open: ${open.join(", ") || "none"}.`
    throw new SuperstepError("REQUEST_UNKNOWN", text)
  }
}

interface HeldQuestion {
  readonly schema: Schema | undefined
  readonly keeps?: KeptAnswer | undefined
}

/**
 * The schema for an answer to a request: the waiting handler's, or the node's; and the questions that it also holds for. After a
 * restart the handler may not have asked again yet: then this waits until it does, or until the run stops here.
 */
async function heldFor(host: RequestHost, frame: Frame, request: OpenRequest): Promise<HeldQuestion> {
  const { machine, program } = frame
  for (;;) {
    const task = machine.task(request.task)
    const key = task && inlineKey(task, request)
    if (task === undefined || key === undefined) {
      return { schema: program.nodes[program.graph.index.get(request.node) as number]?.onAnswer?.schema }
    }
    const held = attemptOf(task)?.held(key)
    if (held !== undefined) return held
    if (host.failure !== undefined || machine.request(request.id) === undefined || machine.isOver())
      return { schema: undefined }
    await frame.nextChange()
  }
}

/** Whether the handler that waits asks for such an answer, as far as it has asked again: the data of a question may be anything. */
function mayKeep({ machine }: Frame, request: OpenRequest, { name }: KeptAnswer): boolean {
  const task = machine.task(request.task)
  const key = task && inlineKey(task, request)
  if (task === undefined || key === undefined) return false
  const held = attemptOf(task)?.held(key)
  return held === undefined || held.keeps?.name === name
}

/** The key under which the task waits for the answer; undefined if it asked without waiting. */
function inlineKey({ waits }: Task, request: OpenRequest): string | undefined {
  for (const [key, wait] of waits ?? [])
    if (wait.kind === "request" && wait.request === request.id) return key
  return undefined
}
