/**
 * Loads a configuration file of the goal pipeline, YAML or JSON, with `${NAME}`. Returns the configuration, or all its
 * problems.
 */
import { basename, dirname, extname, isAbsolute, join, normalize } from "node:path"
import type { Agent } from "../../agents/index.ts"
import type { Json, SuperstepError } from "../../core/index.ts"
import type { DefinitionText, LoadOptions } from "../../definitions/index.ts"
import {
  checkTrust,
  DefinitionPaths,
  environmentOf,
  secretReference,
  splitSecrets,
} from "../../definitions/internal.ts"
import {
  type Diagnostic,
  type Document,
  type Path,
  parseDocument,
  quotedValue,
  Report,
  readShape,
} from "../../document/index.ts"
import { variables } from "../../expressions/index.ts"
import { fileError, readTextFile } from "../../files/index.ts"
import { type ConfiguredSource, closeAll, type GoalBackends, OpenBackends } from "./goal-backends.ts"
import type { GoalAgent, GoalConfig } from "./goal-config.ts"
import {
  COUNTS,
  type FindAgent,
  FLAGS,
  type GoalAgents,
  type GoalData,
  goalAgents,
  goalShape,
  OTHER_NAMES,
  withAliases,
} from "./goal-shape.ts"
import { type GraphGoalConfig, usesGraph } from "./graph-workflow.ts"

export interface LoadGoalOptions
  extends Pick<
    LoadOptions,
    "read" | "cwd" | "trust" | "variables" | "secrets" | "env" | "model" | "functions"
  > {
  /** Agents that are not in the file, by id. */
  readonly agent?: FindAgent | undefined
  /** Opens the file's search settings: `goalBackends` of `@superstep/retrieval`. Called on first use. */
  readonly backends?: (() => GoalBackends | Promise<GoalBackends>) | undefined
}

export interface GoalFile {
  readonly file: string
  readonly name: string
  readonly config: GraphGoalConfig
  readonly agents: ReadonlyMap<string, Agent>
  /** The sources that it searches, in the order of the file. */
  readonly sources: readonly ConfiguredSource[]
  /** The data of the file, unchanged. */
  readonly data: Json
  /** Closes what its toolsets and searches opened. */
  close(): Promise<void>
}

export interface LoadedGoal {
  /** Absent if there are errors. */
  readonly goal?: GoalFile | undefined
  readonly diagnostics: readonly Diagnostic[]
  readonly sources: ReadonlyMap<string, string>
}

export function loadGoalConfig(
  source: string | DefinitionText,
  callerOptions: LoadGoalOptions = {},
): LoadedGoal {
  const options = { ...callerOptions, ...splitSecrets(callerOptions) }
  const { file, text } =
    typeof source === "string" ? { file: source, text: readText(source, options) } : source
  const report = new Report()
  const sources = new Map<string, string>()
  const nothing = () => ({ diagnostics: report.diagnostics, sources })
  if (typeof text !== "string") {
    report.error(text.code, text.message)
    return nothing()
  }
  sources.set(file, text)
  const { document, diagnostics } = parseDocument(text, file)
  report.add(diagnostics)
  if (document === undefined) return nothing()
  const goal = readGoal(document, report, options)
  return report.hasErrors ? nothing() : { goal, ...nothing() }
}

/** Whether a document looks like a configuration of the goal pipeline, valid or not. */
export function isGoalConfig({ file, text }: DefinitionText): boolean {
  const { data } = parseDocument(text, file).document ?? {}
  if (typeof data !== "object" || data === null || Array.isArray(data)) return false
  return Object.keys(data).some((key) => (OTHER_NAMES.get(key) ?? key) === "assistants")
}

/** Maximum bytes of a configuration. */
const MAX_CONFIG = 10_000_000

function readText(file: string, { read, cwd }: LoadGoalOptions): string | SuperstepError {
  try {
    return read?.(file) ?? readTextFile(file, { maxBytes: MAX_CONFIG, cwd })
  } catch (error) {
    return fileError(file, error)
  }
}

