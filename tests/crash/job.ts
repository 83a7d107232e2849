/** The job of a process in a crash test, and the messages it reports. */
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
  /** Then it starts or resumes this one, until it is killed. */
  readonly work?: (Target & { readonly kill?: Kill | undefined }) | undefined
}

/** A message, one per line. */
export type ChildMessage =
  | { readonly type: "finished"; readonly outcome: Outcome; readonly problem?: string | undefined }
  | { readonly type: "working" }
  | { readonly type: "survived"; readonly outcome: Outcome; readonly problem?: string | undefined }
  | { readonly type: "dies"; readonly where: string }
  /** Something ran although its end was recorded. */
  | { readonly type: "again"; readonly what: string }
