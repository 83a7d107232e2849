/** When workflows are run by themselves: options, and what is to be done when. `internal.ts` computes times. */
export {
  changedState,
  type Demand,
  dueAt,
  firesAt,
  isSame,
  keyOf,
  newState,
  nextStep,
  restarted,
  type ScheduleFire,
  type ScheduleState,
  type ScheduleStep,
} from "./schedule.ts"
export {
  CATCH_UPS,
  MAX_CATCH_UP,
  MAX_JITTER,
  MIN_EVERY,
  OVERLAPS,
  SCHEDULE_LABEL,
  type ScheduleSpec,
  type ScheduleTiming,
  scheduleInvalid,
  scheduleSpec,
  TIME_LABEL,
} from "./spec.ts"
