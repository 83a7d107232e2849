/** The limits of the workers in rate-worker.ts. */
import type { LaneRate } from "superstep"

export const TENANTS = ["a", "b", "c"] as const

/** Of the workflow and of its node: how often their runs and tasks start, in all and for each tenant. */
export const RATES = {
  runs: { all: { every: 25, burst: 6 }, tenant: { every: 60, burst: 2 } },
  tasks: { all: { every: 30, burst: 4 }, tenant: { every: 80, burst: 3 } },
} as const satisfies Record<string, Record<string, LaneRate>>

/** Milliseconds in which at most one run of a tenant is created by the throttled workflow. */
export const PERIOD = 200
