/** What the API accepts and returns. Written by `npm run client:types` from the server's routes. Do not edit. */

export interface AuditEntry {
  readonly at: number
  readonly who: string
  readonly tenant?: string | undefined
  readonly method: string
  readonly route: string
  readonly params: { readonly [name: string]: string }
  readonly status: number
}

export interface Batch {
  readonly runs: readonly {
    readonly input?: unknown
    readonly runId?: string | undefined
    readonly thread?: string | undefined
    readonly labels?: { readonly [name: string]: string } | undefined
    readonly key?: string | undefined
  }[]
}

export interface Bounds {
  readonly limits?:
    | {
        readonly supersteps?: number | undefined
        readonly visits?: number | undefined
        readonly loops?: number | undefined
        readonly concurrency?: number | undefined
      }
    | undefined
  readonly budget?:
    | {
        readonly tokens?: number | undefined
        readonly usd?: number | undefined
        readonly modelCalls?: number | undefined
        readonly toolCalls?: number | undefined
        readonly iterations?: number | undefined
        readonly allowUnpriced?: boolean | undefined
      }
    | undefined
  readonly timeout?: number | undefined
}

export interface BulkAction {
  readonly action: "cancel" | "retry" | "rerun" | "delete"
  readonly filter: {
    readonly workflow?: string | undefined
    readonly status?:
      | readonly (
          | "queued"
          | "running"
          | "waiting"
          | "quarantined"
          | "completed"
          | "failed"
          | "cancelled"
          | "limit"
        )[]
      | undefined
    readonly thread?: string | undefined
    readonly key?: string | undefined
    readonly labels?: { readonly [name: string]: string } | undefined
    readonly text?: string | undefined
  }
  readonly dryRun?: boolean | undefined
  readonly reason?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export interface BulkResult {
  readonly action: "cancel" | "retry" | "rerun" | "delete"
  readonly dryRun: boolean
  readonly results: readonly {
    readonly id: string
    readonly workflow: string
    readonly status: string
    readonly outcome?: "cancelled" | "cancelling" | "created" | "deleted" | undefined
    readonly run?: string | undefined
    readonly problem?: Problem | undefined
  }[]
  readonly more: boolean
  readonly next?: string | undefined
}

export interface Comparison {
  readonly a: string
  readonly b: string
  readonly same: boolean
  readonly differences: readonly unknown[]
}

export interface Cost {
  readonly usage?: unknown
  readonly byNode: { readonly [name: string]: unknown }
  readonly byModel: { readonly [name: string]: unknown }
  readonly byAgent: { readonly [name: string]: unknown }
}

export interface Diff {
  readonly from: { readonly seq: number; readonly at: number }
  readonly to: { readonly seq: number; readonly at: number }
  readonly changes: readonly { readonly key: string; readonly before?: unknown; readonly after?: unknown }[]
  readonly finished: readonly unknown[]
}

export interface Fork {
  readonly limits?:
    | {
        readonly supersteps?: number | undefined
        readonly visits?: number | undefined
        readonly loops?: number | undefined
        readonly concurrency?: number | undefined
      }
    | undefined
  readonly budget?:
    | {
        readonly tokens?: number | undefined
        readonly usd?: number | undefined
        readonly modelCalls?: number | undefined
        readonly toolCalls?: number | undefined
        readonly iterations?: number | undefined
        readonly allowUnpriced?: boolean | undefined
      }
    | undefined
  readonly timeout?: number | undefined
  readonly at?:
    | { readonly superstep: number }
    | { readonly seq: number }
    | { readonly task: number; readonly path?: readonly string[] | undefined }
    | undefined
  readonly patch?:
    | {
        readonly state?: { readonly [name: string]: unknown } | undefined
        readonly answers?: { readonly [name: string]: unknown } | undefined
        readonly input?: unknown
      }
    | undefined
}

export interface Key {
  readonly id: string
  readonly prefix: string
  readonly name: string
  readonly role: "viewer" | "operator" | "author" | "admin"
  readonly tenant?: string | undefined
  readonly workflows?: readonly string[] | undefined
  readonly expiresAt?: number | undefined
  readonly budget?: KeyBudget | undefined
  readonly rateLimit?: KeyRateLimit | undefined
  readonly createdAt: number
  readonly createdBy: string
  readonly revokedAt?: number | undefined
}

export interface KeyBudget {
  readonly usd?: number | undefined
  readonly tokens?: number | undefined
  readonly per: "day" | "total"
}

export interface KeyOptions {
  readonly name: string
  readonly role: "viewer" | "operator" | "author" | "admin"
  readonly tenant?: string | undefined
  readonly workflows?: readonly string[] | undefined
  readonly expiresAt?: number | undefined
  readonly budget?: KeyBudget | undefined
  readonly rateLimit?: KeyRateLimit | undefined
}

export interface KeyRateLimit {
  readonly requests: number
  readonly seconds: number
}

export type NewKey = Omit<Key, "secret"> & { readonly secret: string }

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly run?: string | undefined
  readonly problems?: readonly { readonly in: string; readonly message: string }[] | undefined
}

