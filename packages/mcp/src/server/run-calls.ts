/**
 * Tool calls as runs: starts, follows, answers and cancels them.
 *
 * R1 A client that cancels its call, or disconnects, cancels the run. A server that stops does not.
 * R2 A run that waits for a person becomes a form for the client's user, if the client shows forms. Otherwise it ends the
 *    call, not the run: it waits until it is answered or cancelled.
 * R3 Clients reach only runs that `RunAccess` finds for them, whatever the store holds.
 */
import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server"
import {
  isSuperstepError,
  type Labels,
  type OpenRequest,
  type Run,
  type RunEvent,
  type RunResult,
  type Runtime,
  type StartOptions,
  type StoredRequest,
  type StoredRun,
  SuperstepError,
  type Workflow,
} from "@superstep/engine"
import { answerOf, formOf } from "./forms.ts"
import { runResult } from "./run-result.ts"

/** What a client may do. */
export interface RunAccess {
  readonly runtime: Runtime
  /** How a run of the client starts. Throws if it may not start one. */
  startOptions(): StartOptions | Promise<StartOptions>
  /** A run that the client may see. Throws RUN_UNKNOWN. */
  find(runId: string): Promise<StoredRun>
  /** Who answers questions. */
  readonly by: string
  /** Aborts when the server stops. Runs continue: in another process, or when this one is back. */
  readonly closing?: AbortSignal | undefined
  /** Takes an error that is not one of ours, and that clients must not see. Absent: they see it. */
  readonly report?: ((error: unknown) => void) | undefined
}

/** The context of a call. */
export interface ToolCall {
  readonly signal: AbortSignal
  /** Absent: the client does not want progress. */
  readonly progress?: ((message: string) => Promise<void>) | undefined
  /** Whether the client shows forms to its user. */
  readonly showsForms: boolean
  /** The run that the call left waiting for forms, and what the user did with them. */
  readonly continued?:
    | { readonly state: RoundState; readonly replies: Readonly<Record<string, unknown>> | undefined }
    | undefined
}

export type ToolResult = CallToolResult | InputRequiredResult

export type RunPolicies = Pick<StartOptions, "limits" | "timeout" | "budget">

/** Another client, or the deadline, was faster. */
const CLOSED = ["REQUEST_ANSWERED", "REQUEST_EXPIRED", "REQUEST_NOT_OPEN"]

export class RunCalls {
  readonly #access: RunAccess
  readonly #runtime: Runtime

  constructor(access: RunAccess) {
    this.#access = access
    this.#runtime = access.runtime
  }

