/** What the routes share. */
import type { Runtime } from "@superstep/engine"
import type { AuditLog } from "./audit-log.ts"
import type { Feeds } from "./feed.ts"
import type { SubmittedOptions } from "./submitted.ts"

/** A workflow as `runtime.start` takes it. */
export type StartedWorkflow = Parameters<Runtime["start"]>[0]

export interface Services {
  readonly runtime: Runtime
  readonly workflows: ReadonlyMap<string, StartedWorkflow>
  readonly feeds: Feeds
  readonly audit: AuditLog
  /** How definitions that came over HTTP are loaded. */
  readonly submitted: SubmittedOptions
  /** Aborts when the server drains: streams end, and their clients connect elsewhere. */
  readonly drain: AbortSignal
  /** Takes what went wrong inside the server, and must not reach the client. */
  readonly report: (error: unknown) => void
  /** Milliseconds between heartbeats of a stream. */
  readonly heartbeat: number
}
