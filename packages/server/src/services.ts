/** What the routes share. */
import type { Runtime } from "@superstep/engine"
import type { AuditLog } from "./audit-log.ts"
import type { Catalog } from "./catalog.ts"
import type { StoredDefinitions } from "./definitions/stored-definitions.ts"
import type { Feeds } from "./feed.ts"
import type { Metrics } from "./metrics.ts"
import type { ServedIndexes } from "./served-indexes.ts"
import type { Webhooks } from "./webhooks/webhooks.ts"

export interface Services {
  readonly runtime: Runtime
  readonly catalog: Catalog
  readonly definitions: StoredDefinitions
  readonly files: {
    /** By the name of the workflow. */
    readonly texts: ReadonlyMap<string, string>
    /** Absent: they are read-only. */
    readonly save?: ((name: string, text: string) => Promise<void>) | undefined
  }
  readonly feeds: Feeds
  readonly indexes: ServedIndexes | undefined
  readonly audit: AuditLog
  readonly webhooks: Webhooks
  readonly metrics: Metrics
  /** The address of a path of this server, as clients reach it. */
  readonly address: (request: Request, path: string) => string
  /** Aborts when the server drains: streams end, and their clients connect elsewhere. */
  readonly drain: AbortSignal
  /** Takes what went wrong inside the server, and must not reach the client. */
  readonly report: (error: unknown) => void
  /** Milliseconds between heartbeats of a stream. */
  readonly heartbeat: number
  /** Origins whose pages may use the API. */
  readonly origins: readonly string[]
  /** Nobody is authenticated. */
  readonly isOpen: boolean
}
