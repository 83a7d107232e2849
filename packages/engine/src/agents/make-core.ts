/** Creates an agent's core: checks the options, and prepares the models and the tools. */
import { type Json, SuperstepError } from "../core/index.ts"
import { hasSameItems } from "../core/internal.ts"
import type { ModelRetry, ModelSettings } from "../models/index.ts"
import type { Context, Schema } from "../runtime/index.ts"
import {
  budgetProblem,
  isOptions,
  type OptionNames,
  shown,
  unknownOption,
  unknownPart,
} from "../runtime/internal.ts"
import { checkApproval, type Tool, type Toolset } from "../tools/index.ts"
import { transferTool } from "./agent-as-tool.ts"
import {
  type Agent,
  type AgentCore,
  type AgentRefs,
  CORE,
  type Handoff,
  type HandoffRefs,
  type SomeAgentOptions,
} from "./agent-core.ts"
import { stopProblem } from "./agent-limits.ts"
import { withDeferred } from "./deferred-tools.ts"
import { guardrailsProblem } from "./guardrails.ts"
import { handoffOf, handoffTools } from "./hand-off.ts"
import { historyProblem } from "./history-policy.ts"
import { hooksOf, hooksProblem } from "./middleware.ts"
import { choiceProblem, loadModels, type OfferedTool, type ToolTable } from "./step-plan.ts"
import { outputFormat, unenforcedSchemas } from "./structured-output.ts"

export function makeCore(options: SomeAgentOptions, output: Schema | undefined): AgentCore {
  checkOptions(options)
  const { name, description, handoffs = [], subAgents = [], history } = options
  const tools = typeof options.tools === "function" ? [] : (options.tools ?? [])
  const plain = tools.filter((one): one is Tool => !isToolset(one))
  const agentTools = (): Tool[] => {
    const subs = resolveRefs(name, "subAgents", subAgents)
    return [
      ...handoffTools(resolveHandoffs(name, handoffs), options.handoffTools),
      ...(subs.length === 0 ? [] : [transferTool(subs)]),
    ]
  }
  const table = repeatedTable(name)
  let known: ToolTable | undefined
  const fixed = () => {
    known ??= toolTable(name, withDeferred([...plain, ...agentTools()]))
    return known
  }
  // Two tools with the same name are reported here, before anything runs, unless other agents do not exist yet.
  if (typeof handoffs !== "function" && typeof subAgents !== "function") fixed()
  const models = loadModels(options.model)
  const format = outputFormat(name, output)
  const writer = typeof history === "object" && history.kind === "summarise" ? history.model : undefined
  return {
    name,
    description,
    options,
    output: format,
    models,
    warnings: unenforcedSchemas(name, options.model, format, plain),
    summariser: writer === undefined ? models : loadModels(writer),
    namedModels: new Map(Object.entries(options.models ?? {}).map(([key, one]) => [key, loadModels(one)])),
    hooks: hooksOf(options),
    handoffs: () => resolveHandoffs(name, handoffs).map(({ agent }) => agent),
    tools(ctx, input) {
      if (typeof options.tools === "function")
        return chosenTools(name, options.tools, agentTools(), ctx, input)
      return plain.length === tools.length ? fixed() : openTools(tools, agentTools(), ctx, table)
    },
  }
}

function resolveRefs(agent: string, option: string, refs: AgentRefs): readonly Agent[] {
  const found: unknown = typeof refs === "function" ? refs() : refs
  if (Array.isArray(found) && found.every(isAgent)) return found
  const text = `Agent "${agent}": ${option} must be a list of agents, or a function that returns one.`
  throw new SuperstepError("AGENT_INVALID", text, { retryable: false })
}

function resolveHandoffs(agent: string, refs: HandoffRefs): readonly Handoff[] {
  const found: unknown = typeof refs === "function" ? refs() : refs
  const isRef = (one: unknown) => isAgent(one) || isAgent(Object(one).agent)
  if (Array.isArray(found) && found.every(isRef)) return found.map(handoffOf)
  const text = `Agent "${agent}": handoffs must be a list of agents or of { agent, payload, filter }, or a function that returns one.`
  throw new SuperstepError("AGENT_INVALID", text, { retryable: false })
}

function isAgent(one: unknown): one is Agent {
  return typeof one === "object" && one !== null && CORE in one
}

export function isToolset(tool: Tool | Toolset): tool is Toolset {
  return "tools" in tool && typeof tool.tools === "function"
}

export function toolTable(
  agent: string,
  tools: readonly Tool[],
  instructions: readonly string[] = [],
): ToolTable {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (byName.has(tool.name)) {
      const text = `Agent "${agent}" has two tools named "${tool.name}"; rename one of them.`
      throw new SuperstepError("TOOL_NAME_TAKEN", text, { retryable: false })
    }
    byName.set(tool.name, tool)
  }
  return {
    byName,
    offered: tools.length === 0 ? undefined : tools.map(toOfferedTool),
    hasSecrets: tools.some(({ secret = [] }) => secret.length > 0),
    instructions,
  }
}

