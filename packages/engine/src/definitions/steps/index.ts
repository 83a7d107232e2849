/** The steps dialect: its files as plans, and the functions that make its nodes. */
import { settle } from "../../builder/index.ts"
import {
  autoResearch,
  deepResearch,
  documentsTool,
  iterativeResearch,
  pageTool,
  webSearchTool,
} from "../../patterns/research/index.ts"
import { concurrent, groupChat, handoff, magentic, sequential } from "../../patterns/teams/index.ts"
import { pageReader, webSearch } from "../../tools/index.ts"
import { functionsFrom, type PlanFunctions } from "../plan/index.ts"
import { agentStep } from "./agent-step.ts"
import { mapEnd, mapStart, parallelEnd, parallelStart, passStep, stepsEnd } from "./block-steps.ts"
import { boxEnd, boxStep } from "./box-step.ts"
import { conditionStep, holds } from "./condition-step.ts"
import { humanStep } from "./human-step.ts"
import { stepsState } from "./records.ts"
import { stepList } from "./step-list.ts"
import { stepsText } from "./steps-text.ts"
import { teamEnds } from "./team-ends.ts"
import { toolStep } from "./tool-step.ts"
import { workflowStep } from "./workflow-step.ts"

export { type AgentStepOptions, agentStep } from "./agent-step.ts"
export type { LoopOptions, Token } from "./arrival.ts"
export {
  type MapStartOptions,
  mapEnd,
  mapStart,
  parallelEnd,
  parallelStart,
  passStep,
  stepsEnd,
} from "./block-steps.ts"
export { type BoxStepOptions, boxEnd, boxStep } from "./box-step.ts"
export { type ConditionStepOptions, conditionStep, holds } from "./condition-step.ts"
export { type HumanStepOptions, humanStep } from "./human-step.ts"
export type { LayoutEntry } from "./layout.ts"
export { planSteps } from "./plan-steps.ts"
export { type Item, type StepRecord, type StepsInput, stepsState } from "./records.ts"
export { type StepContext, type StepOutput, stepContext } from "./step-context.ts"
export { type StepList, type StepListOptions, stepList } from "./step-list.ts"
export type { StepNode, StepOptions } from "./step-node.ts"
export { stepsShape } from "./step-shape.ts"
export { stepsText } from "./steps-text.ts"
export { teamEnds } from "./team-ends.ts"
export { type ToolStepOptions, toolStep } from "./tool-step.ts"
export { type WorkflowStepOptions, workflowStep } from "./workflow-step.ts"

export const stepsFunctions: PlanFunctions = {
  ...functionsFrom("superstep", { settle }),
  ...functionsFrom("superstep/patterns", {
    autoResearch,
    concurrent,
    deepResearch,
    documentsTool,
    groupChat,
    handoff,
    iterativeResearch,
    magentic,
    pageTool,
    sequential,
    webSearchTool,
  }),
  ...functionsFrom("superstep/tools", { pageReader, webSearch }),
  ...functionsFrom("superstep/definitions", {
    agentStep,
    boxEnd,
    boxStep,
    conditionStep,
    holds,
    humanStep,
    mapEnd,
    mapStart,
    parallelEnd,
    parallelStart,
    passStep,
    stepList,
    stepsEnd,
    stepsState,
    stepsText,
    teamEnds,
    toolStep,
    workflowStep,
  }),
}
