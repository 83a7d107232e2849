/** The JSON Schema of a steps file: one schema for each type of step, chosen by its `type`. */
import {
  chosen,
  has,
  ifThen,
  isOneOf,
  type JsonSchema,
  jsonSchemaFor,
  kindSchema,
} from "../../document/index.ts"
import { RESEARCH_BUDGET, STEP_KINDS, TEAM_KINDS, type TeamMode, teamKind } from "./step-kinds.ts"
import { RESEARCH_MODES, STEP_TYPES, type StepType, stepsShape, TEAM_MODES } from "./step-shape.ts"

export function stepsJsonSchema(): Record<string, unknown> {
  const schema = jsonSchemaFor(stepsShape, { id: "superstep-steps.json", title: "Superstep steps" })
  const { step: flat = {}, ...others } = schema.definitions as Record<string, JsonSchema>
  const kinds = STEP_TYPES.map((type) => [definitionOf(type), stepSchema(flat, type)])
  const teams = TEAM_MODES.map((mode) => [
    `team-${mode}`,
    kindSchema(flat, teamKind(mode), {
      title: `${mode} team`,
      fixed: { type: { const: "team" }, mode: { const: mode }, ...budgetOf(flat, "team") },
    }),
  ])
  return { ...schema, definitions: { step: anyStep, ...Object.fromEntries([...kinds, ...teams]), ...others } }
}

function definitionOf(type: string): string {
  return `${type}-step`
}

function reference(name: string): JsonSchema {
  return { $ref: `#/definitions/${name}` }
}

const anyStep: JsonSchema = chosen(
  {
    title: "step",
    properties: {
      type: {
        description: "The type of the step.",
        enum: STEP_TYPES,
        enumDescriptions: STEP_TYPES.map((type) => STEP_KINDS[type].about),
      },
    },
  },
  [
    ...STEP_TYPES.map((type) => ifThen(isOneOf("type", [type]), reference(definitionOf(type)))),
    // A step with `goto` needs no type.
    ifThen(
      { not: { required: ["type"] } },
      ifThen(has("goto"), reference(definitionOf("goto")), { required: ["type"] }),
    ),
  ],
)

function stepSchema(flat: JsonSchema, type: StepType): JsonSchema {
  const fixed = { type: { const: type } }
  if (type !== "team") {
    const modes = type === "research" ? { mode: { ...modeOf(type), default: "iterative" } } : {}
    const more = { ...fixed, ...modes, ...budgetOf(flat, type) }
    return kindSchema(flat, STEP_KINDS[type], { title: `${type} step`, fixed: more })
  }
  const { about } = STEP_KINDS.team
  return chosen(
    { title: "team step", description: about, required: ["mode"], properties: { mode: modeOf(type) } },
    TEAM_MODES.map((mode) => ifThen(isOneOf("mode", [mode]), reference(`team-${mode}`))),
  )
}

function budgetOf(flat: JsonSchema, type: StepType): Record<string, JsonSchema> {
  const { fields, meaning } = STEP_KINDS[type]
  if (!fields.includes("budget")) return {}
  const { budget = {} } = flat.properties as Record<string, JsonSchema>
  const known = Object.entries(budget.properties as object).filter(([name]) =>
    type === "research" ? RESEARCH_BUDGET.includes(name) : name !== "seconds",
  )
  const description = meaning?.budget ?? budget.description
  return { budget: { ...budget, description, properties: Object.fromEntries(known) } }
}

function modeOf(type: "team" | "research"): JsonSchema {
  const description = STEP_KINDS[type].meaning?.mode
  if (type === "research") return { description, enum: RESEARCH_MODES }
  return {
    description,
    enum: TEAM_MODES,
    enumDescriptions: TEAM_MODES.map((mode: TeamMode) => TEAM_KINDS[mode].about),
  }
}
