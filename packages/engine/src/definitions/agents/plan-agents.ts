/** Plans the agents of a definition as the calls that create them. */
import { relative } from "node:path"
import { nearest, type Path } from "../../document/index.ts"
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
import { guardrailsArg } from "./agent-functions.ts"
import {
  type AgentData,
  type AgentsFileData,
  type PermissionsData,
  type ToolsetData,
  UNSUPPORTED_AGENT_FIELDS,
} from "./agent-shape.ts"
import { hooksArg } from "./command-hooks.ts"
import { agentModels, checkModels, embeddingsName, type ModelNames, modelArg } from "./plan-models.ts"
import { agentToolNames, checkPatterns, checkPermissions, ourToolName, toolNames } from "./tool-names.ts"
import { type ToolsetContext, toolsetCall } from "./toolset-calls.ts"

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
  const unknown = new UnknownAgents()
  for (const agent of planned.values())
    writer.make(agent.ref, call("agent", agentArg(agent, input, planned, names, unknown)))
  unknown.report(report, [...planned.keys()])
  return { names: [...planned.keys()], get: (name) => planned.get(name) }
}

/** Agents that other agents name and that do not exist: each is one problem, however many name it. */
class UnknownAgents {
  readonly #byName = new Map<string, { readonly message: string; readonly paths: Path[] }>()

  add(name: string, message: string, path: Path): void {
    const known = this.#byName.get(name) ?? { message, paths: [] }
    this.#byName.set(name, known)
    known.paths.push(path)
  }

  report(report: DocumentReport, names: readonly string[]): void {
    for (const [name, { message, paths }] of this.#byName) {
      const [first = [], ...others] = paths
      report.error("UNKNOWN_AGENT", `${message}${report.alsoAt(others)}`, first, nearest(name, names))
    }
  }
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
  const { report, writer, paths, file: { permissions, mcps, rag, models, providers } = {} } = input
  const agents = { [name]: { model: "offline", toolsets: [toolset] } }
  const keys = new Map([[name, "toolset"]])
  const file = { permissions, mcps, rag, models, providers }
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
  shared: ModelNames,
  unknown: UnknownAgents,
): ArgObject {
  const { report } = input
  const models: ModelNames = {
    report,
    models: { ...shared.models, ...data.models },
    providers: { ...shared.providers, ...data.providers },
  }
  const path = [...(input.path ?? ["agents"]), input.keys?.get(name) ?? name]
  for (const field of unsupportedIn(data)) {
    report.unsupported(`"${field.join(".")}" of an agent`, [...path, ...field], "key")
  }
  if (data.code_mode_tools === true) {
    const message =
      '"code_mode_tools" has no effect: code that a model writes would run here without a sandbox. The agent calls its tools one by one.'
    report.warning("NOT_SUPPORTED", message, [...path, "code_mode_tools"], undefined, "key")
  }
  const refs = (field: "sub_agents" | "handoffs"): Arg => {
    const found = (data[field] ?? []).flatMap((other, i) => {
      const agent = planned.get(other)
      if (agent !== undefined) return [agent.ref]
      if (other.includes("/")) {
        const message = `"${other}" is an agent of a registry or an address, which is not supported: it is left out. Add the agent to this file.`
        report.warning("NOT_SUPPORTED", message, [...path, field, i])
        return []
      }
      const message = `agent "${name}": "${other}" in ${field} not found in agents`
      unknown.add(other, message, [...path, field, i])
      return []
    })
    return found.length === 0 ? undefined : later(found, AGENT)
  }
  const { max_iterations, on_limit, num_history_items, structured_output, fallback } = data
  const paths = input.paths ?? new DefinitionPaths(report.document.file, report.all)
  const beside = (file: string, to: Path) => fromHere(paths.from(report.document.file, file, report.at(to)))
  const subAgents = refs("sub_agents")
  const named = new Map<string, Arg>()
  const context: Omit<ToolsetContext, "path"> = {
    report,
    beside,
    mcps: input.file?.mcps,
    subAgents,
    useModel: (model, to) => named.set(model, modelArg(model, to, models)),
    rag: {
      sources: input.file?.rag ?? {},
      dataFrom: (file, to) => fromHere(paths.dataFrom(report.document.file, file, report.at(to))),
      embeddingsOf: (model) => embeddingsName(model, models),
    },
  }
  const tools: Arg[] = toolsetsOf(data, path).flatMap(
    ([toolset, at]) => toolsetCall(toolset, { ...context, path: at }) ?? [],
  )
  const skills = skillsArg(data, path, beside, report)
  if (skills !== undefined) tools.push(skills)
  if (structured_output !== undefined) {
    const at = [...path, "structured_output", "schema"]
    report.checkSchema(structured_output.schema, `the structured_output of agent "${name}"`, at)
  }
  const chosen = agentModels(data.model, [...path, "model"], models)
  const picked = (data.toolsets ?? []).flatMap((one) => (one.type === "model_picker" ? one.models : []))
  const middleware = [
    ...(picked.length === 0 ? [] : [{ prepareStep: call("pickedModel", picked) }]),
    ...[hooksArg(data.hooks, [...path, "hooks"], report) ?? []].flat(),
  ]
  const others = (fallback?.models ?? []).map((one, i) =>
    modelArg(one, [...path, "fallback", "models", i], models),
  )
  return {
    name,
    description: data.description,
    model: others.length === 0 ? chosen.model : [chosen.model, ...others],
    models: named.size === 0 ? chosen.models : { ...chosen.models, ...Object.fromEntries(named) },
    prepareStep: chosen.prepareStep,
    middleware: middleware.length === 0 ? undefined : middleware,
    instructions: instructionsArg(data, path, beside, paths, input),
    tools: tools.length === 0 ? undefined : tools,
    onTruncated: data.on_truncated,
    output: structured_output && call("jsonSchema", schemaArg(structured_output)),
    messages: input.threadAgent === name ? call("conversation") : undefined,
    limits: max_iterations ? { iterations: max_iterations } : undefined,
    onLimit: on_limit,
    history: num_history_items ? call("lastItems", num_history_items) : undefined,
    calling: retriesArg(fallback?.retries),
    subAgents,
    handoffs: refs("handoffs"),
    handoffTools: data.handoffs === undefined ? undefined : "one",
    approval: approvalArg(input.file?.permissions, data.permissions),
    guardrails: guardrailsArg(data.guardrails, { report, agents: planned, path: [...path, "guardrails"] }),
  }
}

