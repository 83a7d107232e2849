/** Plans the agents of a definition as the calls that create them. */
import { relative } from "node:path"
import { nearest, type Path } from "../../document/index.ts"
import { UNNAMED_MODEL } from "../../models/index.ts"
import { knownProviders, variableName } from "../../models/internal.ts"
import { DefinitionPaths } from "../definition.ts"
import type { DocumentReport } from "../dialect-input.ts"
import {
  type Arg,
  type ArgObject,
  call,
  definedArgs,
  later,
  type PlanWriter,
  type Ref,
} from "../plan/index.ts"
import {
  type AgentData,
  type AgentsFileData,
  type ModelData,
  type PermissionsData,
  type ProviderData,
  type ToolsetData,
  UNSUPPORTED_AGENT_FIELDS,
  UNSUPPORTED_MODEL_FIELDS,
} from "./agent-shape.ts"
import { guardrailsArg } from "./guardrails.ts"
import {
  agentToolNames,
  checkPatterns,
  checkPermissions,
  ourToolName,
  toolNames,
  toolsetCall,
} from "./toolset-calls.ts"

export interface AgentsInput {
  readonly report: DocumentReport
  readonly agents: Readonly<Record<string, AgentData>>
  /** Fields that apply to all agents of the file. */
  readonly file?: AgentsFileData | undefined
  /** Where the agents are in the document. Default: `agents`. */
  readonly path?: Path | undefined
  /** The key or index of an agent's data, if that is not its name. */
  readonly keys?: ReadonlyMap<string, string | number> | undefined
  readonly writer: PlanWriter
  /** Default: the document's own folder. */
  readonly paths?: DefinitionPaths | undefined
  /** The agent whose conversation continues across the runs of a thread. */
  readonly threadAgent?: string | undefined
  /** Creates the argument for instructions with templates. Default: plain text. */
  readonly instructions?: ((text: string) => Arg) | undefined
}

const AGENT = { name: "Agent", from: "superstep/agents" }

export interface PlannedAgent {
  readonly name: string
  readonly ref: Ref
  readonly data: AgentData
}

export interface PlannedAgents {
  readonly names: readonly string[]
  get(name: string): PlannedAgent | undefined
}

export function planAgents(input: AgentsInput): PlannedAgents {
  const { report, writer, agents, file: { models = {}, providers = {} } = {} } = input
  const names: ModelNames = { models, providers, report }
  checkModels(names)
  const planned = new Map<string, PlannedAgent>()
  for (const [name, data] of Object.entries(agents)) {
    planned.set(name, { name, ref: writer.reserve(name), data })
  }
  checkAllPermissions(input)
  for (const agent of planned.values())
    writer.make(agent.ref, call("agent", agentArg(agent, input, planned, names)))
  return { names: [...planned.keys()], get: (name) => planned.get(name) }
}

/**
 * A toolset without an agent of its own belongs to an agent that is never called. `at` is the path of the field's owner.
 */
export function toolsetAgent(
  name: string,
  toolset: ToolsetData,
  at: Path,
  input: Pick<AgentsInput, "report" | "file" | "writer" | "paths">,
): Ref | undefined {
  const { report, writer, paths, file: { permissions, mcps } = {} } = input
  const agents = { [name]: { model: "offline", toolsets: [toolset] } }
  const keys = new Map([[name, "toolset"]])
  const file = { permissions, mcps }
  return planAgents({ report, path: at, keys, agents, file, writer, paths }).get(name)?.ref
}

function checkAllPermissions({ report, agents, file, path = ["agents"], keys }: AgentsInput): void {
  const all: string[] = []
  let isKnown = true
  for (const [name, data] of Object.entries(agents)) {
    const at = [...path, keys?.get(name) ?? name]
    const names = agentToolNames(data)
    if (names === undefined) isKnown = false
    else all.push(...names)
    checkPermissions(data.permissions, names, `agent "${name}"`, [...at, "permissions"], report)
    for (const [i, toolset] of (data.toolsets ?? []).entries()) {
      const { tools } = toolset as { readonly tools?: readonly string[] | undefined }
      const whose = `the toolset "${toolset.type}"`
      checkPatterns(tools, toolNames(toolset), whose, [...at, "toolsets", i, "tools"], report)
    }
  }
  // The file's permissions also cover the tools of its steps, which are planned separately.
  if (isKnown && keys === undefined) {
    checkPermissions(file?.permissions, [...new Set(all)], "these agents", ["permissions"], report)
  }
}