type MakeTable = (tools: readonly Tool[], instructions: readonly string[]) => ToolTable

/**
 * The same table as before for the same tools: toolsets open for each task, and most have the same tools each time. What
 * is known of a list of tools, such as its tokens, is found once then. Tools that come for the first time are not kept:
 * those that a toolset makes for one task may hold its context.
 */
function repeatedTable(agent: string): MakeTable {
  const seen = new WeakSet<Tool>()
  let last: { readonly tools: readonly Tool[]; readonly table: ToolTable } | undefined
  return (tools, instructions) => {
    if (
      last !== undefined &&
      hasSameItems(last.tools, tools) &&
      hasSameItems(last.table.instructions, instructions)
    )
      return last.table
    const table = toolTable(agent, withDeferred(tools), instructions)
    if (tools.every((one) => seen.has(one))) last = { tools, table }
    else for (const one of tools) seen.add(one)
    return table
  }
}

function toOfferedTool({ name, description, parameters, provider }: Tool): OfferedTool {
  if (provider !== undefined) return { type: "provider", name, id: provider.id, args: provider.args }
  return { type: "function", name, description, inputSchema: parameters as never }
}

/** Opens the toolsets for a task, in order. */
async function openTools(
  listed: readonly (Tool | Toolset)[],
  agentTools: readonly Tool[],
  ctx: Context,
  tableOf: MakeTable,
): Promise<ToolTable> {
  const tools: Tool[] = []
  const instructions: string[] = []
  for (const one of listed) {
    if (!isToolset(one)) {
      tools.push(one)
      continue
    }
    tools.push(...(await one.tools(ctx)))
    if (one.instructions !== undefined) instructions.push(one.instructions)
  }
  const table = tableOf([...tools, ...agentTools], instructions)
  const toEnd = listed.filter((one): one is Toolset => isToolset(one) && one.taskEnded !== undefined)
  if (toEnd.length === 0) return table
  return { ...table, end: async () => void (await Promise.all(toEnd.map((one) => one.taskEnded?.(ctx)))) }
}

/** The tools that a function returns for a task: in their recorded order, and only the recorded ones. */
async function chosenTools(
  agent: string,
  choose: Extract<SomeAgentOptions["tools"], (...args: never) => unknown>,
  agentTools: readonly Tool[],
  ctx: Context,
  input: unknown,
): Promise<ToolTable> {
  const made = await choose(input as never, ctx)
  if (!Array.isArray(made)) {
    throw new SuperstepError(
      "AGENT_INVALID",
      `Agent "${agent}": the tools function did not return a list of tools.`,
      {
        retryable: false,
      },
    )
  }
  const { byName, instructions, ...opened } = await openTools(made, [], ctx, repeatedTable(agent))
  const names = await ctx.step(`tools:${agent}`, () => [...byName.keys()])
  const kept = names.map((name) => {
    const tool = byName.get(name)
    if (tool !== undefined) return tool
    const text = `Agent "${agent}" began its task with the tool "${name}", but its tools function no longer returns it. Return the same tools for the same input.`
    throw new SuperstepError("TOOL_UNKNOWN", text, { retryable: false })
  })
  return { ...opened, ...toolTable(agent, [...kept, ...agentTools], instructions) }
}

function checkOptions(options: SomeAgentOptions): void {
  const { name, model, limits = {}, repairs, onTruncated, instructions, approval, history } = options
  const refuse = (reason: string) => new SuperstepError("AGENT_INVALID", `Agent "${String(name)}": ${reason}`)
  if (typeof name !== "string" || name === "") throw refuse("name must be a non-empty string.")
  if (model === undefined || (Array.isArray(model) && model.length === 0)) {
    throw refuse('set a model: a name such as "openai/gpt-5", a model object, or "offline".')
  }
  if (instructions !== undefined && typeof instructions !== "string" && typeof instructions !== "function") {
    throw refuse("instructions must be a string, or a function of the input that returns one.")
  }
  if (repairs !== undefined && !(Number.isSafeInteger(repairs) && repairs >= 0)) {
    throw refuse(`repairs must be a whole number of at least 0, not ${repairs}.`)
  }
  if (onTruncated !== undefined && !["fail", "continue", "accept"].includes(onTruncated)) {
    throw refuse(`onTruncated is "fail", "continue" or "accept", not ${JSON.stringify(onTruncated)}.`)
  }
  checkOptionNames(options, refuse)
  const problem =
    historyProblem(history) ??
    rulesProblem(approval) ??
    budgetProblem(options.budget) ??
    limitProblem(options.onLimit) ??
    hooksProblem(options) ??
    guardrailsProblem(options.guardrails) ??
    choiceProblem(options.toolChoice) ??
    stopProblem(options.stopWhen) ??
    continueProblem(options)
  if (problem !== undefined) throw refuse(/[.?]$/.test(problem) ? problem : `${problem}.`)
  for (const [limit, value] of Object.entries(limits as Record<string, Json | undefined>)) {
    if (!LIMITS.has(limit)) throw refuse(unknownPart("limits", limit, LIMITS))
    if (limit === "allowUnpriced" && typeof value === "boolean") continue
    if (value !== undefined && !(typeof value === "number" && value >= 0)) {
      throw refuse(`limits.${limit} must be a number of at least 0, not ${JSON.stringify(value)}.`)
    }
  }
}

