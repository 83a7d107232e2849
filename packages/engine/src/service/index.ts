/** Many runs on one store: recovery, unloading of waiting runs, the inbox, retention. */
export type { Subscription, SubscriptionOptions } from "./consumers.ts"
export type { Enqueued, EnqueueOptions } from "./enqueue.ts"
export type { GraphConflict } from "./graph-check.ts"
export type { Recovery, Retention, RuntimeOptions, RuntimeProblem, RuntimeRun } from "./options.ts"
export { type RunTarget, Runtime, type StartOptions } from "./runtime.ts"
export type { ScheduleInfo, ScheduleOptionsFor, Schedules, ScheduleTime } from "./schedules/schedules.ts"
export type { EventDelivery, EventHandler, EventOf } from "./served-consumer.ts"
