/** What the API accepts and returns. Written by `npm run client:types` from the server's routes. Do not edit. */

export interface AddDocuments {
  readonly documents: readonly {
    readonly source: string
    readonly text: string
    readonly type?: "text" | "markdown" | "html" | "csv" | undefined
  }[]
}

export interface AgUiRun {
  readonly threadId: string
  readonly runId: string
  readonly messages: readonly (
    | {
        readonly role: "user" | "system" | "developer"
        readonly content: string | readonly { readonly type: string }[]
      }
    | {
        readonly role: "assistant"
        readonly content?: string | readonly { readonly type: string }[] | null | undefined
      }
    | { readonly role: "tool" | "activity" | "reasoning" }
  )[]
  readonly resume?:
    | readonly {
        readonly interruptId: string
        readonly status: "resolved" | "cancelled"
        readonly payload?: unknown
      }[]
    | null
    | undefined
}

export interface AuditEntry {
  readonly at: number
  readonly who: string
  readonly tenant?: string | undefined
  readonly method: string
  readonly route: string
  readonly params: { readonly [name: string]: string }
  readonly status: number
  readonly note?: string | undefined
}

export interface Backfill {
  readonly from: number
  readonly to: number
  readonly dryRun?: boolean | undefined
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
  readonly action: "cancel" | "pause" | "resume" | "retry" | "rerun" | "delete"
  readonly filter: {
    readonly workflow?: string | undefined
    readonly status?:
      | readonly (
          | "queued"
          | "running"
          | "waiting"
          | "paused"
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
    readonly since?: number | undefined
    readonly until?: number | undefined
  }
  readonly dryRun?: boolean | undefined
  readonly reason?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export interface BulkResult {
  readonly action: "cancel" | "pause" | "resume" | "retry" | "rerun" | "delete"
  readonly dryRun: boolean
  readonly results: readonly {
    readonly id: string
    readonly workflow: string
    readonly status: string
    readonly outcome?:
      | "cancelled"
      | "cancelling"
      | "paused"
      | "pausing"
      | "resumed"
      | "resuming"
      | "created"
      | "deleted"
      | undefined
    readonly run?: string | undefined
    readonly problem?: Problem | undefined
  }[]
  readonly more: boolean
  readonly next?: string | undefined
}

export interface ChatCompletionRequest {
  readonly model: string
  readonly messages: readonly (
    | {
        readonly role: "user" | "system" | "developer"
        readonly content: string | readonly { readonly type: string }[]
      }
    | {
        readonly role: "assistant"
        readonly content?: string | readonly { readonly type: string }[] | null | undefined
      }
    | {
        readonly role: "tool"
        readonly tool_call_id: string
        readonly content: string | readonly { readonly type: string }[]
      }
  )[]
  readonly stream?: boolean | null | undefined
  readonly stream_options?: { readonly include_usage?: boolean | undefined } | null | undefined
  readonly n?: 1 | undefined
  readonly tools?:
    | readonly { readonly type: "function"; readonly function: { readonly name: "question" | "approval" } }[]
    | null
    | undefined
  readonly response_format?: { readonly type: "text" } | null | undefined
}

export interface CheckedRun {
  readonly run: string
  readonly outcome: "same" | "diverges" | "fails"
  readonly step?: number | undefined
  readonly node?: string | undefined
  readonly what?: string | undefined
}

export interface Comparison {
  readonly a: string
  readonly b: string
  readonly same: boolean
  readonly differences: readonly unknown[]
}

export interface Condition {
  readonly condition: string
  readonly holds: boolean
  readonly operands: readonly { readonly text: string; readonly value?: unknown }[]
  readonly to?: string | null | undefined
}

export interface Cost {
  readonly usage?: unknown
  readonly byNode: { readonly [name: string]: unknown }
  readonly byModel: { readonly [name: string]: unknown }
  readonly byAgent: { readonly [name: string]: unknown }
}

export interface Definition {
  readonly name: string
  readonly source: "store" | "file" | "code"
  readonly readOnly: boolean
  readonly published?: number | undefined
  readonly latest?: number | undefined
  readonly aliases: { readonly [name: string]: number }
  readonly text?: string | undefined
  readonly graph?: DefinitionGraph | undefined
  readonly log: readonly {
    readonly at: number
    readonly by: string
    readonly action: "publish" | "rollback" | "alias" | "alias removed"
    readonly version: number
    readonly alias?: string | undefined
    readonly reason?: string | undefined
  }[]
}

export interface DefinitionDiff {
  readonly from: number
  readonly to: number
  readonly text: readonly { readonly kind: "same" | "removed" | "added"; readonly lines: readonly string[] }[]
  readonly graph: readonly string[]
}

export interface DefinitionGraph {
  readonly start?: string | undefined
  readonly nodes: readonly {
    readonly id: string
    readonly kind: string
    readonly line?: number | undefined
    readonly column?: number | undefined
  }[]
  readonly edges: readonly unknown[]
  readonly diagram?: unknown
}

export type DefinitionProblem = Omit<Problem, "diagnostics" | "runs"> & {
  readonly diagnostics?: readonly Diagnostic[] | undefined
  readonly runs?: readonly CheckedRun[] | undefined
}

export interface DefinitionSummary {
  readonly name: string
  readonly source: "store" | "file" | "code"
  readonly readOnly: boolean
  readonly published?: number | undefined
  readonly latest?: number | undefined
  readonly aliases: { readonly [name: string]: number }
}

export interface DefinitionText {
  readonly text: string
  readonly name?: string | undefined
}

export interface DefinitionVersion {
  readonly version: number
  readonly createdAt: number
  readonly createdBy: string
  readonly note?: string | undefined
}

export type DefinitionVersionText = Omit<DefinitionVersion, "text" | "diagnostics" | "graph"> & {
  readonly text: string
  readonly diagnostics: readonly Diagnostic[]
  readonly graph?: DefinitionGraph | undefined
}

export interface Delivery {
  readonly id: string
  readonly message: string
  readonly type: string
  readonly status: "pending" | "delivered" | "failed"
  readonly createdAt: number
  readonly updatedAt: number
  readonly error?: string | undefined
  readonly nextAttemptAt?: number | undefined
}

export type DeliveryDetails = Omit<Delivery, "body" | "attempts"> & {
  readonly body: string
  readonly attempts: readonly { readonly at: number; readonly error?: string | undefined }[]
}

export interface Diagnostic {
  readonly severity: "error" | "warning"
  readonly code: string
  readonly message: string
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly length?: number | undefined
  readonly suggestion?: string | undefined
}

export interface Diff {
  readonly from: { readonly seq: number; readonly at: number }
  readonly to: { readonly seq: number; readonly at: number }
  readonly changes: readonly { readonly key: string; readonly before?: unknown; readonly after?: unknown }[]
  readonly finished: readonly unknown[]
}

export interface Draft {
  readonly text: string
  readonly note?: string | undefined
}

export interface EventPage {
  readonly events: readonly unknown[]
  readonly length: number
  readonly more: boolean
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
        readonly agents?:
          | {
              readonly [name: string]: {
                readonly instructions?: string | undefined
                readonly model?: string | undefined
                readonly settings?: { readonly [name: string]: unknown } | undefined
              }
            }
          | undefined
      }
    | undefined
}

export interface FoundChunk {
  readonly source: string
  readonly text: string
  readonly score: number
  readonly relevance?: number | undefined
  readonly title?: string | undefined
}

export interface Graph {
  readonly graph?: unknown
  readonly called: { readonly [name: string]: unknown }
}

export interface Hook {
  readonly id: string
  readonly url: string
  readonly name: string
  readonly input: string
  readonly idempotencyKey?: string | undefined
  readonly ignore?: string | undefined
  readonly signal?:
    | { readonly name: string; readonly run?: string | undefined; readonly key?: string | undefined }
    | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly enabled: boolean
  readonly workflow: string
  readonly verify: { readonly type: string; readonly name?: string | undefined }
  readonly tenant?: string | undefined
  readonly createdAt: number
  readonly createdBy: string
  readonly failure?: { readonly at: number; readonly message: string } | undefined
}

export interface HookChange {
  readonly name?: string | undefined
  readonly input?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly ignore?: string | undefined
  readonly signal?:
    | { readonly name: string; readonly run?: string | undefined; readonly key?: string | undefined }
    | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly enabled?: boolean | undefined
  readonly verify?: HookVerification | undefined
}

export interface HookOptions {
  readonly name: string
  readonly input: string
  readonly idempotencyKey?: string | undefined
  readonly ignore?: string | undefined
  readonly signal?:
    | { readonly name: string; readonly run?: string | undefined; readonly key?: string | undefined }
    | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly enabled?: boolean | undefined
  readonly workflow: string
  readonly verify: HookVerification
}

export type HookVerification =
  | { readonly type: "standard"; readonly secret?: string | undefined }
  | { readonly type: "github" | "stripe" | "slack"; readonly secret: string }
  | { readonly type: "header"; readonly name: string; readonly secret: string }

export interface Index {
  readonly name: string
  readonly documents: number
  readonly chunks: number
  readonly bytes: number
  readonly embeddings?: string | undefined
  readonly vectorSearch: boolean
  readonly reason?: string | undefined
}

export interface IndexDocuments {
  readonly name: string
  readonly chunks: number
  readonly bytes: number
  readonly embeddings?: string | undefined
  readonly vectorSearch: boolean
  readonly reason?: string | undefined
  readonly count: number
  readonly documents: readonly {
    readonly source: string
    readonly chunks: number
    readonly bytes: number
    readonly addedAt: number
  }[]
  readonly next?: string | undefined
}

export interface IndexSearch {
  readonly query: string
  readonly limit?: number | undefined
  readonly mode?: "merged" | "text" | "vector" | undefined
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
  readonly quota?: KeyQuota | undefined
  readonly createdAt: number
  readonly createdBy: string
  readonly revokedAt?: number | undefined
  readonly pausedAt?: number | undefined
  readonly used?: { readonly usd: number; readonly tokens: number } | undefined
}

export interface KeyBudget {
  readonly usd?: number | undefined
  readonly tokens?: number | undefined
  readonly per: "day" | "total"
}

export interface KeyChange {
  readonly budget?:
    | {
        readonly usd?: number | undefined
        readonly tokens?: number | undefined
        readonly per: "day" | "total"
      }
    | null
    | undefined
  readonly paused?: boolean | undefined
}

export interface KeyOptions {
  readonly name: string
  readonly role: "viewer" | "operator" | "author" | "admin"
  readonly tenant?: string | undefined
  readonly workflows?: readonly string[] | undefined
  readonly expiresAt?: number | undefined
  readonly budget?: KeyBudget | undefined
  readonly rateLimit?: KeyRateLimit | undefined
  readonly quota?: KeyQuota | undefined
}

export interface KeyQuota {
  readonly runsPerDay?: number | undefined
  readonly concurrentRuns?: number | undefined
}

export interface KeyRateLimit {
  readonly requests: number
  readonly seconds: number
}

export interface Ledger {
  readonly run: string
  readonly seq: number
  readonly effects: readonly {
    readonly seq: number
    readonly at: number
    readonly kind: "model" | "tool" | "step" | "question"
    readonly name: string
    readonly node: string
    readonly task: number
    readonly path: readonly string[]
    readonly isUncertain?: true | undefined
    readonly usage?: unknown
  }[]
  readonly usage?: unknown
}

export interface Link {
  readonly id: string
  readonly run: string
  readonly request: string
  readonly expiresAt: number
  readonly by?: string | undefined
  readonly values?: readonly unknown[] | undefined
  readonly createdAt: number
  readonly createdBy: string
  readonly usedAt?: number | undefined
  readonly revokedAt?: number | undefined
}

export interface LinkOptions {
  readonly expires?: number | undefined
  readonly by?: string | undefined
  readonly values?: readonly unknown[] | undefined
}

export interface ListedThread {
  readonly id: string
  readonly run?: (Run & unknown) | undefined
}

export interface Me {
  readonly id: string
  readonly role: "viewer" | "operator" | "author" | "admin"
  readonly tenant?: string | undefined
  readonly authenticated: boolean
}

export interface Model {
  readonly id: string
  readonly object: "model"
  readonly created: number
  readonly owned_by: string
}

export type NewHook = Omit<Hook, "secret"> & { readonly secret: string }

export type NewKey = Omit<Key, "secret"> & { readonly secret: string }

export type NewLink = Omit<Link, "url"> & { readonly url: string }

export type NewWebhook = Omit<Webhook, "secret"> & { readonly secret: string }

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly run?: string | undefined
  readonly problems?: readonly { readonly in: string; readonly message: string }[] | undefined
}

