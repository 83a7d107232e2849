/** An agent as the loop sees it: options checked, and what is the same for every task made once. */
import { type Json, SuperstepError } from "../core/index.ts"
import { type Model, type ModelRef, resolveModel } from "../models/index.ts"
import { checkVersion } from "../models/named-models.ts"
import type { Context, Schema } from "../runtime/index.ts"
import { checkApproval, type Tool } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import type { Fellows, SomeAgentOptions } from "./agent-options.ts"
import { isToolset, openTools, type ToolTable, toolTable } from "./agent-tools.ts"
import { handoffTools } from "./hand-off.ts"
import { historyProblem } from "./history-policy.ts"
import { type OutputFormat, outputFormat } from "./structured-output.ts"
import { transferTool } from "./transfer-task.ts"

export interface AgentCore {
  readonly name: string
  readonly description: string | undefined
  readonly options: SomeAgentOptions
  readonly output: OutputFormat
  readonly models: Models
  /** Those that write its summaries. */
  readonly summariser: Models
  tools(ctx: Context): ToolTable | Promise<ToolTable>
}

type Models = () => readonly Model[] | Promise<readonly Model[]>

/** How other parts find an agent's core, also across two copies of the library. */
export const CORE: unique symbol = Symbol.for("superstep.agent") as never

export function coreOf(agent: Agent): AgentCore {
  return agent[CORE]
}

export function makeCore(options: SomeAgentOptions, output: Schema | undefined): AgentCore {
  checkOptions(options)
  const { name, description, tools = [], handoffs = [], subAgents = [], history } = options
  const plain = tools.filter((one): one is Tool => !isToolset(one))
  const others = (): Tool[] => {
    const subs = agentsOf(subAgents)
    return [
      ...handoffTools(agentsOf(handoffs), options.handoffTools),
      ...(subs.length === 0 ? [] : [transferTool(subs)]),
    ]
  }
  let known: ToolTable | undefined
  const fixed = () => {
    known ??= toolTable(name, [...plain, ...others()])
    return known
  }
  // Two tools of one name are found here, before anything runs, unless other agents are yet to be made.
  if (typeof handoffs !== "function" && typeof subAgents !== "function") fixed()
  const models = modelList(options.model)
  const writer = typeof history === "object" && history.kind === "summarise" ? history.model : undefined
  return {
    name,
    description,
    options,
    output: outputFormat(name, output),
    models,
    summariser: writer === undefined ? models : modelList(writer),
    tools: plain.length === tools.length ? fixed : (ctx) => openTools(name, tools, others(), ctx),
  }
}

function agentsOf(fellows: Fellows): readonly Agent[] {
  return typeof fellows === "function" ? fellows() : fellows
}

/** Models by name are loaded on first use, once; objects are looked at here. */
function modelList(given: ModelRef | readonly ModelRef[]): Models {
  const refs = Array.isArray(given) ? (given as readonly ModelRef[]) : [given as ModelRef]
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

function checkOptions(options: SomeAgentOptions): void {
  const { name, model, limits = {}, repairs, instructions, approval, history } = options
  const refuse = (reason: string) => new SuperstepError("AGENT_INVALID", `Agent "${String(name)}": ${reason}`)
  if (typeof name !== "string" || name === "") throw refuse("give it a name, a text that is not empty.")
  if (model === undefined || (Array.isArray(model) && model.length === 0)) {
    throw refuse('give it a model: a name such as "openai/gpt-5", a model object, or "offline".')
  }
  if (instructions !== undefined && typeof instructions !== "string" && typeof instructions !== "function") {
    throw refuse("instructions are a text, or a function of the input that gives one.")
  }
  if (repairs !== undefined && !(Number.isSafeInteger(repairs) && repairs >= 0)) {
    throw refuse(`repairs is a whole number of at least 0, not ${repairs}.`)
  }
  const problem = historyProblem(history) ?? rulesProblem(approval)
  if (problem !== undefined) throw refuse(problem)
  for (const [limit, value] of Object.entries(limits as Record<string, Json | undefined>)) {
    if (!LIMITS.has(limit)) throw refuse(`limits has no "${limit}"; it has ${[...LIMITS].join(", ")}.`)
    if (limit === "allowUnpriced" && typeof value === "boolean") continue
    if (value !== undefined && !(typeof value === "number" && value >= 0)) {
      throw refuse(`limits.${limit} is a number of at least 0, not ${JSON.stringify(value)}.`)
    }
  }
}

function rulesProblem(approval: unknown): string | undefined {
  if (approval === undefined) return undefined
  if (typeof approval === "object") return checkApproval(approval)
  return "approval is { deny, allow, ask }, rules over all its tools; what a single tool needs is said by the tool."
}

const LIMITS = new Set(["modelCalls", "toolCalls", "tokens", "usd", "iterations", "seconds", "allowUnpriced"])
