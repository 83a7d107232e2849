/** Combines both dialects: the functions that their plans call, and their JSON Schemas. */
import { agent } from "../agents/index.ts"
import { jsonSchemaFor } from "../document/index.ts"
import type { ModelRef } from "../models/index.ts"
import { type DeepResearchOptions, RESEARCH_ROLES, type ResearchRole } from "../patterns/research/index.ts"
import { webSearch } from "../tools/index.ts"
import { agentFunctions } from "./agents/index.ts"
import { trustedFunctions } from "./check-trust.ts"
import { environmentOf, type LoadOptions } from "./definition.ts"
import { flowFunctions } from "./flow.ts"
import { graphFunctions, graphShape } from "./graph/index.ts"
import { type GraphOptions, graphInfo } from "./graph/nodes/index.ts"
import type { PlanFunction, PlanFunctions } from "./plan/index.ts"
import { stepsFunctions, stepsShape } from "./steps/index.ts"
import { type LayoutEntry, type StepListOptions, stepList } from "./steps/nodes/index.ts"

export const jsonSchemas: Readonly<Record<"steps" | "graph", () => Record<string, unknown>>> = {
  steps: () => jsonSchemaFor(stepsShape, { id: "superstep-steps.json", title: "Superstep steps" }),
  graph: () => jsonSchemaFor(graphShape, { id: "superstep-graph.json", title: "Superstep graph" }),
}

export function functionsFor({ trust, allow, functions: more = {} }: LoadOptions): PlanFunctions {
  const control = { ...stepsFunctions, ...graphFunctions, ...flowFunctions }
  if (trust === "none") return trustedFunctions(control, { ...agentFunctions, ...more }, allow)
  return { ...agentFunctions, ...control, ...more }
}

type ChooseModel = NonNullable<LoadOptions["model"]>

/** The functions with the caller's models, environment and secrets. */
export function withOverrides(functions: PlanFunctions, options: LoadOptions): PlanFunctions {
  const { model, env, secrets: secretValues } = options
  const changed: Record<string, PlanFunction> = { ...functions }
  if (model !== undefined) {
    changed.agent = withModel(functions, model)
    for (const [name, roles] of Object.entries(ROLES)) {
      const known = functions[name]
      if (known !== undefined) changed[name] = withModels(known, roles, model)
    }
  }
  const from = "superstep/definitions"
  const values = { env: environmentOf(options), secretValues }
  changed.stepList = {
    from,
    make: (entries: readonly LayoutEntry[], more?: StepListOptions) =>
      stepList(entries, { ...more, ...values }),
  }
  changed.graphInfo = { from, make: (more: GraphOptions) => graphInfo({ ...more, secretValues }) }
  // Only the search engines receive the keys, so any definition may use them.
  if (env !== undefined) {
    changed.webSearch = {
      from: "superstep/tools",
      make: (engine: Parameters<typeof webSearch>[0]) => webSearch(engine, { env }),
    }
  }
  return changed
}

/** `agent`, with the model that the caller chooses. */
export function withModel(functions: PlanFunctions, model: ChooseModel): PlanFunction {
  const make = (options: Parameters<typeof agent>[0]) => {
    const chosen = model(options.name, firstOf(options.model as ModelRef | readonly ModelRef[]))
    return agent(chosen === undefined ? options : { ...options, model: chosen })
  }
  return { from: functions.agent?.from ?? "superstep/agents", make }
}

/** The agents that each kind of research uses. */
const ROLES: Readonly<Record<string, readonly ResearchRole[]>> = {
  iterativeResearch: RESEARCH_ROLES.filter((role) => !["mode", "planner", "synthesizer"].includes(role)),
  deepResearch: RESEARCH_ROLES.filter((role) => role !== "mode"),
  autoResearch: RESEARCH_ROLES,
}

/** Research, with the models that the caller chooses for its agents. */
function withModels(
  { from, make }: PlanFunction,
  roles: readonly ResearchRole[],
  model: ChooseModel,
): PlanFunction {
  return {
    from,
    make: (options: DeepResearchOptions) => {
      const models = roles.map((role) => {
        const written = options.models?.[role] ?? options.model
        return [role, model(role, firstOf(written)) ?? written]
      })
      return make({ ...options, models: Object.fromEntries(models) } as never)
    },
  }
}

function firstOf(models: ModelRef | readonly ModelRef[]): ModelRef {
  return (Array.isArray(models) ? models[0] : models) as ModelRef
}