export interface Provenance {
  readonly run: string
  readonly seq: number
  readonly value?: unknown
  readonly sources: readonly {
    readonly seq: number
    readonly kind: "task" | "start" | "fork"
    readonly value?: unknown
    readonly reducer?: string | undefined
    readonly task?:
      | {
          readonly task: number
          readonly node: string
          readonly input?: unknown
          readonly from: readonly { readonly task: number; readonly node: string; readonly seq: number }[]
          readonly steps: readonly string[]
        }
      | undefined
  }[]
}

export interface Prune {
  readonly olderThan?: number | undefined
  readonly keep?: number | undefined
  readonly workflow?: string | undefined
  readonly dryRun?: boolean | undefined
}

export interface Publish {
  readonly version?: number | string | undefined
  readonly last?: number | undefined
  readonly force?: boolean | undefined
  readonly reason?: string | undefined
  readonly inFlight?: "stay" | "follow" | undefined
  readonly expected?: number | undefined
}

export interface Published {
  readonly name: string
  readonly source: "store" | "file" | "code"
  readonly readOnly: boolean
  readonly published?: number | undefined
  readonly latest?: number | undefined
  readonly aliases: { readonly [name: string]: number }
  readonly version: number
  readonly check?: { readonly passed: boolean; readonly runs: readonly CheckedRun[] } | undefined
}

