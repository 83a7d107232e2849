/** Test tools for workflows: a manual clock, controlled nodes, a simulator with faults, a crash test, a suite for stores. */
export { type Controlled, type ControlledOptions, type ControlledTask, controlled } from "./controlled.ts"
export { type ManualClock, manualClock, settled } from "./manual-clock.ts"
export { expectReplay, foldJournal } from "./recorded-run.ts"
export type { ComparedOptions, EffectCounter, Effects, Repetition } from "./simulation/compared-days.ts"
export {
  type CrashProgress,
  type CrashReport,
  type CrashTestOptions,
  crashTest,
  type Exploration,
  type ExploreOptions,
  explore,
} from "./simulation/explore.ts"
export type {
  CrashPoint,
  Execution,
  Faults,
  SimulatedSignal,
  SimulateOptions,
  Simulation,
  WorkflowSource,
} from "./simulation/simulate-options.ts"
export { simulate } from "./simulation/simulation.ts"
export type { Interruption } from "./store-suite/atomic.ts"
export { type RegistrySuiteOptions, registrySuite } from "./store-suite/registry-suite.ts"
export { type StoreCase, type StoreSuiteOptions, storeSuite } from "./store-suite/store-suite.ts"
