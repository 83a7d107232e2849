/** What the routes share. */
import type { Runtime } from "@superstep/engine"
import type { Feeds } from "./feed.ts"

export interface Services {
  readonly runtime: Runtime
  readonly workflows: ReadonlyMap<string, Parameters<Runtime["start"]>[0]>
  readonly feeds: Feeds
  /** Aborts when the server drains: streams end, and their clients connect elsewhere. */
  readonly drain: AbortSignal
  /** Takes what went wrong inside the server, and must not reach the client. */
  readonly report: (error: unknown) => void
  /** Milliseconds between heartbeats of a stream. */
  readonly heartbeat: number
}