export type Replay =
  | {
      readonly definition: string
      readonly text?: string | undefined
      readonly version?: string | undefined
      readonly runs: readonly string[]
    }
  | {
      readonly definition: string
      readonly text?: string | undefined
      readonly version?: string | undefined
      readonly last: number
    }

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

export interface Response {
  readonly id: string
  readonly object: string
  readonly status: string
}

export interface ResponseRequest {
  readonly model: string
  readonly input:
    | string
    | readonly (
        | {
            readonly type?: "message" | undefined
            readonly role: "user" | "system" | "developer" | "assistant"
            readonly content: string | readonly { readonly type: string }[]
          }
        | {
            readonly type: "mcp_approval_response"
            readonly approval_request_id: string
            readonly approve: boolean
            readonly reason?: string | null | undefined
          }
        | {
            readonly type: "function_call_output"
            readonly call_id: string
            readonly output: string | readonly { readonly type: string }[]
          }
        | { readonly type: "reasoning" | "function_call" | "mcp_call" | "mcp_approval_request" }
      )[]
  readonly stream?: boolean | null | undefined
  readonly background?: boolean | null | undefined
  readonly instructions?: string | null | undefined
  readonly previous_response_id?: string | null | undefined
  readonly conversation?: string | { readonly id: string } | null | undefined
  readonly metadata?: { readonly [name: string]: string } | null | undefined
  readonly tools?: readonly { readonly type: "function"; readonly name: "question" }[] | null | undefined
}

