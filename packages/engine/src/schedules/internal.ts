/** Times of schedules, which need the cron library: loaded where they are used. */
export { type PlannedTimes, plannedTimes } from "./times.ts"