function continueProblem({ continueWith, messages }: SomeAgentOptions): string | undefined {
  if (continueWith === undefined || continueWith === "first") return undefined
  if (continueWith !== "last") return 'continueWith is "first" or "last"'
  return messages === undefined ? 'continueWith: "last" needs a conversation: set messages' : undefined
}

function limitProblem(onLimit: unknown): string | undefined {
  if (onLimit === undefined || onLimit === "fail" || onLimit === "answer") return undefined
  return `onLimit is "fail" or "answer", not ${JSON.stringify(onLimit)}`
}

function rulesProblem(approval: unknown): string | undefined {
  if (approval === undefined) return undefined
  if (typeof approval === "object") return checkApproval(approval)
  return "approval must be { deny, allow, ask }, the rules for all its tools; each tool can have its own approval."
}

const LIMITS = new Set(["modelCalls", "toolCalls", "tokens", "usd", "iterations", "seconds", "allowUnpriced"])

// Option names. An unknown name is an error: an ignored option would look as if it were in force.

const OPTIONS: OptionNames<SomeAgentOptions & { readonly output?: Schema | undefined }> = {
  name: true,
  description: true,
  model: true,
  instructions: true,
  tools: true,
  input: true,
  output: true,
  history: true,
  messages: true,
  limits: true,
  settings: true,
  calling: true,
  models: true,
  toolChoice: true,
  stopWhen: true,
  guardrails: true,
  middleware: true,
  prepareStep: true,
  beforeModel: true,
  afterModel: true,
  onToolCall: true,
  onAsk: true,
  afterToolCall: true,
  beforeAgent: true,
  afterAgent: true,
  handoffs: true,
  handoffTools: true,
  continueWith: true,
  subAgents: true,
  approval: true,
  repairs: true,
  onTruncated: true,
  onLimit: true,
  onToolError: true,
  stream: true,
  recordCalls: true,
  onError: true,
  retry: true,
  timeout: true,
  concurrency: true,
  flow: true,
  placement: true,
  maxVisits: true,
  budget: true,
}

const SETTINGS: OptionNames<ModelSettings> = {
  temperature: true,
  maxOutputTokens: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  providerOptions: true,
}

const CALLING: OptionNames<NonNullable<SomeAgentOptions["calling"]>> = {
  retry: true,
  timeout: true,
  firstTokenTimeout: true,
  idleTimeout: true,
  prices: true,
  limits: true,
  random: true,
  onAttemptFailed: true,
}

const RETRY: OptionNames<ModelRetry> = { attempts: true, delay: true, maxDelay: true }

/** Names in other libraries, and their equivalents here. */
const FOREIGN_NAMES: Readonly<Record<string, string>> = {
  system: "instructions",
  prompt: "instructions",
  systemPrompt: "instructions",
  maxTurns: "limits.iterations",
  maxSteps: "limits.iterations",
  maxIterations: "limits.iterations",
  maxRetries: "calling.retry.attempts",
  temperature: "settings.temperature",
  topP: "settings.topP",
  seed: "settings.seed",
  maxTokens: "settings.maxOutputTokens",
  maxOutputTokens: "settings.maxOutputTokens",
  modelSettings: "settings",
  providerOptions: "settings.providerOptions",
  outputType: "output",
  outputSchema: "output",
  inputSchema: "input",
}

function checkOptionNames(options: SomeAgentOptions, refuse: (reason: string) => SuperstepError): void {
  const check = <Options>(value: unknown, known: OptionNames<Options>, where: string) => {
    if (value === undefined) return
    if (!isOptions(value)) throw refuse(`${where} must be an object, not ${shown(value)}.`)
    const problem = unknownOption(value, known)
    if (problem !== undefined) {
      throw refuse(`${where === "" ? "" : `${where}: `}${problem}${problem.endsWith("?") ? "" : "."}`)
    }
  }
  for (const [name, value] of Object.entries(options)) {
    const meant = Object.hasOwn(OPTIONS, name) || value === undefined ? undefined : FOREIGN_NAMES[name]
    if (meant !== undefined) throw refuse(`unknown option "${name}"; did you mean "${meant}"?`)
  }
  check(options, OPTIONS, "")
  check(options.settings, SETTINGS, "settings")
  check(options.calling, CALLING, "calling")
  check(options.calling?.retry, RETRY, "calling.retry")
}
