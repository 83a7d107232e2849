/** The events of a run. Written by `npm run client:types` from the schemas of the protocol. Do not edit. */

export interface ErrorData {
  readonly code: string
  readonly message: string
  readonly name?: string | undefined
  readonly node?: string | undefined
  readonly attempt?: number | undefined
  readonly cause?: ErrorData | undefined
  readonly retryable?: boolean | undefined
  readonly fatal?: boolean | undefined
  readonly limit?: boolean | undefined
}

export interface EventBase {
  readonly runId: string
  readonly seq: number
  readonly at: number
  readonly path: readonly string[]
}

/** An event of a run, as docs/events.md describes it. */
export type RunEvent =
  | (EventBase & {
      readonly type: "run.started"
      readonly workflow: string
      readonly input: unknown
      readonly state?: { readonly [name: string]: unknown } | undefined
    })
  | (EventBase & {
      readonly type: "run.forked"
      readonly from: { readonly runId: string; readonly seq: number }
      readonly later: number
      readonly state?: { readonly [name: string]: unknown } | undefined
      readonly agents?:
        | {
            readonly [name: string]: {
              readonly instructions?: string | undefined
              readonly model?: string | undefined
              readonly settings?: { readonly [name: string]: unknown } | undefined
            }
          }
        | undefined
    })
  | (EventBase & { readonly type: "run.waiting" })
  | (EventBase & { readonly type: "run.resumed"; readonly by?: string | undefined })
  | (EventBase & {
      readonly type: "run.paused"
      readonly reason?: string | undefined
      readonly by?: string | undefined
    })
  | (EventBase & {
      readonly type: "run.finished"
      readonly status: "completed" | "failed" | "cancelled" | "limit"
      readonly error?: ErrorData | undefined
    })
  | (EventBase & {
      readonly type: "limit.reached"
      readonly error: ErrorData
      readonly goesTo?: string | undefined
    })
  | (EventBase & { readonly type: "superstep.started"; readonly superstep: number; readonly tasks: number })
  | (EventBase & { readonly type: "superstep.committed"; readonly superstep: number })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "task.started"
      readonly attempt: number
      readonly superstep: number
      readonly input: unknown
      readonly from?: string | undefined
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "task.finished"
      readonly sends: readonly {
        readonly value: unknown
        readonly route: {
          readonly nodes?: readonly string[] | undefined
          readonly joins?: readonly string[] | undefined
          readonly maps?: readonly string[] | undefined
          readonly output?: boolean | undefined
          readonly result?: boolean | undefined
          readonly failed?: boolean | undefined
          readonly reason?: string | undefined
        }
      }[]
      readonly settled?: ErrorData | undefined
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "task.failed"
      readonly attempt: number
      readonly error: ErrorData
      readonly retryAt?: number | undefined
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "task.parked"
      readonly wait:
        | { readonly kind: "request"; readonly request: string }
        | { readonly kind: "timer"; readonly until: number }
        | { readonly kind: "call"; readonly workflow: string; readonly number?: number | undefined }
        | {
            readonly kind: "signal"
            readonly name: string
            readonly order: number
            readonly schema?: unknown
            readonly deadline?: number | undefined
            readonly default?: unknown
          }
    })
  | (EventBase & { readonly task: number; readonly node: string; readonly type: "task.resumed" })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "task.rejected"
      readonly reason: string
    })
  | (EventBase & { readonly task: number; readonly node: string; readonly type: "task.cancelled" })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "step.recorded"
      readonly key: string
      readonly value: unknown
      readonly details?: unknown
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "usage.recorded"
      readonly usage: {
        readonly inputTokens?: number | undefined
        readonly outputTokens?: number | undefined
        readonly cachedInputTokens?: number | undefined
        readonly cacheWriteTokens?: number | undefined
        readonly reasoningTokens?: number | undefined
        readonly modelCalls?: number | undefined
        readonly toolCalls?: number | undefined
        readonly iterations?: number | undefined
        readonly usd?: number | undefined
        readonly unpricedCalls?: number | undefined
        readonly estimatedCalls?: number | undefined
      }
      readonly source?:
        | { readonly agent?: string | undefined; readonly model?: string | undefined }
        | undefined
    })
  | (EventBase & {
      readonly type: "message.undelivered"
      readonly from?: string | undefined
      readonly to?: string | undefined
      readonly reason: string
      readonly value: unknown
    })
  | (EventBase & {
      readonly type: "join.waiting"
      readonly join: string
      readonly node: string
      readonly missing: readonly string[]
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "state.written"
      readonly key: string
      readonly reducer: string
      readonly value: unknown
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "output"
      readonly value: unknown
    })
  | (EventBase & {
      readonly type: "request.opened"
      readonly request: {
        readonly id: string
        readonly node: string
        readonly task: number
        readonly prompt: string
        readonly to?: string | undefined
        readonly data?: unknown
        readonly schema?: unknown
        readonly openedAt: number
        readonly deadline?: number | undefined
        readonly escalate?:
          | readonly { readonly to: string; readonly timeout?: number | undefined }[]
          | undefined
        readonly default?: unknown
        readonly note?: string | undefined
        readonly escalatedBy?: string | undefined
      }
    })
  | (EventBase & {
      readonly type: "request.escalated"
      readonly request: {
        readonly id: string
        readonly node: string
        readonly task: number
        readonly prompt: string
        readonly to?: string | undefined
        readonly data?: unknown
        readonly schema?: unknown
        readonly openedAt: number
        readonly deadline?: number | undefined
        readonly escalate?:
          | readonly { readonly to: string; readonly timeout?: number | undefined }[]
          | undefined
        readonly default?: unknown
        readonly note?: string | undefined
        readonly escalatedBy?: string | undefined
      }
    })
  | (EventBase & {
      readonly type: "request.answered"
      readonly request: string
      readonly value: unknown
      readonly by?: string | undefined
    })
  | (EventBase & {
      readonly type: "request.closed"
      readonly request: string
      readonly reason: "expired" | "withdrawn"
    })
  | (EventBase & {
      readonly type: "signal.received"
      readonly id: string
      readonly name: string
      readonly value: unknown
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "signal.taken"
      readonly id: string
      readonly name: string
    })
  | (EventBase & { readonly type: "signal.replied"; readonly id: string; readonly value: unknown })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "model.delta"
      readonly call: string
      readonly kind: "text" | "reasoning" | "tool"
      readonly text: string
      readonly offset: number
      readonly agent?: string | undefined
      readonly tool?: { readonly id: string; readonly name: string } | undefined
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "output.partial"
      readonly call: string
      readonly value: unknown
      readonly agent?: string | undefined
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "tool.progress"
      readonly tool: { readonly id: string; readonly name: string }
      readonly data?: unknown
      readonly agent?: string | undefined
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "custom"
      readonly name: string
      readonly data?: unknown
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "log"
      readonly level: "debug" | "info" | "warn" | "error"
      readonly message: string
      readonly data?: unknown
    })
  | (EventBase & {
      readonly task: number
      readonly node: string
      readonly type: "slot.waiting"
      readonly pool: string
      readonly lanes: readonly string[]
    })
  | (EventBase & { readonly type: "live.gap"; readonly lost?: number | undefined })
