/** What the routes share. */
import type { Runtime } from "@superstep/engine"
import type { AuditLog } from "./audit.ts"
import type { Feeds } from "./feed.ts"

export interface Services {
  readonly runtime: Runtime
  readonly workflows: ReadonlyMap<string, Parameters<Runtime["start"]>[0]>
  readonly feeds: Feeds
  readonly audit: AuditLog
  /** Aborts when the server drains: streams end, and their clients connect elsewhere. */
  readonly drain: AbortSignal
  /** Milliseconds between heartbeats of a stream. */
  readonly heartbeat: number
}
