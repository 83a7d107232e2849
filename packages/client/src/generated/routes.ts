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

export type NewKey = Key & { readonly secret: string }

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly run?: string | undefined
  readonly problems?: readonly { readonly in: string; readonly message: string }[] | undefined
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

export interface Start {
  readonly input?: unknown
  readonly runId?: string | undefined
  readonly thread?: string | undefined
  readonly onBusy?: "reject" | "queue" | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
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
    readonly responses: { readonly 200: Run }
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
  /** Answer a question. */
  readonly "POST /v1/runs/{run}/requests/{request}/answer": {
    readonly path: { readonly run: string; readonly request: string }
    readonly body: { readonly value?: unknown; readonly by?: string | undefined }
    readonly responses: { readonly 200: { readonly delivery: "taken" | "stored" } }
  }
  /** The result of a run: outputs, state, usage, open questions. */
  readonly "GET /v1/runs/{run}/result": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 200: Result; readonly 202: Run }
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
}
