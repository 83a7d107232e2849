/** The functions that make agents and what they have. */
import { agent, conversation, lastItems } from "../../agents/index.ts"
import {
  api,
  filesystem,
  jsonSchema,
  memory,
  openapi,
  script,
  shell,
  think,
  todo,
  toolsetWith,
  webFetch,
} from "../../tools/index.ts"
import { functionsFrom, type PlanFunctions } from "../plan/index.ts"
import { agentText } from "./agent-text.ts"

export const agentFunctions: PlanFunctions = {
  ...functionsFrom("superstep/agents", { agent, conversation, lastItems }),
  ...functionsFrom("superstep/definitions", { agentText }),
  ...functionsFrom("superstep/tools", {
    api,
    filesystem,
    jsonSchema,
    memory,
    openapi,
    script,
    shell,
    think,
    todo,
    toolsetWith,
    webFetch,
  }),
}