/** Fields that only a database receives. Only these contain the values of secrets. */
const CREDENTIALS: ReadonlySet<unknown> = new Set(["url", "user", "password"])

function lookupIn(options: LoadGoalOptions): Lookup {
  const { variables = {}, secrets = {} } = options
  const env = environmentOf(options)
  return (name, path) => {
    if (Object.hasOwn(secrets, name)) {
      const isForDatabase = path[0] === "search" && CREDENTIALS.has(path.at(-1))
      return isForDatabase ? secrets[name] : secretReference(name)
    }
    return Object.hasOwn(variables, name) ? String(variables[name]) : env[name]
  }
}

/** A definition must be in the folder of the configuration. For an untrusted file, so must its data. */
function checkPaths({ file, place }: Document, data: GoalData, paths: DefinitionPaths): void {
  const check = (path: string | undefined, at: Path) =>
    path !== undefined && paths.dataFrom(file, path, place(at))
  const definition = data.graph_definition
  if (definition !== undefined) paths.from(file, definition, place(["graph_definition"]))
  const { databases = [], vector, graph } = data.search ?? {}
  for (const [i, one] of databases.entries()) {
    const at = ["search", "databases", i]
    if (one.type === "sqlite") check(one.file, [...at, "file"])
    if (one.type !== "csv") continue
    check(one.folder, [...at, "folder"])
    for (const [n, path] of (one.files ?? []).entries()) check(path, [...at, "files", n])
  }
  check(vector?.index, ["search", "vector", "index"])
  for (const [n, path] of (vector?.documents ?? []).entries())
    check(path, ["search", "vector", "documents", n])
  if (graph?.type === "ladybug") check(graph.path, ["search", "graph", "path"])
}

function readGoal(document: Document, report: Report, options: LoadGoalOptions): GoalFile | undefined {
  const paths = new DefinitionPaths(document.file, report, options.cwd, options.trust)
  const { document: settled, inFileTerms } = settledDocument(document, lookupIn(options), report)
  if (options.trust === "none") checkTrust(settled, paths, report, options.cwd)
  const { value: data, diagnostics } = readShape(settled, goalShape)
  report.add(diagnostics.map(inFileTerms))
  if (data === undefined) return undefined
  const agents = goalAgents(settled, data, report, { ...options, paths }, options.agent)
  checkPaths(settled, data, paths)
  const opened = new OpenBackends(options.backends ?? missingBackends)
  if (data.search !== undefined && options.backends === undefined && needsBackends(data)) {
    const message =
      "Search settings need backends: pass { backends }, for example those of @superstep/retrieval."
    report.error("BACKENDS_MISSING", message, settled.place(["search"], "key"))
  }
  const config = configOf(settled, data, agents, opened, report)
  if (config === undefined) return undefined
  const { file } = document
  const name = data.name ?? basename(file, extname(file))
  return {
    file,
    name,
    config: { ...config, name, ...graphPart(settled, data, options) },
    agents: agents.made,
    sources: opened.sources,
    data: document.data,
    close: () =>
      closeAll([() => opened.close(), ...[...agents.made.values()].map((one) => () => one.close())]),
  }
}

