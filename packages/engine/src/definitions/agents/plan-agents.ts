/** The agents of a definition, as calls that make them. */
import { relative } from "node:path"
import { checkSchema } from "../check-schema.ts"
import { DefinitionPaths } from "../definition-paths.ts"
import { type Document, nearest, type Path, type Report } from "../document/index.ts"
import { type Arg, type ArgObject, call, later, type PlanWriter, type Ref } from "../plan/index.ts"
import {
  type AgentData,
  type ModelData,
  type PermissionsData,
  type ProviderData,
  UNSUPPORTED_AGENT_FIELDS,
} from "./agent-shape.ts"
import { checkModels, type ModelNames, modelArg } from "./model-args.ts"
import { ourToolName } from "./tool-names.ts"
import { toolsetCall } from "./toolset-calls.ts"

export interface AgentsInput {
  readonly document: Document
  /** Where the agents are in the document. Default: `agents`. */
  readonly path?: Path | undefined
  /** What an agent's data is found under, where that is not its name: the place of a row in a list. */
  readonly keys?: ReadonlyMap<string, string | number> | undefined
  readonly agents: Readonly<Record<string, AgentData>>
  readonly models?: Readonly<Record<string, ModelData>> | undefined
  readonly providers?: Readonly<Record<string, ProviderData>> | undefined
  /** For all agents. */
  readonly permissions?: PermissionsData | undefined
  readonly report: Report
  readonly writer: PlanWriter
  /** Default: the document's own folder. */
  readonly paths?: DefinitionPaths | undefined
  /** The agent whose conversation goes on from run to run of a thread. */
  readonly lasting?: string | undefined
  /** How instructions with templates become an argument; absent: they are plain text. */
  readonly instructions?: ((text: string, path: Path) => Arg) | undefined
}

const AGENT = { name: "Agent", from: "superstep/agents" }

export interface PlannedAgent {
  readonly name: string
  readonly ref: Ref
  readonly data: AgentData
  /** Its answer is data, not text. */
  readonly hasOutput: boolean
  readonly hasTools: boolean
}

export interface PlannedAgents {
  readonly names: readonly string[]
  get(name: string): PlannedAgent | undefined
}

export function planAgents(input: AgentsInput): PlannedAgents {
  const { document, report, writer, agents, models = {}, providers = {} } = input
  const names: ModelNames = { models, providers, report, place: (path) => document.place(path) }
  checkModels(names)
  const planned = new Map<string, PlannedAgent>()
  for (const [name, data] of Object.entries(agents)) {
    const { structured_output, toolsets = [] } = data
    const hasOutput = structured_output !== undefined
    planned.set(name, { name, ref: writer.reserve(name), data, hasOutput, hasTools: toolsets.length > 0 })
  }
  for (const agent of planned.values())
    writer.make(agent.ref, call("agent", agentArg(agent, input, planned, names)))
  return { names: [...planned.keys()], get: (name) => planned.get(name) }
}

