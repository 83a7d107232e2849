/** Many runs on one store: recovery, unloading of waiting runs, the inbox, retention. */

export type { Rest, RuntimeWorker } from "./activations.ts"
export type { Enqueued, EnqueueOptions } from "./enqueue.ts"
export { INTERNAL_QUEUE, isInternal, ownRuns } from "./internal-runs.ts"
export type { RunObserver } from "./observed-runs.ts"
export type {
  GraphConflict,
  Recovery,
  Retention,
  RuntimeOptions,
  RuntimeProblem,
  RuntimeRun,
} from "./options.ts"
export type { WorkflowSource } from "./programs.ts"
export { prunable } from "./prunable.ts"
export { type RunTarget, Runtime, type StartOptions } from "./runtime.ts"
export type { ScheduleInfo, ScheduleOptionsFor, Schedules, ScheduleTime } from "./schedules/schedules.ts"
export type {
  EventDelivery,
  EventHandler,
  EventOf,
  Subscription,
  SubscriptionOptions,
} from "./served-consumer.ts"
export { type StoredRetention, storedRetention, storeRetention } from "./stored-retention.ts"