function configOf(
  { file, place }: Document,
  data: GoalData,
  agents: GoalAgents,
  opened: OpenBackends,
  report: Report,
): GoalConfig | undefined {
  const named = (
    field: "triage" | "reviewer" | "sql_agent" | "graph_agent" | "vector_agent",
    usual?: string,
  ) => {
    const id = data[field] ?? usual
    return id === undefined ? undefined : agents.get(id, [field])
  }
  const [triage, reviewer] = [named("triage", "triage"), named("reviewer", "reviewer")]
  const [agent, graphAgent, vectorAgent] = [named("sql_agent"), named("graph_agent"), named("vector_agent")]
  const assistants = data.assistants.map((id, i) => agents.get(id, ["assistants", i]))
  const { databases: settings = [], graph: graphSettings, vector: index, results } = data.search ?? {}
  for (const [i, { id }] of settings.entries()) {
    if (settings.findIndex((one) => one.id === id) === i) continue
    const message = `Database "${id}" already exists: each needs its own id.`
    report.error("DUPLICATE_DATABASE", message, place(["search", "databases", i, "id"]))
  }
  const list = settings.map((one) => opened.database(withPaths(file, one)))
  const databases = list.length === 0 ? undefined : opened.schemaRetriever(list)
  if (agent !== undefined && databases === undefined) {
    const message = "The SQL agent has no database: add databases under `search`."
    report.warning("NO_DATABASES", message, place(["sql_agent"]))
  }
  const graphSearch = graphSettings && opened.graph(withPaths(file, graphSettings))
  const documents = index && opened.index(withPaths(file, index))
  const [graph, vector] = [graphSearch ?? graphAgent, documents ?? vectorAgent]
  const isGraphUsed = data.use_graph_search ?? true
  if (triage === undefined || reviewer === undefined || assistants.includes(undefined)) return undefined
  return {
    triage,
    reviewer,
    assistants: assistants as GoalAgent[],
    ...(databases !== undefined && { databases }),
    // Documents and a graph are searched together, so there is nothing to choose.
    ...(list.length > 0 && {
      ranker: opened.sourceRanker({
        databases: list,
        documents,
        graph: isGraphUsed ? graphSearch : undefined,
      }),
    }),
    ...(agent !== undefined && databases !== undefined && { sql: { agent, databases } }),
    ...(graph !== undefined && { graph }),
    // With a graph, the agent writes its queries; without one, the agent is the search.
    ...(graphSearch !== undefined && graphAgent !== undefined && { cypher: graphAgent }),
    ...(vector !== undefined && { vector }),
    ...(results !== undefined && { results }),
    useGraphSearch: data.use_graph_search,
    multiRouteAlways: data.multi_route_always,
    maxReviewPasses: data.max_review_passes,
  }
}

/** The graph uses the agents and the settings of the configuration. */
function graphPart(document: Document, data: GoalData, options: LoadGoalOptions): Partial<GraphGoalConfig> {
  const { graph_definition: path, use_graph_execution: useGraphExecution, fallback } = data
  const { read, cwd, trust, secrets, env, model, functions } = options
  const { agents = {}, models, providers, permissions } = data
  const switches = { useGraphExecution, fallback, load: { env, trust } }
  if (path === undefined || !usesGraph({ ...switches, definition: path } as GraphGoalConfig)) return switches
  const { file } = document
  // Not the file's own name, because problems would be shown at places that do not exist in it.
  const agentsFile = normalize(`${file} (agents)`)
  const agentsText = JSON.stringify({ agents: withAliases(agents), models, providers, permissions }, null, 2)
  return {
    ...switches,
    definition: beside(file, path),
    load: {
      env,
      cwd,
      trust,
      secrets,
      model,
      functions,
      agents: agentsFile,
      read: (name) => (name === agentsFile ? agentsText : read?.(name)),
      variables: { ...settingsOf(document), ...data.variables, ...options.variables },
    },
  }
}

/** Settings by their names here, and as environment variables: `AGENT_ID_TRIAGE`. */
function settingsOf({ data }: Document): Record<string, Json> {
  const settings: Record<string, Json> = {}
  for (const [name, value] of Object.entries(data as Record<string, Json>)) {
    if (typeof value === "object" && name !== "assistants") continue
    const others = [...OTHER_NAMES].filter(([, known]) => known === name).map(([other]) => other)
    for (const one of [name, ...others]) {
      settings[one] = value
      settings[one.toUpperCase()] = value
    }
  }
  return settings
}

function needsBackends({ search = {} }: GoalData): boolean {
  return search.databases !== undefined || search.vector !== undefined || search.graph !== undefined
}

function missingBackends(): never {
  throw new Error("there are no backends")
}

/** Resolves the files in the settings relative to the configuration. */
function withPaths<T extends object>(file: string, settings: T): T {
  const entries = Object.entries(settings).map(([name, value]) => {
    if (name === "files" || name === "documents")
      return [name, (value as string[]).map((path) => beside(file, path))]
    return [name, PATHS.has(name) ? beside(file, value as string) : value]
  })
  return Object.fromEntries(entries) as T
}

