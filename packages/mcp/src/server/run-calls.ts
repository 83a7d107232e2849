/**
 * Tool calls as runs: starts, follows, answers and cancels them.
 *
 * R1 A client that cancels its call, or disconnects, cancels the run.
 * R2 A run that waits for a person ends the call, not the run: it waits until it is answered or cancelled.
 * R3 Clients cannot reach runs of workflows that are not served here, whatever the store holds.
 */
import type { CallToolResult, ServerNotification } from "@modelcontextprotocol/sdk/types.js"
import {
  isSuperstepError,
  type Json,
  type OpenRequest,
  type OpenWait,
  type Run,
  type RunEvent,
  type RunResult,
  type Runtime,
  type StartOptions,
  SuperstepError,
  type Workflow,
} from "@superstep/engine"

/** The context of a call. */
export interface CallExtra extends ProgressListener {
  readonly signal: AbortSignal
}

export type RunPolicies = Pick<StartOptions, "limits" | "timeout" | "budget">

export class RunCalls {
  readonly #runtime: Runtime
  readonly #served: ReadonlySet<string>
  readonly #policies: RunPolicies

  constructor(runtime: Runtime, workflows: readonly Workflow[], policies: RunPolicies) {
    this.#runtime = runtime
    this.#served = new Set(workflows.map(({ name }) => name))
    this.#policies = policies
  }

  start(workflow: Workflow, input: unknown, extra: CallExtra): Promise<CallToolResult> {
    return resultOf(() => {
      if (!wantsProgress(extra))
        return follow(this.#runtime.start(workflow, input as never, this.#policies), extra)
      const run = this.#runtime.stream(workflow, input as never, this.#policies)
      return follow(run, extra, run[Symbol.asyncIterator]())
    })
  }

  answer(args: Readonly<Record<string, unknown>>, extra: CallExtra): Promise<CallToolResult> {
    return resultOf(async () => {
      const runId = await this.#known(args.run)
      const request = args.request === undefined ? await this.#onlyRequest(runId) : String(args.request)
      const run = this.#runtime.get(runId)
      const after = wantsProgress(extra) ? await this.#lastEvent(runId) : undefined
      await this.#respond(runId, request, args.answer)
      return await follow(run, extra, after === undefined ? undefined : run.events({ after }))
    })
  }

  async cancel(args: Readonly<Record<string, unknown>>): Promise<CallToolResult> {
    try {
      const runId = await this.#known(args.run)
      await this.#runtime.cancel(runId, String(args.reason ?? "Cancelled by a client."))
      return { content: [{ type: "text", text: `The run "${runId}" is cancelled.` }] }
    } catch (error) {
      return callRefused(error)
    }
  }

  async #lastEvent(runId: string): Promise<number> {
    const records = await this.#runtime.store.read(runId, 0)
    return records.at(-1)?.events ?? 0
  }

  async #known(run: unknown): Promise<string> {
    const row = typeof run === "string" ? await this.#runtime.store.run(run) : undefined
    if (row !== undefined && this.#served.has(row.workflow)) return row.runId
    throw new SuperstepError("RUN_UNKNOWN", `There is no run ${JSON.stringify(run) ?? "without an id"}.`)
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
    const by = { by: "mcp" }
    try {
      await this.#runtime.respond(runId, request, answer, by)
    } catch (error) {
      const parsed = isSuperstepError(error, "REQUEST_INVALID") ? parsedText(answer) : undefined
      if (parsed === undefined) throw error
      await this.#runtime.respond(runId, request, parsed.value, by)
    }
  }
}

function parsedText(answer: unknown): { readonly value: unknown } | undefined {
  if (typeof answer !== "string") return undefined
  try {
    return { value: JSON.parse(answer) }
  } catch {
    return undefined
  }
}

async function resultOf(call: () => Promise<RunResult>): Promise<CallToolResult> {
  try {
    return runResult(await call())
  } catch (error) {
    return callRefused(error)
  }
}

async function follow(run: Run, extra: CallExtra, events?: AsyncIterator<RunEvent>): Promise<RunResult> {
  const onAbort = () => run.cancel("The client cancelled the call.")
  if (extra.signal.aborted) onAbort()
  extra.signal.addEventListener("abort", onAbort, { once: true })
  const report = events === undefined ? undefined : new ProgressReport(events, extra)
  try {
    const result = await run.result
    await report?.complete(result.status)
    return result
  } finally {
    report?.stop()
    extra.signal.removeEventListener("abort", onAbort)
  }
}

interface ProgressListener {
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined
  readonly sendNotification: (notification: ServerNotification) => Promise<void>
}

function wantsProgress({ _meta }: ProgressListener): boolean {
  return _meta?.progressToken !== undefined
}

