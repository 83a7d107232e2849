/**
 * The models and tools of an agent, and the plan that chooses the model, the tools and the instructions of one model
 * call.
 */
import { type Json, SuperstepError } from "../core/index.ts"
import {
  type Model,
  type ModelCall,
  type ModelRef,
  type ModelSettings,
  resolveModel,
} from "../models/index.ts"
import { checkVersion } from "../models/internal.ts"
import type { AgentStep, Context } from "../runtime/index.ts"
import { type OptionNames, unknownOption } from "../runtime/internal.ts"
import type { Tool, ToolCallContext } from "../tools/index.ts"
import { PATH } from "../tools/internal.ts"

/** Whether the model calls tools: its own choice, at least one, none, or this one. */
export type ToolChoice = "auto" | "required" | "none" | { readonly tool: string }

/** The result of `prepareStep`. It is recorded, so it is plain data. An absent field keeps the agent's own value. */
export interface StepPlan {
  /** A name from the agent's `models`, or one such as `openai/gpt-5`. */
  readonly model?: string | undefined
  /** The names of the tools to offer. */
  readonly tools?: readonly string[] | undefined
  readonly toolChoice?: ToolChoice | undefined
  /** Replaces the agent's own instructions and those of its toolsets. */
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

/** The problem with a plan, or undefined. */
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

/** The tools that a plan keeps. */
export function plannedTools(agent: string, table: ToolTable, { tools: names }: StepPlan): ToolTable {
  if (names === undefined) return table
  for (const name of names) if (!table.byName.has(name)) throw noSuchTool(agent, name, table)
  const byName = new Map([...table.byName].filter(([name]) => names.includes(name)))
  const offered = table.offered?.filter(({ name }) => names.includes(name))
  return { ...table, byName, offered: offered === undefined || offered.length === 0 ? undefined : offered }
}

/** The choice in the form of the AI SDK; undefined if there are no tools. */
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

/** The models that a plan names; undefined for the agent's own. */
export function plannedModels(
  named: ReadonlyMap<string, LoadModels>,
  { model }: StepPlan,
): LoadModels | undefined {
  if (model === undefined) return undefined
  return named.get(model) ?? (async () => [await resolveModel(model)])
}

/** The plan of a step that reads results of tools with a model of their own: the first of these models answers. */
export function withToolModel(plan: StepPlan, { byName }: ToolTable, steps: readonly AgentStep[]): StepPlan {
  for (const { name } of steps.at(-1)?.calls ?? []) {
    const model = byName.get(name)?.model
    if (model !== undefined) return { ...plan, model }
  }
  return plan
}

/** A recorded plan. */
export function asPlan(recorded: Json): StepPlan {
  return (recorded ?? {}) as StepPlan
}

export type OfferedTool = NonNullable<ModelCall["tools"]>[number]

/** All tools of an agent in a task: its own, those of its toolsets, and those for other agents. */
export interface ToolTable {
  readonly byName: ReadonlyMap<string, Tool>
  /** In the form that the model receives; undefined if there are none. */
  readonly offered: OfferedTool[] | undefined
  /** Whether a tool has arguments that must not be recorded. */
  readonly hasSecrets: boolean
  /** The instructions of toolsets, which follow the agent's own. */
  readonly instructions: readonly string[]
  /** Ends what its toolsets do for this task. */
  end?(): Promise<void>
}

export type LoadModels = () => readonly Model[] | Promise<readonly Model[]>

/** Loads models by name once, on first use; checks model objects at once. */
export function loadModels(model: ModelRef | readonly ModelRef[]): LoadModels {
  const refs = Array.isArray(model) ? (model as readonly ModelRef[]) : [model as ModelRef]
  for (const ref of refs) if (isModel(ref)) checkVersion(ref)
  if (refs.every(isModel)) return () => refs
  let loading: Promise<readonly Model[]> | undefined
  return () => {
    loading ??= Promise.all(refs.map((ref) => resolveModel(ref))).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

function isModel(ref: ModelRef): ref is Model {
  return typeof ref === "object" && "doGenerate" in ref
}

// The scope of an agent in a run: its context, its signal, and its path.

export interface AgentScope {
  /** After a hand-off, the context of the agent that continues. */
  ctx: Context
  /** Fires with the task's signal, or when an agent's time is up. */
  signal: AbortSignal
  /**
   * The names of the enclosing scopes, each followed by a slash; empty for the task itself. Step keys and deltas include
   * it.
   */
  readonly path: string
  /** Whether the agent runs in a tool call of another agent. */
  readonly isNested: boolean
}

export function taskScope(ctx: Context): AgentScope {
  return { ctx, signal: ctx.signal, path: "", isNested: false }
}

/** Attaches a path to a tool call. */
export function withPath(call: ToolCallContext, path: string): ToolCallContext {
  return Object.assign(call, { [PATH]: path })
}

export function pathOf(call: ToolCallContext & { readonly [PATH]?: string | undefined }): string {
  return call[PATH] ?? ""
}

const paths = new WeakMap<Context, string>()

/** A nested scope of the agent's context. `pathOfContext` returns its path. */
export function scopedContext({ ctx, path }: AgentScope, name: string): Context {
  const scoped = ctx.scope(name)
  paths.set(scoped, `${path}${name}/`)
  return scoped
}

export function pathOfContext(ctx: Context): string {
  return paths.get(ctx) ?? ""
}

/** The journal key of the n-th step with this name. */
export function stepKey(path: string, name: string, n: number): string {
  return `step${n === 1 ? "" : `#${n}`}:${path}${name}`
}