const PATHS: ReadonlySet<string> = new Set(["folder", "file", "index", "path"])

function beside(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path)
}

/**
 * A normalized configuration: variables are filled in, and fields have their current names. Source positions refer to the
 * file, and messages show the variable instead of its value, which may be a secret.
 */

interface Settled {
  readonly document: Document
  /** Replaces values with the variables that the file contains. */
  inFileTerms(diagnostic: Diagnostic): Diagnostic
}

/** `path` is where the variable is written. */
type Lookup = (name: string, path: Path) => string | undefined

function settledDocument(document: Document, lookup: Lookup, report: Report): Settled {
  const { data } = document
  const { fill, asWritten } = filler(document, lookup, report)
  const inFileTerms = (one: Diagnostic) => ({ ...one, message: asWritten(one.message) })
  if (typeof data !== "object" || data === null || Array.isArray(data)) return { document, inFileTerms }
  const written = new Map<string, string>()
  const settled: Record<string, Json> = {}
  for (const [key, value] of Object.entries(data as Record<string, Json>)) {
    const name = OTHER_NAMES.get(key) ?? key
    const before = written.get(name)
    if (before !== undefined) {
      const message = `\`${key}\` and \`${before}\` are the same field; set only one of them.`
      report.error("DUPLICATE_KEY", message, document.place([key], "key"))
      continue
    }
    written.set(name, key)
    settled[name] = meant(name, fill(value, [key]))
  }
  const pathIn = ([first, ...rest]: Path): Path =>
    first === undefined ? [] : [written.get(String(first)) ?? first, ...rest]
  const place: Document["place"] = (path, part) => document.place(pathIn(path), part)
  return { document: { ...document, data: settled, place }, inFileTerms }
}

/** Fills in variables. `asWritten` restores them in messages that quote their values. */
function filler(document: Document, lookup: Lookup, report: Report) {
  /** Filled strings and their source text, both as messages quote them. */
  const quotes = new Map<string, string>()

  function fillText(value: string, path: Path): string {
    const { text, missing } = variables(value, (name) => lookup(name, path))
    for (const { name, start, end } of missing) {
      const message = `There is no value for \${${name}}: set it in the environment, or write \${${name}:-default}.`
      report.error("VARIABLE_MISSING", message, document.place(path, { from: start, to: end }))
    }
    if (text !== value && text !== "") quotes.set(quotedValue(text), quotedValue(value))
    return text
  }

  function fill(value: Json, path: Path): Json {
    if (typeof value === "string") return isProse(path) ? value : fillText(value, path)
    if (Array.isArray(value)) return value.map((one: Json, i) => fill(one, [...path, i]))
    if (typeof value !== "object" || value === null) return value
    const entries = Object.entries(value as Record<string, Json>)
    return Object.fromEntries(entries.map(([key, one]) => [key, fill(one, [...path, key])]))
  }

  const asWritten = (message: string) =>
    [...quotes].reduce((text, [filled, written]) => text.replaceAll(filled, () => written), message)
  return { fill, asWritten }
}

/** Whether the text is an agent's prose, which may contain a dollar sign. Only an agent's models are settings. */
function isProse([section, , field]: Path): boolean {
  return section === "agents" && field !== undefined && field !== "model" && field !== "fallback"
}

/** Converts the text of a variable to the type of its field. Older configurations separate ids with commas. */
function meant(name: string, value: Json): Json {
  if (name === "search" && typeof value === "object" && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value as Record<string, Json>)
    return Object.fromEntries(entries.map(([key, one]) => [key, meant(`search.${key}`, one)]))
  }
  if (typeof value !== "string") return value
  if (name === "assistants") {
    const ids = value.split(",").map((id) => id.trim())
    return ids.filter((id) => id !== "")
  }
  if (FLAGS.has(name) && /^(?:true|1|yes|on)$/i.test(value.trim())) return true
  if (FLAGS.has(name) && /^(?:false|0|no|off|)$/i.test(value.trim())) return false
  return COUNTS.has(name) && /^\d+$/.test(value.trim()) ? Number(value) : value
}
