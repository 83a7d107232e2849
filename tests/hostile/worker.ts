/**
 * A process with a runtime that executes commands from its standard input, as lines of JSON. Some of its workflows harm
 * it. Every effect leaves a line in the trail: the run, its name, its key, the process.
 */
import { appendFileSync, writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { type Context, isSuperstepError, type Node, node, Runtime, workflow } from "superstep"
import { openStore } from "../stores.ts"

export interface WorkerJob {
  readonly path: string
  readonly trail: string
  readonly lease?: number | undefined
  readonly hungAfter?: number | undefined
  /** Processes on different machines cannot see each other's process ids. */
  readonly machine?: string | undefined
  /** No workflow does any harm. */
  readonly isFixed?: boolean | undefined
}

export type WorkerCommand =
  | {
      readonly type: "start"
      readonly workflow: WorkflowName
      readonly runId: string
      readonly input: number
    }
  | { readonly type: "respond"; readonly id: string; readonly runId: string; readonly value: string }
  /** Handlers of `long` end, and the step of `halves` that waits. */
  | { readonly type: "finish" }
  /** The computer's clock is set forward. */
  | { readonly type: "clock"; readonly by: number }

export type WorkerMessage =
  | { readonly type: "ready"; readonly resumed: readonly string[] }
  | { readonly type: "began"; readonly runId: string }
  | { readonly type: "ended"; readonly runId: string; readonly status: string }
  | {
      readonly type: "problem"
      readonly runId: string | undefined
      readonly code: string
      readonly message: string
    }
  | { readonly type: "responded"; readonly id: string; readonly code: string }
  | { readonly type: "aborted"; readonly runId: string; readonly cause: string | undefined }

const job = JSON.parse(process.argv[2] as string) as WorkerJob

function report(message: WorkerMessage): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

function effect(ctx: Context, name: string): void {
  appendFileSync(job.trail, `${ctx.runId} ${name} ${ctx.idempotencyKey} ${process.pid}\n`)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

let finish: () => void = () => undefined
const finished = new Promise<void>((resolve) => {
  finish = resolve
})

const flows = {
  /** Waits for a person. */
  ask: node("ask", async (_: number, ctx) => {
    report({ type: "began", runId: ctx.runId })
    return await ctx.ask<string>("Continue?")
  }),
  /** Sleeps for an hour. */
  nap: node("nap", async (_: number, ctx) => {
    report({ type: "began", runId: ctx.runId })
    await ctx.sleep(3_600_000)
    return "slept"
  }),
  /** Executes, without progress, until it receives `finish`. */
  long: node("long", async (_: number, ctx) => {
    report({ type: "began", runId: ctx.runId })
    await finished
    return "long"
  }),
  /** Many steps, one after another, each with the process that executed it as its result. */
  steps: node("steps", async (count: number, ctx) => {
    report({ type: "began", runId: ctx.runId })
    for (let i = 0; i < count; i++) {
      await ctx.step(`${i}`, async () => {
        effect(ctx, `${i}`)
        await pause(20)
        return process.pid
      })
    }
    return count
  }),
  /** As `steps`, but the step in the middle ends when the process receives `finish`. */
  halves: node("halves", async (count: number, ctx) => {
    for (let i = 0; i < count; i++) {
      await ctx.step(`${i}`, async () => {
        effect(ctx, `${i}`)
        if (i === count / 2) await finished
        return process.pid
      })
    }
    return count
  }),
  /** Effects that are on no record, until it is stopped. */
  drips: node("drips", async (_: number, ctx) => {
    report({ type: "began", runId: ctx.runId })
    ctx.signal.addEventListener("abort", () => {
      const { cause } = ctx.signal.reason as Error
      report({ type: "aborted", runId: ctx.runId, cause: isSuperstepError(cause) ? cause.code : undefined })
    })
    while (!ctx.signal.aborted) {
      effect(ctx, "drip")
      await pause(50)
    }
    throw ctx.signal.reason
  }),
  /** Blocks the event loop for a number of milliseconds, between two effects. */
  block: node("block", async (ms: number, ctx) => {
    await ctx.step("before", () => effect(ctx, "before"))
    report({ type: "began", runId: ctx.runId })
    if (!job.isFixed) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    await ctx.step("after", () => effect(ctx, "after"))
    return "blocked"
  }),
  /** Kills its process after a number of milliseconds. */
  deadly: node("deadly", async (ms: number, ctx) => {
    report({ type: "began", runId: ctx.runId })
    if (job.isFixed) return "alive"
    await pause(ms)
    process.kill(process.pid, "SIGKILL")
    return await new Promise<never>(() => undefined)
  }),
}
export type WorkflowName = keyof typeof flows

const workflows = new Map(
  Object.entries(flows).map(([name, start]) => [
    name,
    workflow(name)
      .start(start as Node<number, unknown>)
      .build(),
  ]),
)
const store = openStore(job.path)
const runtime = new Runtime({
  store,
  workflows: [...workflows.values()],
  lease: job.lease,
  hungAfter: job.hungAfter,
  machine: job.machine,
  onProblem: ({ runId, error }) =>
    report({
      type: "problem",
      runId,
      code: isSuperstepError(error) ? error.code : "",
      message: error.message,
    }),
})

createInterface({ input: process.stdin })
  .on("line", (line) => execute(JSON.parse(line) as WorkerCommand))
  // The parent process has exited.
  .on("close", () => process.exit())

function execute(command: WorkerCommand): void {
  switch (command.type) {
    case "start": {
      const flow = workflows.get(command.workflow) as NonNullable<ReturnType<typeof workflows.get>>
      const { runId } = command
      runtime.start(flow, command.input, { runId }).result.then(
        ({ status }) => report({ type: "ended", runId, status }),
        (error) => report({ type: "ended", runId, status: error.code }),
      )
      break
    }
    case "respond":
      runtime.respond(command.runId, "r1", command.value, { by: command.id }).then(
        () => report({ type: "responded", id: command.id, code: "ok" }),
        (error) => report({ type: "responded", id: command.id, code: error.code }),
      )
      break
    case "finish":
      finish()
      break
    case "clock": {
      const now = Date.now
      Date.now = () => now() + command.by
      break
    }
  }
}

const { resumed } = await runtime.recover()
report({ type: "ready", resumed })
