/** The functions of a plan as the caller of a definition wants them: with other models, and another environment. */
import { agent } from "../agents/index.ts"
import type { ModelRef } from "../models/index.ts"
import { type DeepResearchOptions, RESEARCH_ROLES, type ResearchRole } from "../patterns/research/index.ts"
import { webSearch } from "../tools/index.ts"
import { environmentOf, type LoadOptions } from "./definition.ts"
import { type GraphOptions, graphOf } from "./graph/index.ts"
import type { PlanFunction, PlanFunctions } from "./plan/index.ts"
import { type LayoutEntry, type StepListOptions, stepList } from "./steps/index.ts"

type Choose = NonNullable<LoadOptions["model"]>

export function asGiven(functions: PlanFunctions, options: LoadOptions): PlanFunctions {
  const { model, env, secrets: secretValues } = options
  const given: Record<string, PlanFunction> = { ...functions }
  if (model !== undefined) {
    given.agent = withModel(functions, model)
    for (const [name, roles] of Object.entries(ROLES)) {
      const known = functions[name]
      if (known !== undefined) given[name] = withModels(known, roles, model)
    }
  }
  const from = "superstep/definitions"
  const known = { env: environmentOf(options), secretValues }
  given.stepList = {
    from,
    make: (entries: readonly LayoutEntry[], more?: StepListOptions) =>
      stepList(entries, { ...more, ...known }),
  }
  given.graphOf = { from, make: (more: GraphOptions) => graphOf({ ...more, secretValues }) }
  // Its keys go to the search engines themselves, whoever wrote the definition.
  if (env !== undefined) {
    given.webSearch = {
      from: "superstep/tools",
      make: (engine: Parameters<typeof webSearch>[0]) => webSearch(engine, { env }),
    }
  }
  return given
}

/** `agent`, with another model where the caller wants one. */
export function withModel(functions: PlanFunctions, model: Choose): PlanFunction {
  const make = (options: Parameters<typeof agent>[0]) => {
    const given = options.model
    const other = model(options.name, firstOf(given as ModelRef | readonly ModelRef[]))
    return agent(other === undefined ? options : { ...options, model: other })
  }
  return { from: functions.agent?.from ?? "superstep/agents", make }
}

/** The agents that each kind of research asks. */
const ROLES: Readonly<Record<string, readonly ResearchRole[]>> = {
  iterativeResearch: RESEARCH_ROLES.filter((role) => !["mode", "planner", "synthesizer"].includes(role)),
  deepResearch: RESEARCH_ROLES.filter((role) => role !== "mode"),
  autoResearch: RESEARCH_ROLES,
}

/** A research, with other models for its agents where the caller wants some. */
function withModels(
  { from, make }: PlanFunction,
  roles: readonly ResearchRole[],
  model: Choose,
): PlanFunction {
  return {
    from,
    make: (options: DeepResearchOptions) => {
      const models = Object.fromEntries(
        roles.map((role) => {
          const given = options.models?.[role] ?? options.model
          return [role, model(role, firstOf(given)) ?? given]
        }),
      )
      return make({ ...options, models } as never)
    },
  }
}

function firstOf(given: ModelRef | readonly ModelRef[]): ModelRef {
  return (Array.isArray(given) ? given[0] : given) as ModelRef
}