/** The toolsets of an agent with their places; `use_mcps` and `rag` are short forms of toolsets. */
function toolsetsOf(data: AgentData, path: Path): readonly (readonly [ToolsetData, Path])[] {
  const { toolsets = [], use_mcps = [], rag = [] } = data
  return [
    ...toolsets.map((one, i) => [one, [...path, "toolsets", i]] as const),
    ...use_mcps.map((ref, i) => [{ type: "mcp", ref }, [...path, "use_mcps", i]] as const),
    ...rag.map((ref, i) => [{ type: "rag", ref }, [...path, "rag", i]] as const),
  ]
}

/** The folders of `skills: true`, beside the definition. */
const SKILL_FOLDERS = ["skills", ".agents/skills", ".claude/skills"]

function skillsArg(
  { skills }: AgentData,
  path: Path,
  beside: (file: string, path: Path) => string,
  report: DocumentReport,
): Arg {
  if (skills === undefined || skills === false) return undefined
  const at = [...path, "skills"]
  const listed = skills === true ? ["local"] : skills
  const folders = listed.flatMap((one, i) => {
    if (typeof one !== "string") return []
    if (one === "local") return SKILL_FOLDERS.map((folder) => beside(folder, at))
    return [beside(one, [...at, i])]
  })
  const inline = listed.flatMap((one, i) => {
    if (typeof one === "string") return []
    const { name, description, instructions, ...others } = one
    for (const field of Object.keys(others)) {
      report.unsupported(`"${field}" of a skill`, [...at, i, field], "key")
    }
    return [{ name, description, instructions }]
  })
  return call("skills", {
    folders: folders.length === 0 ? undefined : folders,
    inline: inline.length === 0 ? undefined : inline,
  })
}

function unsupportedIn(data: AgentData): readonly Path[] {
  const { fallback = {}, structured_output } = data
  return [
    ...UNSUPPORTED_AGENT_FIELDS.filter((field) => data[field] !== undefined).map((field) => [field]),
    ...(["cooldown", "no_fallback_status_codes"] as const)
      .filter((field) => fallback[field] !== undefined)
      .map((field) => ["fallback", field]),
    // Answers are always checked against their schema.
    ...(structured_output?.strict === false ? [["structured_output", "strict"]] : []),
    ...(structured_output?.mode === undefined ? [] : [["structured_output", "mode"]]),
    ...commandFields(data.commands),
  ]
}

/** A command is a prompt: it can neither switch to an agent nor open a page. */
function commandFields(commands: AgentData["commands"]): readonly Path[] {
  const groups = Array.isArray(commands) ? [...commands.entries()] : [[undefined, commands ?? {}] as const]
  return groups.flatMap(([i, group]) =>
    Object.entries(group).flatMap(([name, command]) =>
      (["agent", "url"] as const)
        .filter((field) => typeof command !== "string" && command[field] !== undefined)
        .map((field) => ["commands", ...(i === undefined ? [] : [i]), name, field]),
    ),
  )
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
