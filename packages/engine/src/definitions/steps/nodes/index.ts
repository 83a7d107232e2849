/** The functions that create the nodes of a steps workflow. Plans call them, and ejected code imports them. */
export {
  type BoxStepOptions,
  boxEnd,
  boxStep,
  type MapStartOptions,
  mapEnd,
  mapStart,
  parallelEnd,
  parallelStart,
  passStep,
  stepsEnd,
} from "./block-steps.ts"
export { type LayoutEntry, type StepList, type StepListOptions, stepList } from "./step-list.ts"
export {
  type StepLoopOptions,
  type StepNodeOptions,
  type StepToken,
  stepFlowKey,
  stepsText,
} from "./step-node.ts"
export { type MapItem, type StepRecord, type StepsInput, stepsState } from "./view.ts"
export {
  type AgentStepOptions,
  agentStep,
  type ConditionStepOptions,
  conditionStep,
  type FunctionStepOptions,
  functionStep,
  type HumanStepOptions,
  holds,
  humanStep,
  type ToolStepOptions,
  teamEnds,
  toolStep,
  type WaitStepOptions,
  type WorkflowStepOptions,
  waitStep,
  workflowStep,
} from "./work-steps.ts"