function agentArg(
  { name, data }: PlannedAgent,
  input: AgentsInput,
  planned: ReadonlyMap<string, PlannedAgent>,
  models: ModelNames,
): ArgObject {
  const { report } = input
  const path = [...(input.path ?? ["agents"]), input.keys?.get(name) ?? name]
  for (const field of unsupportedIn(data)) {
    report.unsupported(`"${field.join(".")}" of an agent`, [...path, ...field], "key")
  }
  const refs = (field: "sub_agents" | "handoffs"): Arg => {
    const found = (data[field] ?? []).flatMap((other, i) => {
      const agent = planned.get(other)
      if (agent !== undefined) return [agent.ref]
      const message = `agent "${name}": "${other}" in ${field} not found in agents`
      report.error("UNKNOWN_AGENT", message, [...path, field, i], nearest(other, planned.keys()))
      return []
    })
    return found.length === 0 ? undefined : later(found, AGENT)
  }
  const { max_iterations, on_limit, num_history_items, structured_output, fallback } = data
  const paths = input.paths ?? new DefinitionPaths(report.document.file, report.all)
  const beside = (file: string, to: Path) => fromHere(paths.from(report.document.file, file, report.at(to)))
  const tools = (data.toolsets ?? []).flatMap((toolset, i) => {
    const at = { report, beside, path: [...path, "toolsets", i], mcps: input.file?.mcps }
    return toolsetCall(toolset, at) ?? []
  })
  if (structured_output !== undefined) {
    const at = [...path, "structured_output", "schema"]
    report.checkSchema(structured_output.schema, `the structured_output of agent "${name}"`, at)
  }
  const first = modelArg(data.model, [...path, "model"], models)
  const others = (fallback?.models ?? []).map((one, i) =>
    modelArg(one, [...path, "fallback", "models", i], models),
  )
  return {
    name,
    description: data.description,
    model: others.length === 0 ? first : [first, ...others],
    instructions: instructionsArg(data, path, beside, paths, input),
    tools: tools.length === 0 ? undefined : tools,
    onTruncated: data.on_truncated,
    output: structured_output && call("jsonSchema", schemaArg(structured_output)),
    messages: input.threadAgent === name ? call("conversation") : undefined,
    limits: max_iterations ? { iterations: max_iterations } : undefined,
    onLimit: on_limit,
    history: num_history_items ? call("lastItems", num_history_items) : undefined,
    calling: retriesArg(fallback?.retries),
    subAgents: refs("sub_agents"),
    handoffs: refs("handoffs"),
    handoffTools: data.handoffs === undefined ? undefined : "one",
    approval: approvalArg(input.file?.permissions, data.permissions),
    guardrails: guardrailsArg(data.guardrails, { report, agents: planned, path: [...path, "guardrails"] }),
  }
}

function unsupportedIn(data: AgentData): readonly (readonly string[])[] {
  const { fallback = {}, structured_output } = data
  return [
    ...UNSUPPORTED_AGENT_FIELDS.filter((field) => data[field] !== undefined).map((field) => [field]),
    ...(["cooldown", "no_fallback_status_codes"] as const)
      .filter((field) => fallback[field] !== undefined)
      .map((field) => ["fallback", field]),
    // Answers are always checked against their schema.
    ...(structured_output?.strict === false ? [["structured_output", "strict"]] : []),
  ]
}

function schemaArg({ name, description, schema }: NonNullable<AgentData["structured_output"]>): Arg {
  const described = description === undefined ? {} : { description }
  return { title: name, ...described, ...schema } as ArgObject
}

function instructionsArg(
  data: AgentData,
  path: Path,
  beside: (file: string, path: Path) => string,
  paths: DefinitionPaths,
  { instructions, report }: AgentsInput,
): Arg {
  const { instruction, add_date, add_environment_info, add_prompt_files = [] } = data
  const own = instruction === undefined ? undefined : (instructions?.(instruction) ?? instruction)
  if (!add_date && !add_environment_info && add_prompt_files.length === 0) return own
  const files = add_prompt_files.map((one, i) => beside(one, [...path, "add_prompt_files", i]))
  return call("agentText", own ?? "", {
    date: add_date || undefined,
    environment: add_environment_info || undefined,
    ...(files.length > 0 && { files, folder: fromHere(paths.rootOf(report.document.file)) }),
  })
}

function fromHere(path: string): string {
  return relative(process.cwd(), path) || "."
}

/** `retries` of a fallback counts retries per model, with -1 for none; `attempts` counts the first call too. */
function retriesArg(retries: number | undefined): Arg {
  if (retries === undefined || retries === 0) return undefined
  return { retry: { attempts: retries < 0 ? 1 : retries + 1 } }
}

function approvalArg(all: PermissionsData | undefined, own: PermissionsData | undefined): Arg {
  const rules = (["deny", "allow", "ask"] as const).map((kind): [string, Arg] => {
    const patterns = [...(all?.[kind] ?? []), ...(own?.[kind] ?? [])].map(ourToolName)
    return [kind, patterns.length === 0 ? undefined : patterns]
  })
  return definedArgs(Object.fromEntries(rules))
}