export type Replay =
  | { readonly definition: string; readonly runs: readonly string[] }
  | { readonly definition: string; readonly last: number }

export interface ReplayResult {
  readonly definition: string
  readonly same: boolean
  readonly results: readonly {
    readonly run: string
    readonly report?: unknown
    readonly problem?: Problem | undefined
  }[]
  readonly more: boolean
}

export interface Request {
  readonly id: string
  readonly run: string
  readonly workflow: string
  readonly outcome: "open" | "delivering" | "answered" | "expired" | "withdrawn"
  readonly openedAt?: number | undefined
  readonly closedAt?: number | undefined
  readonly by?: string | undefined
  readonly request?: unknown
}

export interface Rerun {
  readonly limits?:
    | {
        readonly supersteps?: number | undefined
        readonly visits?: number | undefined
        readonly loops?: number | undefined
        readonly concurrency?: number | undefined
      }
    | undefined
  readonly budget?:
    | {
        readonly tokens?: number | undefined
        readonly usd?: number | undefined
        readonly modelCalls?: number | undefined
        readonly toolCalls?: number | undefined
        readonly iterations?: number | undefined
        readonly allowUnpriced?: boolean | undefined
      }
    | undefined
  readonly timeout?: number | undefined
  readonly from?:
    | { readonly superstep: number }
    | { readonly task: number; readonly path?: readonly string[] | undefined }
    | { readonly node: string }
    | undefined
}

export interface Result {
  readonly id: string
  readonly status:
    | "queued"
    | "running"
    | "waiting"
    | "quarantined"
    | "completed"
    | "failed"
    | "cancelled"
    | "limit"
  readonly outputs: readonly unknown[]
  readonly state: { readonly [name: string]: unknown }
  readonly usage?: unknown
  readonly requests: readonly unknown[]
  readonly error?: unknown
}

export interface Run {
  readonly id: string
  readonly workflow: string
  readonly status:
    | "queued"
    | "running"
    | "waiting"
    | "quarantined"
    | "completed"
    | "failed"
    | "cancelled"
    | "limit"
  readonly createdAt: number
  readonly updatedAt: number
  readonly key?: string | undefined
  readonly thread?: string | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly wakeAt?: number | undefined
  readonly forkOf?: { readonly run: string; readonly seq: number } | undefined
  readonly error?:
    | { readonly code: string; readonly message: string; readonly node?: string | undefined }
    | undefined
}

export interface Signal {
  readonly name: string
  readonly value?: unknown
  readonly id?: string | undefined
}

export interface Start {
  readonly input?: unknown
  readonly runId?: string | undefined
  readonly thread?: string | undefined
  readonly onBusy?: "reject" | "queue" | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
}

