/** The steps dialect: its schema, its compiler, and the functions that its plans call. */
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
import * as nodes from "./nodes/index.ts"

export { planAgentsFile, planSteps } from "./plan-steps.ts"
export { stepsFields, stepsUseInput } from "./step-shape.ts"
export { stepsJsonSchema } from "./steps-schema.ts"

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
  ...functionsFrom("superstep/definitions", { ...nodes }),
}
