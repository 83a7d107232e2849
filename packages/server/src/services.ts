/** What the routes share. */
import type { Runtime } from "@superstep/engine"
import type { Feeds } from "./feed.ts"

/** A workflow as `runtime.start` takes it. */
export type StartedWorkflow = Parameters<Runtime["start"]>[0]

export interface Services {
  readonly runtime: Runtime
  readonly workflows: ReadonlyMap<string, StartedWorkflow>
  readonly feeds: Feeds
  /** Aborts when the server drains: streams end, and their clients connect elsewhere. */
  readonly drain: AbortSignal
  /** Milliseconds between heartbeats of a stream. */
  readonly heartbeat: number
}