export interface Result {
  readonly id: string
  readonly status:
    | "queued"
    | "running"
    | "waiting"
    | "paused"
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

export interface RetentionPolicy {
  readonly keep?: number | undefined
  readonly maxAge?: number | undefined
}

export interface Rollback {
  readonly to?: number | undefined
  readonly reason?: string | undefined
}

export interface Run {
  readonly id: string
  readonly workflow: string
  readonly status:
    | "queued"
    | "running"
    | "waiting"
    | "paused"
    | "quarantined"
    | "completed"
    | "failed"
    | "cancelled"
    | "limit"
  readonly createdAt: number
  readonly updatedAt: number
  readonly key?: string | undefined
  readonly thread?: string | undefined
  readonly version?: string | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly wakeAt?: number | undefined
  readonly forkOf?: { readonly run: string; readonly seq: number } | undefined
  readonly error?:
    | { readonly code: string; readonly message: string; readonly node?: string | undefined }
    | undefined
}

export interface RunAtEvent {
  readonly length: number
  readonly view?: unknown
  readonly outline?: unknown
}

export interface RunUsage {
  readonly run: string
  readonly usd?: number | undefined
  readonly tokens: number
  readonly nodes: readonly string[]
}

export interface Schedule {
  readonly id: string
  readonly workflow: string
  readonly cron?: string | undefined
  readonly timeZone?: string | undefined
  readonly every?: number | undefined
  readonly startAt?: number | undefined
  readonly at?: number | undefined
  readonly jitter?: number | undefined
  readonly input?: unknown
  readonly overlap: string
  readonly catchUp: string
  readonly maxCatchUp: number
  readonly queue?: string | undefined
  readonly priority?: number | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly isDeclared: boolean
  readonly isPaused: boolean
  readonly nextAt?: number | undefined
  readonly last?:
    | {
        readonly plannedAt?: number | undefined
        readonly at: number
        readonly outcome: "started" | "skipped" | "failed"
        readonly run?: string | undefined
        readonly error?: { readonly code: string; readonly message: string } | undefined
      }
    | undefined
  readonly missed?: { readonly from: number; readonly to: number } | undefined
  readonly pending: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly next?: readonly { readonly plannedAt: number; readonly startsAt: number }[] | undefined
}

export type ScheduleOptions =
  | {
      readonly cron: string
      readonly timeZone?: string | undefined
      readonly jitter?: number | undefined
      readonly workflow: string
      readonly input?: unknown
      readonly overlap?: "skip" | "queue" | "cancel-previous" | "allow" | undefined
      readonly catchUp?: "none" | "last" | "all" | undefined
      readonly maxCatchUp?: number | undefined
      readonly queue?: string | undefined
      readonly priority?: number | undefined
      readonly labels?: { readonly [name: string]: string } | undefined
    }
  | {
      readonly every: number
      readonly startAt?: number | undefined
      readonly jitter?: number | undefined
      readonly workflow: string
      readonly input?: unknown
      readonly overlap?: "skip" | "queue" | "cancel-previous" | "allow" | undefined
      readonly catchUp?: "none" | "last" | "all" | undefined
      readonly maxCatchUp?: number | undefined
      readonly queue?: string | undefined
      readonly priority?: number | undefined
      readonly labels?: { readonly [name: string]: string } | undefined
    }
  | {
      readonly at: number
      readonly jitter?: number | undefined
      readonly workflow: string
      readonly input?: unknown
      readonly overlap?: "skip" | "queue" | "cancel-previous" | "allow" | undefined
      readonly catchUp?: "none" | "last" | "all" | undefined
      readonly maxCatchUp?: number | undefined
      readonly queue?: string | undefined
      readonly priority?: number | undefined
      readonly labels?: { readonly [name: string]: string } | undefined
    }

export type SchedulePreview =
  | {
      readonly cron: string
      readonly timeZone?: string | undefined
      readonly jitter?: number | undefined
      readonly count?: number | undefined
    }
  | {
      readonly every: number
      readonly startAt?: number | undefined
      readonly jitter?: number | undefined
      readonly count?: number | undefined
    }
  | { readonly at: number; readonly jitter?: number | undefined; readonly count?: number | undefined }

export interface Signal {
  readonly name: string
  readonly value?: unknown
  readonly id?: string | undefined
}

export interface Start {
  readonly input?: unknown
  readonly runId?: string | undefined
  readonly thread?: string | undefined
  readonly onBusy?: "reject" | "queue" | "interrupt" | undefined
  readonly version?: number | string | undefined
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
    | "paused"
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

export interface Statistics {
  readonly workflow: string
  readonly from: string
  readonly to: string
  readonly runs: {
    readonly completed: number
    readonly failed: number
    readonly cancelled: number
    readonly limit: number
  }
  readonly successRate?: number | undefined
  readonly p50?: number | undefined
  readonly p95?: number | undefined
  readonly usage: { readonly [name: string]: number }
  readonly models: { readonly [name: string]: { readonly [name: string]: number } }
  readonly nodes: readonly {
    readonly id: string
    readonly tasks: number
    readonly failed: number
    readonly milliseconds: number
    readonly usage: { readonly [name: string]: number }
  }[]
  readonly last: readonly Run[]
  readonly behind: number
}

export interface Storage {
  readonly runs: { readonly [name: string]: number }
  readonly journal: { readonly count: number; readonly bytes: number }
  readonly snapshots: { readonly count: number; readonly bytes: number }
  readonly blobs: { readonly count: number; readonly bytes: number }
  readonly threads: { readonly count: number; readonly bytes: number }
  readonly workflows: readonly { readonly workflow: string; readonly runs: number; readonly bytes: number }[]
  readonly disk?: { readonly bytes: number; readonly free: number } | undefined
  readonly retention: {
    readonly keep?: number | undefined
    readonly maxAge?: number | undefined
    readonly eventMaxAge?: number | undefined
    readonly setAt?: number | undefined
    readonly setBy?: string | undefined
  }
  readonly consumers: readonly { readonly consumer: string; readonly lag: number }[]
}

export interface Thread {
  readonly id: string
  readonly version: number
  readonly state: { readonly [name: string]: unknown }
  readonly runs: readonly Run[]
}

export interface UiChatRequest {
  readonly id: string
  readonly messages: readonly {
    readonly role: "user" | "system" | "assistant"
    readonly parts: readonly { readonly type: string }[]
  }[]
}

export interface UsageGroup {
  readonly day?: string | undefined
  readonly workflow?: string | undefined
  readonly node?: string | undefined
  readonly model?: string | undefined
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  readonly runs?:
    | {
        readonly completed: number
        readonly failed: number
        readonly cancelled: number
        readonly limit: number
      }
    | undefined
  readonly usage: { readonly [name: string]: number }
}

export interface Validated {
  readonly valid: boolean
  readonly name?: string | undefined
  readonly dialect?: "steps" | "graph" | "agents" | undefined
  readonly diagnostics: readonly Diagnostic[]
  readonly graph?: DefinitionGraph | undefined
}

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: readonly (
    | "run.queued"
    | "run.started"
    | "run.paused"
    | "run.resumed"
    | "run.ended"
    | "run.quarantined"
    | "request.opened"
    | "request.closed"
  )[]
  readonly workflows?: readonly string[] | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly description?: string | undefined
  readonly enabled: boolean
  readonly tenant?: string | undefined
  readonly createdAt: number
  readonly createdBy: string
  readonly disabled?: { readonly at: number; readonly reason: string } | undefined
  readonly failingSince?: number | undefined
}

export interface WebhookChange {
  readonly url?: string | undefined
  readonly events?:
    | readonly (
        | "run.queued"
        | "run.started"
        | "run.paused"
        | "run.resumed"
        | "run.ended"
        | "run.quarantined"
        | "request.opened"
        | "request.closed"
      )[]
    | undefined
  readonly workflows?: readonly string[] | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly description?: string | undefined
  readonly enabled?: boolean | undefined
}

export interface WebhookOptions {
  readonly url: string
  readonly events: readonly (
    | "run.queued"
    | "run.started"
    | "run.paused"
    | "run.resumed"
    | "run.ended"
    | "run.quarantined"
    | "request.opened"
    | "request.closed"
  )[]
  readonly workflows?: readonly string[] | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly description?: string | undefined
  readonly enabled?: boolean | undefined
}

export interface Why {
  readonly run: string
  readonly task: number
  readonly node: string
  readonly seq?: number | undefined
  readonly error?: unknown
  readonly conditions?: readonly Condition[] | undefined
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
      readonly condition?: Condition | undefined
    }[]
  }[]
}