export interface State {
  readonly seq: number
  readonly at: number
  readonly superstep: number
  readonly status:
    | "queued"
    | "running"
    | "waiting"
    | "quarantined"
    | "completed"
    | "failed"
    | "cancelled"
    | "limit"
  readonly state: { readonly [name: string]: unknown }
  readonly outputs: readonly unknown[]
  readonly usage?: unknown
  readonly requests: readonly unknown[]
  readonly tasks?: readonly unknown[] | undefined
  readonly waits?: readonly unknown[] | undefined
  readonly signals?: readonly unknown[] | undefined
}

export interface Why {
  readonly run: string
  readonly task: number
  readonly node: string
  readonly seq?: number | undefined
  readonly error?: unknown
  readonly messages: readonly {
    readonly value?: unknown
    readonly isOutput: boolean
    readonly undelivered?: string | undefined
    readonly edges: readonly {
      readonly kind: string
      readonly to?: string | undefined
      readonly label?: string | undefined
      readonly taken: boolean
      readonly reason: string
    }[]
  }[]
}

export interface Workflow {
  readonly name: string
  readonly nodes: readonly string[]
}

/** Every route of the API, by method and path. */
export interface Routes {
  /** List what was changed, by whom and when, the newest first. */
  readonly "GET /v1/audit": {
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly entries: readonly AuditEntry[]; readonly next?: string | undefined }
    }
  }
  /** What two runs did differently. */
  readonly "GET /v1/compare": {
    readonly query: { readonly a: string; readonly b: string }
    readonly responses: { readonly 200: Comparison }
  }
  /** List API keys. */
  readonly "GET /v1/keys": {
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly keys: readonly Key[]; readonly next?: string | undefined }
    }
  }
  /** Create an API key. */
  readonly "POST /v1/keys": { readonly body: KeyOptions; readonly responses: { readonly 201: NewKey } }
  /** Show an API key. */
  readonly "GET /v1/keys/{key}": {
    readonly path: { readonly key: string }
    readonly responses: { readonly 200: Key }
  }
  /** Revoke an API key. */
  readonly "DELETE /v1/keys/{key}": {
    readonly path: { readonly key: string }
    readonly responses: { readonly 200: Key }
  }
  /** Replace the secret of an API key. */
  readonly "POST /v1/keys/{key}/rotate": {
    readonly path: { readonly key: string }
    readonly body?: { readonly overlap?: number | undefined }
    readonly responses: { readonly 200: NewKey }
  }
  /** Replay recorded runs against a workflow of this server. */
  readonly "POST /v1/replay": { readonly body: Replay; readonly responses: { readonly 200: ReplayResult } }
  /** List questions to people, oldest first. */
  readonly "GET /v1/requests": {
    readonly query?: {
      readonly run?: string | undefined
      readonly workflow?: string | undefined
      readonly to?: string | undefined
      readonly outcome?: "open" | "delivering" | "answered" | "expired" | "withdrawn" | undefined
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    readonly responses: {
      readonly 200: { readonly requests: readonly Request[]; readonly next?: string | undefined }
    }
  }
  /** List runs, newest first. */
  readonly "GET /v1/runs": {
    readonly query?: {
      readonly workflow?: string | undefined
      readonly status?: string | undefined
      readonly thread?: string | undefined
      readonly key?: string | undefined
      readonly label?: string | readonly string[] | undefined
      readonly text?: string | undefined
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    readonly responses: {
      readonly 200: { readonly runs: readonly Run[]; readonly next?: string | undefined }
    }
  }
  /** Cancel, retry, rerun or delete the runs that a filter finds. */
  readonly "POST /v1/runs/bulk": {
    readonly body: BulkAction
    readonly responses: { readonly 200: BulkResult }
  }
  /** Show a run. */
  readonly "GET /v1/runs/{run}": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 200: Run }
  }
  /** Delete a run that has ended. */
  readonly "DELETE /v1/runs/{run}": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 204: undefined }
  }
  /** Cancel a run. */
  readonly "POST /v1/runs/{run}/cancel": {
    readonly path: { readonly run: string }
    readonly body?: { readonly reason?: string | undefined }
    readonly responses: {
      readonly 200: Run
      readonly 202: Omit<Run, "status"> & { readonly status?: "cancelling" | undefined }
    }
  }
  /** What a run used: by node, by model and by agent. */
  readonly "GET /v1/runs/{run}/cost": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 200: Cost }
  }
  /** What changed in the state of a run between two points. */
  readonly "GET /v1/runs/{run}/diff": {
    readonly path: { readonly run: string }
    readonly query: {
      readonly from: string
      readonly to: string
      readonly path?: string | readonly string[] | undefined
    }
    readonly responses: { readonly 200: Diff }
  }
  /** Stream a run's events. */
  readonly "GET /v1/runs/{run}/events": {
    readonly path: { readonly run: string }
    readonly query?: {
      readonly after?: number | null | undefined
      readonly types?: string | undefined
      readonly depth?: number | null | undefined
    }
    readonly responses: { readonly 200: undefined }
  }
  /** A run as a fixture for a test. */
  readonly "GET /v1/runs/{run}/export": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 200: unknown }
  }
  /** Create a run that shares the past of this one up to a point. */
  readonly "POST /v1/runs/{run}/fork": {
    readonly path: { readonly run: string }
    readonly body?: Fork
    readonly responses: { readonly 201: Run }
  }
  /** Answer a question. */
  readonly "POST /v1/runs/{run}/requests/{request}/answer": {
    readonly path: { readonly run: string; readonly request: string }
    readonly body: { readonly value?: unknown; readonly by?: string | undefined }
    readonly responses: { readonly 200: { readonly delivery: "taken" | "stored" } }
  }
  /** Run a run again, from its start or from a later part on. */
  readonly "POST /v1/runs/{run}/rerun": {
    readonly path: { readonly run: string }
    readonly body?: Rerun
    readonly responses: { readonly 201: Run }
  }
  /** The result of a run: outputs, state, usage, open questions. */
  readonly "GET /v1/runs/{run}/result": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 200: Result; readonly 202: Run }
  }
  /** Run the part of a run again that failed or reached a limit. */
  readonly "POST /v1/runs/{run}/retry": {
    readonly path: { readonly run: string }
    readonly body?: Bounds
    readonly responses: { readonly 201: Run }
  }
  /** Send a signal to a run. */
  readonly "POST /v1/runs/{run}/signal": {
    readonly path: { readonly run: string }
    readonly body: Signal
    readonly responses: { readonly 200: { readonly delivery: "taken" | "stored" } }
  }
  /** The state of a run, now or at a point in its past. */
  readonly "GET /v1/runs/{run}/state": {
    readonly path: { readonly run: string }
    readonly query?: {
      readonly at?: string | undefined
      readonly path?: string | readonly string[] | undefined
    }
    readonly responses: { readonly 200: State }
  }
  /** Send a signal to a run, and get the reply. */
  readonly "POST /v1/runs/{run}/update": {
    readonly path: { readonly run: string }
    readonly body: Signal
    readonly responses: {
      readonly 200: { readonly id: string; readonly reply?: unknown }
      readonly 202: { readonly id: string }
    }
  }
  /** Why the messages of a task went where they went. */
  readonly "GET /v1/runs/{run}/why": {
    readonly path: { readonly run: string }
    readonly query: { readonly task: string; readonly path?: string | readonly string[] | undefined }
    readonly responses: { readonly 200: Why }
  }
  /** List the workflows of this server. */
  readonly "GET /v1/workflows": {
    readonly responses: { readonly 200: { readonly workflows: readonly Workflow[] } }
  }
  /** Start a run. */
  readonly "POST /v1/workflows/{workflow}/runs": {
    readonly path: { readonly workflow: string }
    readonly body: Start
    readonly responses: { readonly 200: Result; readonly 202: Run }
  }
  /** Start up to 100 runs. */
  readonly "POST /v1/workflows/{workflow}/runs/batch": {
    readonly path: { readonly workflow: string }
    readonly body: Batch
    readonly responses: {
      readonly 200: {
        readonly results: readonly {
          readonly run?: Run | undefined
          readonly problem?: Problem | undefined
        }[]
      }
    }
  }
}
