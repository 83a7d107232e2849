/** The goal pipeline: from a question over one's own data to a reviewed answer. */
export type { GoalBackends } from "./goal-backends.ts"
export type { GoalAgent, GoalConfig, GoalSearch, SqlSearch } from "./goal-config.ts"
export type { DatabaseSettings, GraphSettings, IndexSettings } from "./goal-shape.ts"
export {
  type GoalWorkflow,
  type GraphGoalConfig,
  goalWorkflow,
  graphWorkflow,
  runGoal,
  runGraphWorkflow,
} from "./graph-workflow.ts"
export {
  type GoalFile,
  isGoalConfig,
  type LoadedGoal,
  type LoadGoalOptions,
  loadGoalConfig,
} from "./load-goal-config.ts"
export { runSequentialGoal, sequentialGoal } from "./sequential-goal.ts"