export interface Workflow {
  readonly name: string
  readonly nodes: readonly string[]
}

/** Every route of the API, by method and path. */
export interface Routes {
  /** A2A: the card of the only agent. */
  readonly "GET /.well-known/agent-card.json": { readonly responses: { readonly 200: undefined } }
  /** A2A: send messages to a workflow, and follow its tasks. */
  readonly "POST /a2a/{workflow}": {
    readonly path: { readonly workflow: string }
    readonly body: {
      readonly jsonrpc: "2.0"
      readonly id: number
      readonly method:
        | "ListTaskPushNotificationConfigs"
        | "GetTaskPushNotificationConfig"
        | "CreateTaskPushNotificationConfig"
        | "DeleteTaskPushNotificationConfig"
        | "SendMessage"
        | "SendStreamingMessage"
        | "GetTask"
        | "ListTasks"
        | "CancelTask"
        | "SubscribeToTask"
      readonly params: { readonly taskId?: unknown; readonly message?: unknown }
    }
    readonly responses: { readonly 200: undefined }
  }
  /** A2A: the card of a workflow. */
  readonly "GET /a2a/{workflow}/.well-known/agent-card.json": {
    readonly path: { readonly workflow: string }
    readonly responses: { readonly 200: undefined }
  }
  /** Call a hook. */
  readonly "POST /hooks/{hook}": {
    readonly path: { readonly hook: string }
    readonly responses: {
      readonly 200: { readonly challenge: string }
      readonly 202: { readonly accepted: boolean }
    }
  }
  /** Show the question of a link. */
  readonly "GET /links/{token}": {
    readonly path: { readonly token: string }
    readonly responses: { readonly 200: undefined }
  }
  /** Answer the question of a link. */
  readonly "POST /links/{token}": {
    readonly path: { readonly token: string }
    readonly responses: { readonly 200: undefined }
  }
  /** Model Context Protocol: messages of a session, up to revision 2025-11-25. */
  readonly "GET /mcp": { readonly responses: { readonly 200: undefined } }
  /** Model Context Protocol: call workflows as tools. */
  readonly "POST /mcp": {
    readonly body: {
      readonly jsonrpc: "2.0"
      readonly id: number
      readonly method: "tools/call" | "tools/list" | "ping"
      readonly params: { readonly name?: unknown; readonly arguments?: unknown }
    }
    readonly responses: { readonly 200: undefined; readonly 202: undefined }
  }
  /** Model Context Protocol: end a session, and cancel its calls. */
  readonly "DELETE /mcp": { readonly responses: { readonly 200: undefined } }
  /** Metrics of this process, in the text format of Prometheus. */
  readonly "GET /metrics": { readonly responses: { readonly 200: undefined } }
  /** List what was changed, by whom and when, the newest first. */
  readonly "GET /v1/audit": {
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly entries: readonly AuditEntry[]; readonly next?: string | undefined }
    }
  }
  /** OpenAI: let a workflow answer a conversation. */
  readonly "POST /v1/chat/completions": {
    readonly body: ChatCompletionRequest
    readonly responses: {
      readonly 200: {
        readonly id: string
        readonly object: string
        readonly created: number
        readonly model: string
      }
    }
  }
  /** What two runs did differently. */
  readonly "GET /v1/compare": {
    readonly query: { readonly a: string; readonly b: string }
    readonly responses: { readonly 200: Comparison }
  }
  /** List definitions: of the store, of files and of code. */
  readonly "GET /v1/definitions": {
    readonly responses: { readonly 200: { readonly definitions: readonly DefinitionSummary[] } }
  }
  /** Check the text of a definition. */
  readonly "POST /v1/definitions/validate": {
    readonly body: DefinitionText
    readonly responses: { readonly 200: Validated }
  }
  /** Show a definition: its text, its graph, and what was published. */
  readonly "GET /v1/definitions/{definition}": {
    readonly path: { readonly definition: string }
    readonly responses: { readonly 200: Definition }
  }
  /** Let an alias name a version. */
  readonly "PUT /v1/definitions/{definition}/aliases/{alias}": {
    readonly path: { readonly definition: string; readonly alias: string }
    readonly body: { readonly version: number | string }
    readonly responses: { readonly 200: DefinitionSummary }
  }
  /** Remove an alias. */
  readonly "DELETE /v1/definitions/{definition}/aliases/{alias}": {
    readonly path: { readonly definition: string; readonly alias: string }
    readonly responses: { readonly 200: DefinitionSummary }
  }
  /** What two versions differ in, as texts and as graphs. */
  readonly "GET /v1/definitions/{definition}/diff": {
    readonly path: { readonly definition: string }
    readonly query: { readonly from: number | string; readonly to: number | string }
    readonly responses: { readonly 200: DefinitionDiff }
  }
  /** Publish a version: new runs have it from now on. */
  readonly "POST /v1/definitions/{definition}/publish": {
    readonly path: { readonly definition: string }
    readonly body: Publish
    readonly responses: { readonly 200: Published }
  }
  /** Publish an earlier version again, at once. */
  readonly "POST /v1/definitions/{definition}/rollback": {
    readonly path: { readonly definition: string }
    readonly body?: Rollback
    readonly responses: { readonly 200: Published }
  }
  /** List the versions of a definition, the oldest first. */
  readonly "GET /v1/definitions/{definition}/versions": {
    readonly path: { readonly definition: string }
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly versions: readonly DefinitionVersion[]; readonly next?: string | undefined }
    }
  }
  /** Add a version, as a draft. */
  readonly "POST /v1/definitions/{definition}/versions": {
    readonly path: { readonly definition: string }
    readonly body: Draft
    readonly responses: { readonly 200: DefinitionVersion; readonly 201: DefinitionVersion }
  }
  /** Show a version: its text, its problems and its graph. */
  readonly "GET /v1/definitions/{definition}/versions/{version}": {
    readonly path: { readonly definition: string; readonly version: number | string }
    readonly responses: { readonly 200: DefinitionVersionText }
  }
  /** List hooks. */
  readonly "GET /v1/hooks": {
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly hooks: readonly Hook[]; readonly next?: string | undefined }
    }
  }
  /** Create a hook: an address at which a service starts runs. */
  readonly "POST /v1/hooks": { readonly body: HookOptions; readonly responses: { readonly 201: NewHook } }
  /** Show a hook. */
  readonly "GET /v1/hooks/{hook}": {
    readonly path: { readonly hook: string }
    readonly responses: { readonly 200: Hook }
  }
  /** Change a hook. */
  readonly "PATCH /v1/hooks/{hook}": {
    readonly path: { readonly hook: string }
    readonly body: HookChange
    readonly responses: { readonly 200: Hook }
  }
  /** Delete a hook. */
  readonly "DELETE /v1/hooks/{hook}": {
    readonly path: { readonly hook: string }
    readonly responses: { readonly 204: undefined }
  }
  /** List document indexes. */
  readonly "GET /v1/indexes": { readonly responses: { readonly 200: { readonly indexes: readonly Index[] } } }
  /** Show an index, and its documents by source. */
  readonly "GET /v1/indexes/{index}": {
    readonly path: { readonly index: string }
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: { readonly 200: IndexDocuments }
  }
  /** Add texts to an index, or replace those with the same source. */
  readonly "POST /v1/indexes/{index}/documents": {
    readonly path: { readonly index: string }
    readonly body: AddDocuments
    readonly responses: {
      readonly 200: {
        readonly added: number
        readonly changed: number
        readonly unchanged: number
        readonly chunks: number
        readonly problems: readonly { readonly source: string; readonly reason: string }[]
      }
    }
  }
  /** Remove a document from an index. */
  readonly "DELETE /v1/indexes/{index}/documents": {
    readonly path: { readonly index: string }
    readonly query: { readonly source: string }
    readonly responses: { readonly 200: { readonly removed: number } }
  }
  /** Search an index, and see the chunks with their scores. */
  readonly "POST /v1/indexes/{index}/search": {
    readonly path: { readonly index: string }
    readonly body: IndexSearch
    readonly responses: {
      readonly 200: { readonly found: readonly FoundChunk[]; readonly milliseconds: number }
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
  /** Change the budget of an API key, pause it, or resume it. */
  readonly "PATCH /v1/keys/{key}": {
    readonly path: { readonly key: string }
    readonly body: KeyChange
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
  /** Who you are to this server. */
  readonly "GET /v1/me": { readonly responses: { readonly 200: Me } }
  /** OpenAI: list the workflows as models. */
  readonly "GET /v1/models": {
    readonly responses: { readonly 200: { readonly object: "list"; readonly data: readonly Model[] } }
  }
  /** OpenAI: show a workflow as a model. */
  readonly "GET /v1/models/{model}": {
    readonly path: { readonly model: string }
    readonly responses: { readonly 200: Model }
  }
  /** Replay recorded runs against a workflow of this server, or against text that is not stored. */
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
  /** OpenAI: create a response of a workflow. */
  readonly "POST /v1/responses": {
    readonly body: ResponseRequest
    readonly responses: { readonly 200: Response }
  }
  /** OpenAI: show or follow a response. */
  readonly "GET /v1/responses/{response}": {
    readonly path: { readonly response: string }
    readonly query?: {
      readonly stream?: "true" | "false" | undefined
      readonly starting_after?: number | null | undefined
    }
    readonly responses: { readonly 200: Response }
  }
  /** OpenAI: cancel a response. */
  readonly "POST /v1/responses/{response}/cancel": {
    readonly path: { readonly response: string }
    readonly responses: { readonly 200: Response }
  }
  /** List runs, newest first. */
  readonly "GET /v1/runs": {
    readonly query?: {
      readonly workflow?: string | undefined
      readonly status?: string | undefined
      readonly thread?: string | undefined
      readonly key?: string | undefined
      readonly label?: string | readonly string[] | undefined
      readonly version?: string | undefined
      readonly text?: string | undefined
      readonly since?: number | null | undefined
      readonly until?: number | null | undefined
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    readonly responses: {
      readonly 200: { readonly runs: readonly Run[]; readonly next?: string | undefined }
    }
  }
  /** Cancel, pause, resume, retry, rerun or delete the runs that a filter finds. */
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
  /** A page of a run's events. */
  readonly "GET /v1/runs/{run}/events/page": {
    readonly path: { readonly run: string }
    readonly query?: {
      readonly after?: number | null | undefined
      readonly before?: number | null | undefined
      readonly limit?: number | undefined
      readonly types?: string | undefined
      readonly text?: string | undefined
      readonly task?: string | undefined
      readonly path?: string | readonly string[] | undefined
    }
    readonly responses: { readonly 200: EventPage }
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
  /** The graph of a run. */
  readonly "GET /v1/runs/{run}/graph": {
    readonly path: { readonly run: string }
    readonly responses: { readonly 200: Graph }
  }
  /** What a fork from a point would do again. */
  readonly "GET /v1/runs/{run}/ledger": {
    readonly path: { readonly run: string }
    readonly query: { readonly at: string }
    readonly responses: { readonly 200: Ledger }
  }
  /** Pause a run. */
  readonly "POST /v1/runs/{run}/pause": {
    readonly path: { readonly run: string }
    readonly body?: { readonly reason?: string | undefined }
    readonly responses: {
      readonly 200: Run
      readonly 202: Omit<Run, "status"> & { readonly status?: "pausing" | undefined }
    }
  }
  /** Where a channel of the state or an output comes from. */
  readonly "GET /v1/runs/{run}/provenance": {
    readonly path: { readonly run: string }
    readonly query?: {
      readonly channel?: string | undefined
      readonly output?: number | null | undefined
      readonly at?: string | undefined
      readonly path?: string | readonly string[] | undefined
    }
    readonly responses: { readonly 200: Provenance }
  }
  /** Answer a question. */
  readonly "POST /v1/runs/{run}/requests/{request}/answer": {
    readonly path: { readonly run: string; readonly request: string }
    readonly body: { readonly value?: unknown; readonly by?: string | undefined }
    readonly responses: { readonly 200: { readonly delivery: "taken" | "stored" } }
  }
  /** Pass a question on to somebody else. */
  readonly "POST /v1/runs/{run}/requests/{request}/escalate": {
    readonly path: { readonly run: string; readonly request: string }
    readonly body: { readonly to: string; readonly note?: string | undefined }
    readonly responses: { readonly 200: { readonly delivery: "taken" | "stored" } }
  }
  /** List the links of a question. */
  readonly "GET /v1/runs/{run}/requests/{request}/links": {
    readonly path: { readonly run: string; readonly request: string }
    readonly responses: { readonly 200: { readonly links: readonly Link[] } }
  }
  /** Create a link that answers a question without a login. */
  readonly "POST /v1/runs/{run}/requests/{request}/links": {
    readonly path: { readonly run: string; readonly request: string }
    readonly body?: LinkOptions
    readonly responses: { readonly 201: NewLink }
  }
  /** Revoke a link. */
  readonly "DELETE /v1/runs/{run}/requests/{request}/links/{link}": {
    readonly path: { readonly run: string; readonly request: string; readonly link: string }
    readonly responses: { readonly 204: undefined }
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
  /** Resume a paused run. */
  readonly "POST /v1/runs/{run}/resume": {
    readonly path: { readonly run: string }
    readonly body?: { readonly [name: string]: unknown }
    readonly responses: {
      readonly 200: Run
      readonly 202: Omit<Run, "status"> & { readonly status?: "resuming" | undefined }
    }
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
  /** A run at one of its events. */
  readonly "GET /v1/runs/{run}/view": {
    readonly path: { readonly run: string }
    readonly query?: {
      readonly at?: number | null | undefined
      readonly outline?: "true" | "false" | undefined
    }
    readonly responses: { readonly 200: RunAtEvent }
  }
  /** Why the messages of a task went where they went. */
  readonly "GET /v1/runs/{run}/why": {
    readonly path: { readonly run: string }
    readonly query: { readonly task: string; readonly path?: string | readonly string[] | undefined }
    readonly responses: { readonly 200: Why }
  }
  /** List schedules by id, with their next times. */
  readonly "GET /v1/schedules": {
    readonly query?: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly workflow?: string | undefined
      readonly next?: number | null | undefined
    }
    readonly responses: {
      readonly 200: { readonly schedules: readonly Schedule[]; readonly next?: string | undefined }
    }
  }
  /** The next times of a schedule that is not stored. */
  readonly "POST /v1/schedules/preview": {
    readonly body: SchedulePreview
    readonly responses: {
      readonly 200: { readonly times: readonly { readonly plannedAt: number; readonly startsAt: number }[] }
    }
  }
  /** Show a schedule. */
  readonly "GET /v1/schedules/{schedule}": {
    readonly path: { readonly schedule: string }
    readonly query?: { readonly next?: number | null | undefined }
    readonly responses: { readonly 200: Schedule }
  }
  /** Create or change a schedule. */
  readonly "PUT /v1/schedules/{schedule}": {
    readonly path: { readonly schedule: string }
    readonly body: ScheduleOptions
    readonly responses: { readonly 200: Schedule }
  }
  /** Delete a schedule; its runs stay. */
  readonly "DELETE /v1/schedules/{schedule}": {
    readonly path: { readonly schedule: string }
    readonly responses: { readonly 204: undefined }
  }
  /** Ask for a run of each past time in a range. */
  readonly "POST /v1/schedules/{schedule}/backfill": {
    readonly path: { readonly schedule: string }
    readonly body: Backfill
    readonly responses: { readonly 202: { readonly times: readonly number[] } }
  }
  /** Pause a schedule: it fires nothing until it is resumed. */
  readonly "POST /v1/schedules/{schedule}/pause": {
    readonly path: { readonly schedule: string }
    readonly responses: { readonly 200: Schedule }
  }
  /** Resume a schedule: times that passed meanwhile are not made up for. */
  readonly "POST /v1/schedules/{schedule}/resume": {
    readonly path: { readonly schedule: string }
    readonly responses: { readonly 200: Schedule }
  }
  /** Ask for a run now, besides the times of the schedule. */
  readonly "POST /v1/schedules/{schedule}/trigger": {
    readonly path: { readonly schedule: string }
    readonly responses: { readonly 202: { readonly run: string } }
  }
  /** The JSON Schema of definitions in one dialect, for editors. */
  readonly "GET /v1/schemas/{dialect}": {
    readonly path: { readonly dialect: "steps" | "graph" }
    readonly responses: { readonly 200: { readonly [name: string]: unknown } }
  }
  /** What the store holds: counts and sizes, and the policy of retention. */
  readonly "GET /v1/storage": { readonly responses: { readonly 200: Storage } }
  /** Delete finished runs that are old, or all but the newest. */
  readonly "POST /v1/storage/prune": {
    readonly body: Prune
    readonly responses: {
      readonly 200: { readonly count: number; readonly bytes: number; readonly dryRun: boolean }
    }
  }
  /** Store a policy of retention. */
  readonly "PUT /v1/storage/retention": {
    readonly body: RetentionPolicy
    readonly responses: { readonly 200: RetentionPolicy }
  }
  /** Remove the stored policy of retention: each server and worker has its own again. */
  readonly "DELETE /v1/storage/retention": { readonly responses: { readonly 204: undefined } }
  /** List threads that have state or a run in flight, by id. */
  readonly "GET /v1/threads": {
    readonly query?: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly prefix?: string | undefined
    }
    readonly responses: {
      readonly 200: { readonly threads: readonly ListedThread[]; readonly next?: string | undefined }
    }
  }
  /** Show the state of a thread, and its newest runs. */
  readonly "GET /v1/threads/{thread}": {
    readonly path: { readonly thread: string }
    readonly responses: { readonly 200: Thread }
  }
  /** Delete the state of a thread; its runs stay. */
  readonly "DELETE /v1/threads/{thread}": {
    readonly path: { readonly thread: string }
    readonly responses: { readonly 204: undefined }
  }
  /** What runs used and cost, by day, workflow, model and key. */
  readonly "GET /v1/usage": {
    readonly query?: {
      readonly group?: string | undefined
      readonly from?: string | undefined
      readonly to?: string | undefined
      readonly workflow?: string | undefined
      readonly model?: string | undefined
      readonly key?: string | undefined
    }
    readonly responses: {
      readonly 200: {
        readonly from: string
        readonly to: string
        readonly groups: readonly UsageGroup[]
        readonly total: UsageGroup
        readonly inFlight: {
          readonly queued: number
          readonly running: number
          readonly waiting: number
          readonly paused: number
        }
        readonly behind: number
      }
    }
  }
  /** What runs have used so far, and the nodes that they are at. */
  readonly "GET /v1/usage/runs": {
    readonly query: { readonly run: string | readonly string[] }
    readonly responses: { readonly 200: { readonly runs: readonly RunUsage[] } }
  }
  /** List webhooks. */
  readonly "GET /v1/webhooks": {
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly webhooks: readonly Webhook[]; readonly next?: string | undefined }
    }
  }
  /** Create a webhook. */
  readonly "POST /v1/webhooks": {
    readonly body: WebhookOptions
    readonly responses: { readonly 201: NewWebhook }
  }
  /** Show a webhook. */
  readonly "GET /v1/webhooks/{webhook}": {
    readonly path: { readonly webhook: string }
    readonly responses: { readonly 200: Webhook }
  }
  /** Change a webhook. */
  readonly "PATCH /v1/webhooks/{webhook}": {
    readonly path: { readonly webhook: string }
    readonly body: WebhookChange
    readonly responses: { readonly 200: Webhook }
  }
  /** Delete a webhook. */
  readonly "DELETE /v1/webhooks/{webhook}": {
    readonly path: { readonly webhook: string }
    readonly responses: { readonly 204: undefined }
  }
  /** List the deliveries of a webhook, newest first. */
  readonly "GET /v1/webhooks/{webhook}/deliveries": {
    readonly path: { readonly webhook: string }
    readonly query?: { readonly cursor?: string | undefined; readonly limit?: number | undefined }
    readonly responses: {
      readonly 200: { readonly deliveries: readonly Delivery[]; readonly next?: string | undefined }
    }
  }
  /** Show a delivery: what was sent, and each attempt. */
  readonly "GET /v1/webhooks/{webhook}/deliveries/{delivery}": {
    readonly path: { readonly webhook: string; readonly delivery: string }
    readonly responses: { readonly 200: DeliveryDetails }
  }
  /** Send the same message again. */
  readonly "POST /v1/webhooks/{webhook}/deliveries/{delivery}/redeliver": {
    readonly path: { readonly webhook: string; readonly delivery: string }
    readonly responses: { readonly 202: Delivery }
  }
  /** Send a test event of the type ping. */
  readonly "POST /v1/webhooks/{webhook}/ping": {
    readonly path: { readonly webhook: string }
    readonly responses: { readonly 202: Delivery }
  }
  /** Replace the secret of a webhook. */
  readonly "POST /v1/webhooks/{webhook}/rotate": {
    readonly path: { readonly webhook: string }
    readonly body?: { readonly overlap?: number | undefined }
    readonly responses: { readonly 200: NewWebhook }
  }
  /** List the workflows of this server. */
  readonly "GET /v1/workflows": {
    readonly responses: { readonly 200: { readonly workflows: readonly Workflow[] } }
  }
  /** AG-UI: run a workflow as an agent. */
  readonly "POST /v1/workflows/{workflow}/ag-ui": {
    readonly path: { readonly workflow: string }
    readonly body: AgUiRun
    readonly responses: { readonly 200: undefined }
  }
  /** AI SDK: let a workflow answer a chat. */
  readonly "POST /v1/workflows/{workflow}/chat": {
    readonly path: { readonly workflow: string }
    readonly body: UiChatRequest
    readonly responses: { readonly 200: undefined }
  }
  /** AI SDK: join the last message of a chat again. */
  readonly "GET /v1/workflows/{workflow}/chat/{chat}/stream": {
    readonly path: { readonly workflow: string; readonly chat: string }
    readonly responses: { readonly 200: undefined; readonly 204: undefined }
  }
  /** The graph of a workflow. */
  readonly "GET /v1/workflows/{workflow}/graph": {
    readonly path: { readonly workflow: string }
    readonly responses: { readonly 200: Graph }
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
  /** How the runs of a workflow did: success, durations, cost, nodes. */
  readonly "GET /v1/workflows/{workflow}/statistics": {
    readonly path: { readonly workflow: string }
    readonly query?: { readonly days?: number | undefined }
    readonly responses: { readonly 200: Statistics }
  }
}