/** Models by the names that a definition gives them. */

export interface ModelNames {
  readonly models: Readonly<Record<string, ModelData>>
  readonly providers: Readonly<Record<string, ProviderData>>
  readonly report: DocumentReport
}

const OFFLINE = "offline"

/** The model with this name. An unknown one is reported at the path. */
export function modelArg(name: string | undefined, path: Path, known: ModelNames): Arg {
  if (name === undefined) return UNNAMED_MODEL
  if (name === OFFLINE) return OFFLINE
  if (Object.hasOwn(known.models, name)) return configArg(known.models[name] as ModelData, known.providers)
  const slash = name.indexOf("/")
  if (slash > 0 && slash < name.length - 1) {
    const provider = name.slice(0, slash)
    if (!Object.hasOwn(known.providers, provider)) {
      checkProvider(provider, path, known)
      return name
    }
    return configArg({ provider, model: name.slice(slash + 1) }, known.providers)
  }
  const message = `Unknown model "${name}": use a name from \`models\`, provider/model, or offline.`
  known.report.error("UNKNOWN_MODEL", message, path, nearest(name, Object.keys(known.models)))
  return OFFLINE
}

/** Only warns: the caller may override the agent's model, or register the provider before a run. */
function checkProvider(provider: string, path: Path, known: ModelNames): void {
  const names = [...Object.keys(known.providers), ...knownProviders()]
  if (names.includes(provider)) return
  const message = `Unknown provider "${provider}"; known providers: ${names.join(", ")}. Add an OpenAI-compatible server under \`providers\`, with its base_url.`
  known.report.warning("UNKNOWN_PROVIDER", message, path, nearest(provider, names))
}

function configArg(data: ModelData, providers: Readonly<Record<string, ProviderData>>): Arg {
  const own = Object.hasOwn(providers, data.provider) ? (providers[data.provider] as ProviderData) : undefined
  const written = data.token_key ?? own?.token_key
  const provider = own === undefined ? data.provider : (own.provider ?? "openai-compatible")
  const settings = definedArgs({
    temperature: data.temperature,
    maxOutputTokens: data.max_tokens,
    topP: data.top_p,
    frequencyPenalty: data.frequency_penalty,
    presencePenalty: data.presence_penalty,
    providerOptions: data.provider_opts === undefined ? undefined : { [provider]: data.provider_opts as Arg },
  })
  const tokenKey = written && (variableName(written) ?? written)
  const limits = limitArgs(data.limits) ?? limitArgs(own?.limits, data.provider)
  const more = definedArgs({ baseUrl: data.base_url ?? own?.base_url, tokenKey, settings, limits })
  return more === undefined ? `${provider}/${data.model}` : { provider, model: data.model, ...more }
}

/** Models of a provider that has limits share them. */
function limitArgs(limits: ModelData["limits"], provider?: string): ReturnType<typeof definedArgs> {
  if (limits === undefined) return undefined
  const { concurrency, per_minute, tokens_per_minute, pool = provider } = limits
  return definedArgs({ concurrency, perMinute: per_minute, tokensPerMinute: tokens_per_minute, pool })
}

/** The API that servers under `providers` are called with. */
const API_TYPE = "openai_chatcompletions"

/** Warns about unknown providers, and about fields that have no effect. */
function checkModels(known: ModelNames): void {
  const { report } = known
  for (const [name, { api_type = API_TYPE, provider }] of Object.entries(known.providers)) {
    if (api_type !== API_TYPE) {
      const message = `"api_type" of a provider is not supported: requests use ${API_TYPE}.`
      report.warning("NOT_SUPPORTED", message, ["providers", name, "api_type"])
    }
    if (provider !== undefined) checkProvider(provider, ["providers", name, "provider"], known)
  }
  for (const [name, data] of Object.entries(known.models)) {
    checkProvider(data.provider, ["models", name, "provider"], known)
    checkProviderOptions(data, name, report)
    for (const field of UNSUPPORTED_MODEL_FIELDS) {
      if (data[field] !== undefined) report.unsupported(`"${field}" of a model`, ["models", name, field])
    }
  }
}

/** The AI SDK's provider receives the options unchanged, and ignores unknown ones. */
function checkProviderOptions(
  { provider_opts = {} }: ModelData,
  model: string,
  report: DocumentReport,
): void {
  for (const option of Object.keys(provider_opts)) {
    if (!option.includes("_")) continue
    const camel = option.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    const message = `"${option}" in provider_opts has no effect: provider options are written in camelCase.`
    report.warning("NOT_SUPPORTED", message, ["models", model, "provider_opts", option], camel)
  }
}
