/** What a machine asks of its driver. Effects of one entry are carried out in order, once the entry is durable (M2). */
import type { WaitOutcome } from "./entries.ts"
import type { FinalStatus, MachineEvent, OpenRequest } from "./events.ts"
import type { RequestId, TimerId } from "./ids.ts"
import type { Json } from "./json.ts"
import type { Task } from "./state.ts"

export type Effect =
  /** Run the task's handler. */
  | { readonly type: "start"; readonly task: Task }
  /** Give a waiting handler what it waited for. */
  | { readonly type: "resume"; readonly task: Task; readonly key: string; readonly outcome: WaitOutcome }
  /** Stop the handler: its result no longer counts. */
  | { readonly type: "abort"; readonly task: Task; readonly reason: string }
  | { readonly type: "timer"; readonly timer: TimerId; readonly at: number }
  | { readonly type: "clear-timer"; readonly timer: TimerId }
  /** Reduce writes with a function that the runtime holds, and apply `state.reduced` before anything else. */
  | {
      readonly type: "reduce"
      readonly key: string
      readonly reducer: string
      readonly current: Json | undefined
      readonly writes: readonly Json[]
    }
  /** A question is there, or has gone on to somebody else. To be known with the entry. */
  | { readonly type: "request"; readonly request: OpenRequest }
  | {
      readonly type: "request-closed"
      readonly request: RequestId
      readonly outcome: "answered" | "expired" | "withdrawn"
      readonly by?: string | undefined
    }
  | { readonly type: "emit"; readonly event: MachineEvent }
  | { readonly type: "finish"; readonly status: FinalStatus }
