/** How an agent makes one of its model calls: which model, which tools, which instructions. */
import { type Json, SuperstepError } from "../core/index.ts"
import { type ModelCall, type ModelSettings, resolveModel } from "../models/index.ts"
import { type OptionNames, unknownOption } from "../runtime/internal.ts"
import type { LoadModels } from "./load-models.ts"
import type { ToolTable } from "./tool-table.ts"

/** Whether the model calls tools: as it likes, at least one, none, or this one. */
export type ToolChoice = "auto" | "required" | "none" | { readonly tool: string }

/** What `prepareStep` decides. It is recorded, so it is plain data; what is absent stays as the agent has it. */
export interface StepPlan {
  /** A name from the agent's `models`, or one such as `openai/gpt-5`. */
  readonly model?: string | undefined
  /** The names of the tools that are offered. */
  readonly tools?: readonly string[] | undefined
  readonly toolChoice?: ToolChoice | undefined
  /** In place of the agent's own instructions and those of its toolsets. */
  readonly instructions?: string | undefined
  /** Added to the agent's own. */
  readonly settings?: ModelSettings | undefined
}

const NAMES: OptionNames<StepPlan> = {
  model: true,
  tools: true,
  toolChoice: true,
  instructions: true,
  settings: true,
}

/** What is wrong with a plan, or undefined. */
export function planProblem(plan: unknown): string | undefined {
  if (typeof plan !== "object" || plan === null || Array.isArray(plan))
    return "it must return an object, or nothing"
  const { model, tools, toolChoice, instructions } = plan as StepPlan
  const unknown = unknownOption(plan, NAMES)
  if (unknown !== undefined) return unknown
  if (model !== undefined && typeof model !== "string") {
    return "model must be a name: define `models: { strong: … }` on the agent and return one of those names"
  }
  if (instructions !== undefined && typeof instructions !== "string") return "instructions must be a string"
  if (tools !== undefined && !(Array.isArray(tools) && tools.every((one) => typeof one === "string"))) {
    return "tools must be a list of names"
  }
  return choiceProblem(toolChoice)
}

export function choiceProblem(choice: unknown): string | undefined {
  if (choice === undefined || choice === "auto" || choice === "required" || choice === "none")
    return undefined
  const { tool } = Object(choice) as { tool?: unknown }
  if (typeof tool === "string" && tool !== "") return undefined
  return 'toolChoice is "auto", "required", "none" or { tool: name }'
}

/** The tools that a plan leaves. */
export function plannedTools(agent: string, table: ToolTable, { tools: names }: StepPlan): ToolTable {
  if (names === undefined) return table
  for (const name of names) if (!table.byName.has(name)) throw noSuchTool(agent, name, table)
  const byName = new Map([...table.byName].filter(([name]) => names.includes(name)))
  const offered = table.offered?.filter(({ name }) => names.includes(name))
  return { ...table, byName, offered: offered === undefined || offered.length === 0 ? undefined : offered }
}

/** As the provider's interface has it; undefined where there is nothing to choose from. */
export function providerChoice(
  agent: string,
  choice: ToolChoice | undefined,
  table: ToolTable,
): ModelCall["toolChoice"] {
  if (choice === undefined || table.offered === undefined) return undefined
  if (typeof choice === "string") return { type: choice }
  if (!table.byName.has(choice.tool)) throw noSuchTool(agent, choice.tool, table)
  return { type: "tool", toolName: choice.tool }
}

function noSuchTool(agent: string, name: string, { byName }: ToolTable): SuperstepError {
  const names = [...byName.keys()].join(", ") || "none"
  const text = `Agent "${agent}" has no tool "${name}"; its tools are ${names}.`
  return new SuperstepError("TOOL_UNKNOWN", text, { retryable: false })
}

/** The models that a plan names; undefined: the agent's own. */
export function plannedModels(
  named: ReadonlyMap<string, LoadModels>,
  { model }: StepPlan,
): LoadModels | undefined {
  if (model === undefined) return undefined
  return named.get(model) ?? (async () => [await resolveModel(model)])
}

/** A plan on record. */
export function asPlan(recorded: Json): StepPlan {
  return (recorded ?? {}) as StepPlan
}
