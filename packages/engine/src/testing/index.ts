/** For tests of workflows: a clock to drive, nodes to drive, a simulator with faults, a crash test, a suite for stores. */
export { type Controlled, type ControlledOptions, type ControlledTask, controlled } from "./controlled.ts"
export {
  type CrashProgress,
  type CrashReport,
  type CrashTestOptions,
  crashTest,
} from "./crash-test.ts"
export type { Execution } from "./driven-program.ts"
export { expectReplay } from "./expect-replay.ts"
export { type Exploration, type ExploreOptions, explore } from "./explore.ts"
export { foldJournal } from "./fold-journal.ts"
export { type ManualClock, manualClock } from "./manual-clock.ts"
export { type RegistrySuiteOptions, registrySuite } from "./registry-suite.ts"
export { settled } from "./settled.ts"
export { type CrashPoint, type Faults, type SimulateOptions, type Simulation, simulate } from "./simulate.ts"
export { type StoreCase, type StoreSuiteOptions, storeSuite } from "./store-suite.ts"