/** Sends the progress of a run to the client while it waits for the result. */
class ProgressReport {
  readonly #events: AsyncIterator<RunEvent>
  readonly #ended: Promise<void>
  #isWaiting = false
  #onWaiting: (() => void) | undefined

  constructor(events: AsyncIterator<RunEvent>, listener: ProgressListener) {
    this.#events = events
    // The call itself reports a failure of the run; a client that disconnected reads no progress.
    this.#ended = this.#report(listener).catch(() => undefined)
  }

  async #report({ _meta, sendNotification }: ProgressListener): Promise<void> {
    const progressToken = _meta?.progressToken ?? 0
    let progress = 0
    for (let next = await this.#events.next(); next.done !== true; next = await this.#events.next()) {
      const message = messageOf(next.value)
      if (message !== undefined) {
        progress += 1
        const params = { progressToken, progress, message }
        await sendNotification({ method: "notifications/progress", params })
      }
      this.#isWaiting = next.value.type === "run.waiting" && next.value.path.length === 0
      if (this.#isWaiting) this.#onWaiting?.()
    }
  }

  /** Resolves when the progress up to this status is sent. */
  async complete(status: RunResult["status"]): Promise<void> {
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

// The outcome of a run as the result of a tool: text for the model, data for programs.

/** The schema of `structuredContent`, for every tool that executes a run. */
export const RESULT_SCHEMA = {
  type: "object" as const,
  properties: {
    runId: { type: "string" },
    status: { enum: ["completed", "waiting", "failed", "cancelled", "limit"] },
    outputs: { type: "array", description: "The outputs of the run so far." },
    requests: {
      type: "array",
      description: "Questions for a person, while the status is waiting: answer them with answer_run.",
      items: {
        type: "object",
        properties: {
          id: { type: "string" },
          prompt: { type: "string" },
          data: {},
          schema: { description: "JSON Schema of the answer." },
          to: { type: "string" },
        },
        required: ["id", "prompt"],
      },
    },
    signals: {
      type: "array",
      description: "Names of the signals that the run waits for. Other programs send them.",
      items: { type: "string" },
    },
    error: {
      type: "object",
      properties: { code: { type: "string" }, message: { type: "string" } },
      required: ["code", "message"],
    },
  },
  required: ["runId", "status", "outputs"],
}

function runResult({ runId, status, outputs, requests, waits, error }: RunResult): CallToolResult {
  const structuredContent = {
    runId,
    status,
    outputs,
    ...(status === "waiting" && { requests: requests.map(requestData) }),
    ...(waits.length > 0 && { signals: waits.map(({ name }) => name) }),
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
  }
  const text =
    status === "waiting"
      ? waitingText(runId, requests, waits)
      : status === "completed"
        ? outputText(outputs)
        : undefined
  const ended = `Run ${runId} ended with status "${status}"${error === undefined ? "." : `: ${error.message} (${error.code})`}`
  return {
    content: [{ type: "text", text: text ?? ended }],
    structuredContent,
    ...(text === undefined ? { isError: true } : {}),
  }
}

/** A call without a run: invalid input, or an invalid answer. */
function callRefused(error: unknown): CallToolResult {
  const text = error instanceof Error ? error.message : String(error)
  const code = isSuperstepError(error) ? ` (${error.code})` : ""
  return { content: [{ type: "text", text: `${text}${code}` }], isError: true }
}

function requestData({ id, prompt, data, schema, to }: OpenRequest): { readonly [key: string]: Json } {
  const all = { id, prompt, data, schema, to }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as {
    readonly [key: string]: Json
  }
}

function outputText(outputs: readonly unknown[]): string {
  const value = outputs.length === 1 ? outputs[0] : outputs
  return typeof value === "string" ? value : JSON.stringify(value)
}

function waitingText(runId: string, requests: readonly OpenRequest[], waits: readonly OpenWait[]): string {
  const names = waits.map(({ name }) => `"${name}"`).join(", ")
  const signals = waits.length === 0 ? [] : [`It waits for signals that another program sends: ${names}.`]
  if (requests.length === 0) return [`The run "${runId}" is not finished.`, ...signals].join("\n")
  const questions = requests.map(({ id, prompt, data, schema }) => {
    const about = data === undefined ? "" : `\n  About: ${JSON.stringify(data)}`
    const form =
      schema === undefined ? "" : `\n  The answer must match this JSON Schema: ${JSON.stringify(schema)}`
    return `- request "${id}": ${prompt}${about}${form}`
  })
  const how = `Ask the person, then call answer_run with { "run": "${runId}", "request": …, "answer": … }.`
  return [
    `The run "${runId}" is not finished: it is waiting for a person.`,
    ...questions,
    how,
    ...signals,
  ].join("\n")
}