function agentArg(
  { name, data }: PlannedAgent,
  input: AgentsInput,
  planned: ReadonlyMap<string, PlannedAgent>,
  models: ModelNames,
): ArgObject {
  const { document, report } = input
  const path = [...(input.path ?? ["agents"]), input.keys?.get(name) ?? name]
  for (const field of unsupportedIn(data)) {
    const text = `"${field.join(".")}" of an agent is not supported here, and does nothing.`
    report.warning("NOT_SUPPORTED", text, document.place([...path, ...field], "key"))
  }
  const fellows = (field: "sub_agents" | "handoffs"): Arg => {
    const refs = (data[field] ?? []).flatMap((other, i) => {
      const found = planned.get(other)
      if (found !== undefined) return [found.ref]
      const text = `agent "${name}": "${other}" in ${field} is not found in agents`
      report.error("UNKNOWN_AGENT", text, document.place([...path, field, i]), nearest(other, planned.keys()))
      return []
    })
    return refs.length === 0 ? undefined : later(refs, AGENT)
  }
  const { max_iterations, num_history_items, structured_output, fallback } = data
  const paths = input.paths ?? new DefinitionPaths(document.file, report)
  const tools = (data.toolsets ?? []).flatMap((toolset, i) => {
    const place = (to: Path) => document.place(to)
    const beside = (file: string, to: Path) => paths.from(document.file, file, place(to))
    const at = { report, beside, path: [...path, "toolsets", i], place }
    return toolsetCall(toolset, at) ?? []
  })
  if (structured_output !== undefined) {
    checkSchema(structured_output.schema, `the structured_output of agent "${name}"`, {
      report,
      path: [...path, "structured_output", "schema"],
      place: (to, part) => document.place(to, part),
    })
  }
  const first = modelArg(data.model, [...path, "model"], models)
  const others = (fallback?.models ?? []).map((one, i) =>
    modelArg(one, [...path, "fallback", "models", i], models),
  )
  return {
    name,
    description: data.description,
    model: others.length === 0 ? first : [first, ...others],
    instructions: instructionsArg(data, path, paths, input),
    tools: tools.length === 0 ? undefined : tools,
    output: structured_output && call("jsonSchema", schemaArg(structured_output)),
    messages: input.lasting === name ? call("conversation") : undefined,
    limits: max_iterations ? { iterations: max_iterations } : undefined,
    history: num_history_items ? call("lastItems", num_history_items) : undefined,
    calling: retriesArg(fallback?.retries),
    subAgents: fellows("sub_agents"),
    handoffs: fellows("handoffs"),
    handoffTools: data.handoffs === undefined ? undefined : "one",
    approval: approvalArg(input.permissions, data.permissions),
  }
}

/** Fields that are read and do nothing. */
function unsupportedIn(data: AgentData): readonly (readonly string[])[] {
  const { fallback = {}, structured_output } = data
  return [
    ...UNSUPPORTED_AGENT_FIELDS.filter((field) => data[field] !== undefined).map((field) => [field]),
    ...(["cooldown", "no_fallback_status_codes"] as const)
      .filter((field) => fallback[field] !== undefined)
      .map((field) => ["fallback", field]),
    // Answers are held to their schema always.
    ...(structured_output?.strict === false ? [["structured_output", "strict"]] : []),
  ]
}

/** What the answer is called, and what it is, is part of its schema. */
function schemaArg({ name, description, schema }: NonNullable<AgentData["structured_output"]>): Arg {
  const described = description === undefined ? {} : { description }
  return { title: name, ...described, ...schema } as ArgObject
}

function instructionsArg(data: AgentData, path: Path, paths: DefinitionPaths, input: AgentsInput): Arg {
  const { file, place } = input.document
  const { instruction, add_date, add_environment_info, add_prompt_files = [] } = data
  const own =
    instruction === undefined
      ? undefined
      : (input.instructions?.(instruction, [...path, "instruction"]) ?? instruction)
  if (!add_date && !add_environment_info && add_prompt_files.length === 0) return own
  const files = add_prompt_files.map((one, i) =>
    fromHere(paths.from(file, one, place([...path, "add_prompt_files", i]))),
  )
  return call("agentText", own ?? "", {
    date: add_date || undefined,
    environment: add_environment_info || undefined,
    ...(files.length > 0 && { files, folder: fromHere(paths.rootOf(file)) }),
  })
}

/** As the working directory sees it. */
function fromHere(path: string): string {
  return relative(process.cwd(), path) || "."
}

/** `retries` of a fallback: how often each model is asked again; -1: never. */
function retriesArg(retries: number | undefined): Arg {
  if (retries === undefined || retries === 0) return undefined
  return { retry: { attempts: retries < 0 ? 1 : retries + 1 } }
}

function approvalArg(all: PermissionsData | undefined, own: PermissionsData | undefined): Arg {
  const rules = (["deny", "allow", "ask"] as const).map((kind): [string, Arg] => {
    const patterns = [...(all?.[kind] ?? []), ...(own?.[kind] ?? [])].map(ourToolName)
    return [kind, patterns.length === 0 ? undefined : patterns]
  })
  return rules.every(([, patterns]) => patterns === undefined) ? undefined : Object.fromEntries(rules)
}
