/**
 * Calls of tools as runs: started, followed, answered, cancelled.
 *
 * R1 A client that cancels its call, or leaves, cancels the run.
 * R2 A run that waits for a person ends the call, not the run: it waits until it is answered or cancelled.
 * R3 Runs of workflows that are not served here are unknown to clients, whatever the store holds.
 */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import {
  isSuperstepError,
  type Run,
  type RunEvent,
  type RunResult,
  type Runtime,
  type StartOptions,
  SuperstepError,
  type Workflow,
} from "@superstep/engine"
import { callRefused, runResult } from "./call-result.ts"
import { type ProgressListener, ProgressReport, wantsProgress } from "./progress-report.ts"

/** What is known of a call beside its arguments. */
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
    return told(() => {
      if (!wantsProgress(extra))
        return follow(this.#runtime.start(workflow, input as never, this.#policies), extra)
      const run = this.#runtime.stream(workflow, input as never, this.#policies)
      return follow(run, extra, run[Symbol.asyncIterator]())
    })
  }

  answer(args: Readonly<Record<string, unknown>>, extra: CallExtra): Promise<CallToolResult> {
    return told(async () => {
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
      await this.#runtime.cancel(
        runId,
        args.reason === undefined ? "Cancelled by a client." : String(args.reason),
      )
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
    const text = only === undefined ? "asks nothing" : `asks several things; say which request: ${ids}`
    throw new SuperstepError("REQUEST_UNKNOWN", `The run "${runId}" ${text}.`)
  }

  /** Clients that send every argument as text mean the JSON in it, where the text itself does not fit. */
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

async function told(call: () => Promise<RunResult>): Promise<CallToolResult> {
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
