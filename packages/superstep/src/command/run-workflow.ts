/** Runs an opened workflow on a store, from the first event to the exit code, and lets go of it there. */
import type { GraphChangePolicy, Run, RunResult, Runtime } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import type { ExitCode } from "./exit-codes.ts"
import type { OpenStore } from "./open-store.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { ownRunsOnly } from "./own-runs.ts"
import type { Watcher } from "./progress/watcher.ts"
import { type Answerer, superviseRun } from "./supervise-run.ts"

/** Starts the run, or goes on with it. In an object, as whoever awaits a run gets its result. */
export type Begin = (runtime: Runtime) => Begun | Promise<Begun>

interface Begun {
  readonly run: Run<unknown>
  /** Of one that goes on: its last event before. Absent: all that is told from now on is watched. */
  readonly after?: number | undefined
}

export interface RunWorkflowOptions {
  readonly opened: OpenedWorkflow
  readonly store: OpenStore
  /** It is still there when this process is over. */
  readonly isKept: boolean
  readonly begin: Begin
  readonly onGraphChange?: GraphChangePolicy | undefined
  readonly watcher: Watcher
  readonly answerer: Answerer
}

export interface Ended {
  readonly runId: string
  /** Undefined when the run was let go of at Ctrl-C. */
  readonly result: RunResult | undefined
  readonly code: ExitCode
}

/** A day: whoever sits at the question keeps the run. */
const EVICT_AFTER = 86_400_000

export async function runWorkflow(cli: Cli, options: RunWorkflowOptions): Promise<Ended> {
  const { Runtime } = await import("@superstep/engine")
  const { opened, store, isKept, begin, onGraphChange, watcher, answerer } = options
  const runtime = new Runtime({
    store: ownRunsOnly(store),
    workflows: [opened.workflow],
    evictAfter: EVICT_AFTER,
    onGraphChange,
  })
  try {
    const { run, after } = await begin(runtime)
    const { result, code } = await superviseRun(cli, { runtime, run, after, watcher, answerer, isKept })
    return { runId: run.id, result, code }
  } catch (error) {
    watcher.end(undefined)
    throw error
  } finally {
    await runtime.close()
  }
}
