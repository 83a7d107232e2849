/** Which fields go with which type of step, and which it must have. */
import { RESEARCH_MODES, type StepData, type StepType, TEAM_MODES } from "./step-shape.ts"
import { missingTeamField, strangeTeamFields, TEAM_FIELDS } from "./team-step.ts"

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
  research: [...RUN, "prompt", "mode", "model", "models", "tools", "budget"],
  // Every step accepts retry and timeout; a goto never needs them.
  goto: ["retry", "timeout", "goto"],
}

export function strangeFields(type: StepType, data: StepData): (keyof StepData)[] {
  const known: readonly (keyof StepData)[] = [...ANY, ...FIELDS[type]]
  const strange = (Object.keys(data) as (keyof StepData)[]).filter(
    (field) => data[field] !== undefined && !known.includes(field),
  )
  return type === "team" ? [...strange, ...strangeTeamFields(data)] : strange
}

const REQUIRED: Partial<Readonly<Record<StepType, keyof StepData>>> = {
  agent: "name",
  condition: "condition",
  parallel: "steps",
  human: "prompt",
  workflow: "file",
  research: "tools",
  goto: "goto",
}

export function missingField(type: StepType, data: StepData): string | undefined {
  const lacks = (field: keyof StepData) => {
    const value = data[field]
    return value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length)
  }
  if (type === "tool")
    return lacks("tool") ? "tool" : lacks("toolset") && lacks("agent") ? "toolset or agent" : undefined
  if (type === "map")
    return lacks("over") ? "over" : lacks("step") && lacks("steps") ? "step or steps" : undefined
  if (type === "team") return missingTeamField(data)
  const field = REQUIRED[type]
  return field !== undefined && lacks(field) ? field : undefined
}

export function modesOf(type: StepType): readonly string[] {
  return type === "team" ? TEAM_MODES : type === "research" ? RESEARCH_MODES : []
}

export function defaultId(type: StepType, data: StepData): string {
  const named = { agent: data.name, tool: data.tool, workflow: data.file?.replace(/^.*[\\/]|\.[^.]*$/g, "") }
  const name = (named as Partial<Record<StepType, string>>)[type] ?? type
  return name.replace(FORBIDDEN, "_").replace(/^_+$/, type)
}

/** Characters that separate the parts of paths and node ids. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are not allowed in names.
const FORBIDDEN = /[/?#*\u0000-\u001f]/g

export function idProblem(id: string): string | undefined {
  if (id.trim() === "") return "an id must not be empty"
  if (id === "__proto__") return `"${id}" cannot be an id`
  return id.search(FORBIDDEN) >= 0
    ? `the id "${id}" contains one of / ? # * or a control character`
    : undefined
}
