/** What a process of a crash test is told to do, and what it says. */
import type { Outcome, ScenarioName } from "./scenarios/index.ts"

export interface Target {
  readonly scenario: ScenarioName
  readonly runId: string
}

/** Where a process is killed: around its n-th write to the store, or in the n-th call of user code. */
export type Kill = { readonly write: number; readonly moment: "before" | "after" } | { readonly call: number }

export interface Job {
  readonly path: string
  /** First it brings this run to its end, whatever other processes left of it. */
  readonly finish?: Target | undefined
  /** Then it starts this one, or goes on with it, until it is killed. */
  readonly work?: (Target & { readonly kill?: Kill | undefined }) | undefined
}

/** A line of what it says. */
export type Said =
  | { readonly type: "finished"; readonly outcome: Outcome; readonly problem?: string | undefined }
  | { readonly type: "working" }
  | { readonly type: "survived"; readonly outcome: Outcome; readonly problem?: string | undefined }
  | { readonly type: "dies"; readonly where: string }
  /** Something ran although its end was on record. */
  | { readonly type: "again"; readonly what: string }
