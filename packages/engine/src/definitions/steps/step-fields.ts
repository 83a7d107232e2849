/** Which fields go with which type of step, and which it must have. */
import { missingResearchField, RESEARCH_FIELDS, RESEARCH_MODES } from "./research-fields.ts"
import type { StepData, StepType } from "./step-shape.ts"
import { missingTeamField, strangeTeamFields, TEAM_FIELDS, TEAM_MODES } from "./team-fields.ts"

const ANY = ["id", "type", "name", "description", "when"] as const
const RUN = ["retry", "timeout", "on_error"] as const

const FIELDS: Readonly<Record<StepType, readonly (keyof StepData)[]>> = {
  agent: [...RUN, "prompt", "loop"],
  condition: ["retry", "timeout", "condition", "true", "false"],
  parallel: [...RUN, "steps"],
  human: [...RUN, "prompt", "choices", "schema", "to", "default"],
  tool: [...RUN, "tool", "toolset", "agent", "args"],
  workflow: [...RUN, "file", "prompt"],
  map: [...RUN, "over", "step", "steps", "concurrency"],
  team: [...RUN, "prompt", ...TEAM_FIELDS],
  research: [...RUN, "prompt", ...RESEARCH_FIELDS],
  // It cannot fail, and takes no time; but every step may say these.
  goto: ["retry", "timeout", "goto"],
}

/** Fields that it has and that mean nothing to a step of its type. */
export function strangeFields(type: StepType, data: StepData): (keyof StepData)[] {
  const known: readonly (keyof StepData)[] = [...ANY, ...FIELDS[type]]
  const strange = (Object.keys(data) as (keyof StepData)[]).filter(
    (field) => data[field] !== undefined && !known.includes(field),
  )
  return type === "team" ? [...strange, ...strangeTeamFields(data)] : strange
}

/** What is missing, in the words of the errors: `condition`. */
export function missingField(type: StepType, data: StepData): string | undefined {
  const lacks = (value: unknown) => value === undefined || value === null || value === ""
  switch (type) {
    case "agent":
      return lacks(data.name) ? "name" : undefined
    case "condition":
      return lacks(data.condition) ? "condition" : undefined
    case "parallel":
      return data.steps?.length ? undefined : "steps"
    case "human":
      return lacks(data.prompt) ? "prompt" : undefined
    case "tool":
      if (lacks(data.tool)) return "tool"
      return lacks(data.toolset) && lacks(data.agent) ? "toolset or agent" : undefined
    case "workflow":
      return lacks(data.file) ? "file" : undefined
    case "map":
      if (lacks(data.over)) return "over"
      return data.step === undefined && !data.steps?.length ? "step or steps" : undefined
    case "team":
      return missingTeamField(data)
    case "research":
      return missingResearchField(data)
    case "goto":
      return lacks(data.goto) ? "goto" : undefined
  }
}

/** The modes that a step of this type can have. */
export function modesOf(type: StepType): readonly string[] {
  return type === "team" ? TEAM_MODES : type === "research" ? RESEARCH_MODES : []
}

/** What a step is called that has no id. */
export function defaultId(type: StepType, data: StepData): string {
  const named = { agent: data.name, tool: data.tool, workflow: data.file?.replace(/^.*[\\/]|\.[^.]*$/g, "") }
  const name = (named as Partial<Record<StepType, string>>)[type] ?? type
  return name.replace(FORBIDDEN, "_").replace(/^_+$/, type)
}

/** Signs that paths of steps, and nodes that are no steps, are told by. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them belongs in a name.
const FORBIDDEN = /[/?#*\u0000-\u001f]/g

export function idProblem(id: string): string | undefined {
  if (id.trim() === "") return "an id is a text that is not empty"
  if (id === "__proto__") return `"${id}" cannot be an id`
  return id.search(FORBIDDEN) >= 0
    ? `the id "${id}" has one of / ? # * or a control character in it`
    : undefined
}