  start(workflow: Workflow, input: unknown, call: ToolCall, labels?: Labels): Promise<ToolResult> {
    return this.#orRefused(async () => {
      const { continued } = call
      if (continued !== undefined) return await this.#continue(workflow, continued, call)
      const own = await this.#access.startOptions()
      const options = labels === undefined ? own : { ...own, labels: { ...labels, ...own.labels } }
      if (call.progress === undefined) {
        return this.#resultOf(
          await this.#follow(this.#runtime.start(workflow, input as never, options), call),
          call,
        )
      }
      const run = this.#runtime.stream(workflow, input as never, options)
      return this.#resultOf(await this.#follow(run, call, run[Symbol.asyncIterator]()), call)
    })
  }

  /** The next round of a call whose run asked the client's user. */
  async #continue(
    workflow: Workflow,
    { state: { run: id, keys }, replies }: NonNullable<ToolCall["continued"]>,
    call: ToolCall,
  ): Promise<ToolResult> {
    const { runId, workflow: name } = await this.#access.find(id)
    if (name !== workflow.name) throw runUnknown(id)
    const { run, events } = await this.#watched(runId, call)
    const problems = new Map<string, string>()
    let isDeclined = false
    for (const request of await this.#runtime.requests({ runId })) {
      const reply = inputResponse(replies, keys.get(request.id) ?? "")
      if (reply.kind !== "elicit") continue
      if (reply.action !== "accept") isDeclined = true
      else await this.#fill(request, answerOf(request, reply.content), problems)
    }
    const result = await this.#follow(run, call, events)
    return this.#resultOf(result, { ...call, showsForms: call.showsForms && !isDeclined }, problems)
  }

  async #fill(request: StoredRequest, answer: unknown, problems: Map<string, string>): Promise<void> {
    try {
      await this.#respond(request.runId, request.id, answer)
    } catch (error) {
      if (!isSuperstepError(error)) throw error
      if (error.code === "REQUEST_INVALID") problems.set(request.id, error.message)
      else if (!CLOSED.includes(error.code)) throw error
    }
  }

  answer(args: Readonly<Record<string, unknown>>, call: ToolCall): Promise<ToolResult> {
    return this.#orRefused(async () => {
      if (call.continued !== undefined) throw runUnknown(call.continued.state.run)
      const { runId } = await this.#access.find(String(args.run))
      const request = args.request === undefined ? await this.#onlyRequest(runId) : String(args.request)
      const { run, events } = await this.#watched(runId, call)
      await this.#respond(runId, request, args.answer)
      return this.#resultOf(await this.#follow(run, call, events), { ...call, showsForms: false })
    })
  }

  cancel(args: Readonly<Record<string, unknown>>): Promise<ToolResult> {
    return this.#orRefused(async () => {
      const { runId } = await this.#access.find(String(args.run))
      await this.#runtime.cancel(runId, String(args.reason ?? "Cancelled by a client."))
      return { content: [{ type: "text", text: `The run "${runId}" is cancelled.` }] }
    })
  }

  /** A call without a run, such as one with invalid input, is an error result. */
  async #orRefused(call: () => Promise<ToolResult>): Promise<ToolResult> {
    try {
      return await call()
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      return { content: [{ type: "text", text: this.#shown(error) }], isError: true }
    }
  }

  #shown(error: unknown): string {
    if (isSuperstepError(error)) return `${error.message} (${error.code})`
    const { report } = this.#access
    if (report === undefined) return error instanceof Error ? error.message : String(error)
    report(error)
    return "The server failed to handle the call. Its log has the cause."
  }

  async #watched(runId: string, { progress }: ToolCall) {
    const run = this.#runtime.get(runId)
    if (progress === undefined) return { run, events: undefined }
    const records = await this.#runtime.store.read(runId, 0)
    return { run, events: run.events({ after: records.at(-1)?.events ?? 0 })[Symbol.asyncIterator]() }
  }

  async #onlyRequest(runId: string): Promise<string> {
    const open = await this.#runtime.requests({ runId })
    const [only, another] = open
    if (only !== undefined && another === undefined) return only.id
    const ids = open.map(({ id }) => `"${id}"`).join(", ")
    const text = only === undefined ? "has no open question" : `has several open questions; name one: ${ids}`
    throw new SuperstepError("REQUEST_UNKNOWN", `The run "${runId}" ${text}.`)
  }

  /** Some clients send every argument as text: if the text is invalid, the JSON in it is the answer. */
  async #respond(runId: string, request: string, answer: unknown): Promise<void> {
    const { by } = this.#access
    try {
      await this.#runtime.respond(runId, request, answer, { by })
    } catch (error) {
      const parsed = isSuperstepError(error, "REQUEST_INVALID") ? parsedText(answer) : undefined
      if (parsed === undefined) throw error
      await this.#runtime.respond(runId, request, parsed.value, { by })
    }
  }

  async #follow(run: Run, call: ToolCall, events?: AsyncIterator<RunEvent>): Promise<RunResult> {
    const { signal, progress } = call
    const { closing } = this.#access
    let stop: (reason: unknown) => void = () => undefined
    const stopped = new Promise<never>((_, reject) => {
      stop = reject
    })
    stopped.catch(() => undefined)
    const onAbort = () => {
      if (closing?.aborted)
        stop(new SuperstepError("RUNTIME_CLOSED", `The server stops. ${continues(run.id)}`))
      else void run.cancel("The client cancelled the call.")
    }
    if (signal.aborted || closing?.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    closing?.addEventListener("abort", onAbort, { once: true })
    const report =
      events === undefined || progress === undefined ? undefined : new ProgressReport(events, progress)
    try {
      const result = await Promise.race([run.result, stopped])
      await report?.complete(result.status)
      return result
    } finally {
      report?.stop()
      signal.removeEventListener("abort", onAbort)
      closing?.removeEventListener("abort", onAbort)
    }
  }

  /** `problems`: why answers were refused, by request. */
  #resultOf(
    result: RunResult,
    { showsForms }: ToolCall,
    problems: ReadonlyMap<string, string> = new Map(),
  ): ToolResult {
    const { runId, status, requests } = result
    if (status !== "waiting" || requests.length === 0 || !showsForms) return runResult(result)
    const keys = keysOf(requests)
    const forms = requests.map((request) => [
      keys.get(request.id),
      inputRequired.elicit(formOf(request, problems.get(request.id)) as never),
    ])
    return inputRequired({ inputRequests: Object.fromEntries(forms), requestState: stateOf(runId, keys) })
  }
}

/** What a call left behind: its run, and the keys of its forms by request. */
export interface RoundState {
  readonly run: string
  readonly keys: ReadonlyMap<string, string>
}

/** The node that asks names its form, if it asks once. */
function keysOf(requests: readonly OpenRequest[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>()
  for (const { node } of requests) counts.set(node, (counts.get(node) ?? 0) + 1)
  return new Map(requests.map(({ id, node }) => [id, counts.get(node) === 1 ? node : id]))
}

/** What the client sends back with the forms. Another round has another one. */
function stateOf(runId: string, keys: ReadonlyMap<string, string>): string {
  return JSON.stringify([runId, ...keys])
}

/** A state that a client sent. Whether the client may reach its run is checked like any other. */
export function readState(text: string): RoundState {
  const [run, ...keys] = parsedList(text)
  const isPair = (one: unknown) =>
    Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === "string")
  if (typeof run === "string" && keys.every(isPair)) return { run, keys: new Map(keys as [string, string][]) }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "requestState is not one of this server.")
}

function parsedList(text: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : []
  } catch {
    return []
  }
}

function continues(runId: string): string {
  return `The run "${runId}" continues; answer_run and cancel_run reach it.`
}

export function runUnknown(run: unknown): SuperstepError {
  return new SuperstepError("RUN_UNKNOWN", `There is no run ${JSON.stringify(run) ?? "without an id"}.`)
}

function parsedText(answer: unknown): { readonly value: unknown } | undefined {
  if (typeof answer !== "string") return undefined
  try {
    return { value: JSON.parse(answer) }
  } catch {
    return undefined
  }
}

/** Sends the progress of a run to the client while it waits for the result. */
class ProgressReport {
  readonly #events: AsyncIterator<RunEvent>
  readonly #ended: Promise<void>
  #isWaiting = false
  #onWaiting: (() => void) | undefined

  constructor(events: AsyncIterator<RunEvent>, send: (message: string) => Promise<void>) {
    this.#events = events
    // The call itself reports a failure of the run; a client that disconnected reads no progress.
    this.#ended = this.#report(send).catch(() => undefined)
  }

  async #report(send: (message: string) => Promise<void>): Promise<void> {
    for (let next = await this.#events.next(); next.done !== true; next = await this.#events.next()) {
      const message = messageOf(next.value)
      if (message !== undefined) await send(message)
      this.#isWaiting = next.value.type === "run.waiting" && next.value.path.length === 0
      if (this.#isWaiting) this.#onWaiting?.()
    }
  }

  /** Resolves when the progress up to this status is sent. */
  async complete(status: RunResult["status"]): Promise<void> {
    if (status === "paused") return
    if (status !== "waiting") return await this.#ended
    if (this.#isWaiting) return
    const waiting = new Promise<void>((resolve) => {
      this.#onWaiting = resolve
    })
    await Promise.race([waiting, this.#ended])
  }

  stop(): void {
    // A pending `next` ends with its event.
    this.#events.return?.().catch(() => undefined)
  }
}

function messageOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case "task.started":
      return `${event.node} started${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`
    case "task.finished":
      return `${event.node} finished`
    case "task.failed":
      return `${event.node} failed: ${event.error.message}`
    case "request.opened":
      return `${event.request.node} asks: ${event.request.prompt}`
    case "log":
      return event.level === "debug" ? undefined : `${event.node}: ${event.message}`
    default:
      return undefined
  }
}
