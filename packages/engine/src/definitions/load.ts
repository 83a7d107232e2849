/** Loads a workflow from a file: reads it, checks it, compiles it to a plan, and links the plan. */
import { basename, dirname, extname, isAbsolute, join, normalize, resolve } from "node:path"
import { type Agent, agent, isAgent } from "../agents/index.ts"
import type { Workflow } from "../builder/index.ts"
import { isSuperstepError, type Json } from "../core/index.ts"
import { isRecord } from "../core/internal.ts"
import { type Document, nearest, parseDocument, Report, type SourceRange } from "../document/index.ts"
import { fileError, insideFolder, outsideFolder, readTextFile } from "../files/index.ts"
import type { ModelRef } from "../models/index.ts"
import { type DeepResearchOptions, RESEARCH_ROLES, type ResearchRole } from "../patterns/research/index.ts"
import { webSearch } from "../tools/index.ts"
import { agentFunctions } from "./agents/index.ts"
import { checkTrust, trustedFunctions } from "./check-trust.ts"
import {
  type Definition,
  DefinitionPaths,
  type Dialect,
  environmentOf,
  type Loaded,
  type LoadOptions,
} from "./definition.ts"
import { DocumentReport } from "./dialect-input.ts"
import { flowFunctions } from "./flow.ts"
import { graphFields, graphFunctions, graphJsonSchema, planGraph } from "./graph/index.ts"
import { type GraphOptions, graphInfo } from "./graph/nodes/index.ts"
import { importFunctions, lazyFunction } from "./import-function.ts"
import {
  eject,
  type Linked,
  link,
  type Plan,
  type PlanFunction,
  type PlanFunctions,
  PlanWriter,
  type Ref,
  reachable,
} from "./plan/index.ts"
import {
  planAgentsFile,
  planSteps,
  stepsFields,
  stepsFunctions,
  stepsJsonSchema,
  stepsUseInput,
} from "./steps/index.ts"
import { type LayoutEntry, type StepListOptions, stepList } from "./steps/nodes/index.ts"
import { splitSecrets, withVariables } from "./variables.ts"

export interface DefinitionText {
  /** The name that messages use. Included files are resolved relative to it. */
  readonly file: string
  readonly text: string
}

/** Returns all problems at once. If there are errors, there is no definition. */
export function loadDefinition(source: string | DefinitionText, loadOptions: LoadOptions = {}): Loaded {
  const options = { ...loadOptions, ...splitSecrets(loadOptions) }
  const functions = functionsFor(options)
  const loading = new Loading(options, Object.keys(functions))
  const { file, text } = typeof source === "string" ? { file: source, text: undefined } : source
  const loaded = loading.file(file, undefined, text)
  const { report, sources, dialect } = loading
  const plan = loaded === undefined || report.hasErrors ? undefined : loading.writer.plan(loaded.ref)
  const linked = plan && linkedOrReported(plan, functions, options, report)
  if (loaded === undefined || plan === undefined || linked === undefined) {
    return { dialect, diagnostics: report.diagnostics, sources }
  }
  const agents = agentsIn(linked)
  const definition: Definition = {
    file,
    name: loaded.name,
    dialect: loaded.dialect,
    workflow: linked.workflow as Workflow<string, unknown>,
    agents: new Map(agents.map(([, agent]) => [agent.name, agent])),
    // Found when asked for: checking or serving a definition needs neither.
    get usesInput() {
      return loaded.dialect === "steps" ? stepsUseInput(loaded.document.data) : agents.length > 0
    },
    get unusedAgents() {
      return unusedIn(plan, agents)
    },
    data: loaded.document.data,
    plan,
    importModules: () => importFunctions(plan, options),
    eject: () => eject(plan, functions, { note: `Generated from ${basename(file)}.` }),
    async close() {
      for (const one of closableIn(linked)) await one.close()
    },
  }
  return { definition, dialect, diagnostics: report.diagnostics, sources }
}

/** Reports problems that appear only when the workflow is built, such as an invalid graph or option. */
function linkedOrReported(
  plan: Plan,
  functions: PlanFunctions,
  options: LoadOptions,
  report: Report,
): Linked | undefined {
  try {
    return link(plan, withOverrides(functions, options), (imported) => lazyFunction(imported, options))
  } catch (error) {
    if (!isSuperstepError(error)) throw error
    report.error(error.code, error.message)
    return undefined
  }
}

/** Agents with their toolsets, and opened documents. */
function closableIn({ values }: Linked): readonly { close(): Promise<void> }[] {
  type Value = { readonly close?: unknown } | null | undefined
  const isClosable = (one: unknown): one is { close(): Promise<void> } =>
    typeof (one as Value)?.close === "function"
  return [...values.values()].filter(isClosable)
}

function agentsIn({ values }: Linked): readonly [string, Agent][] {
  return [...values].filter((entry): entry is [string, Agent] => isAgent(entry[1]))
}

function unusedIn(plan: Plan, agents: ReturnType<typeof agentsIn>): ReadonlySet<string> {
  const used = reachable(plan)
  const unused = agents.filter(([name]) => !used.has(name))
  return new Set(unused.map(([, agent]) => agent.name))
}

/** Maximum bytes of the file that the user names. */
const MAX_DEFINITION = 10_000_000
/** Maximum bytes of a file that a definition names. */
const MAX_INCLUDED = 1_000_000

interface LoadedFile {
  readonly document: Document
  readonly dialect: Dialect
  readonly name: string
  readonly ref: Ref
}

/**
 * One definition and the files that it includes. They share one plan and one report. A file is compiled once, even if it
 * is included several times; a file that includes itself is refused.
 */
class Loading {
  readonly report = new Report()
  readonly sources = new Map<string, string>()
  readonly writer: PlanWriter
  /** The dialect of the first file, once it is known. */
  dialect: Dialect | undefined
  readonly #options: LoadOptions
  #paths: DefinitionPaths | undefined
  readonly #files = new Map<string, LoadedFile | undefined>()
  readonly #open: string[] = []

  constructor(options: LoadOptions, functions: Iterable<string>) {
    this.#options = options
    this.writer = new PlanWriter(functions)
  }

  /** Undefined if it cannot be loaded; the reason is reported where the file is named. */
  file(file: string, named?: SourceRange, text?: string): LoadedFile | undefined {
    const path = normalize(file)
    this.#paths ??= new DefinitionPaths(path, this.report, this.#options.cwd, this.#options.trust)
    if (this.#open.includes(path)) {
      const cycle = [...this.#open.slice(this.#open.indexOf(path)), path].map((one) => basename(one))
      this.report.error("INCLUDE_CYCLE", `The file includes itself: ${cycle.join(" → ")}.`, named)
      return undefined
    }
    if (this.#files.has(path)) return this.#files.get(path)
    this.#open.push(path)
    const document = this.#document(path, named, text)
    const loaded = document && this.#compile(document)
    this.#open.pop()
    this.#files.set(path, loaded)
    return loaded
  }

  /** `named` is the place where a definition names the file. Such a file must be in the definition's folder. */
  #document(path: string, named?: SourceRange, source?: string): Document | undefined {
    const text = source ?? this.#read(path, named)
    if (text === undefined) return undefined
    this.sources.set(path, text)
    const { document, diagnostics } = parseDocument(text, path)
    this.report.add(diagnostics)
    const { trust, cwd, allow } = this.#options
    if (document !== undefined && trust === "none")
      checkTrust(document, this.#paths as DefinitionPaths, this.report, cwd, allow)
    return document
  }

  #read(path: string, named: SourceRange | undefined): string | undefined {
    const { read, cwd = "" } = this.#options
    const folder = named && this.#paths?.rootOf(named.file)
    try {
      if (folder !== undefined && insideFolder(folder, resolve(cwd, path)) === undefined)
        throw outsideFolder(path)
      const maxBytes = named === undefined ? MAX_DEFINITION : MAX_INCLUDED
      return read?.(path) ?? readTextFile(path, { maxBytes, folder, cwd })
    } catch (error) {
      const { code, message } = isSuperstepError(error) ? error : fileError(path, error)
      this.report.error(code, message, named)
      return undefined
    }
  }

  #compile(written: Document): LoadedFile | undefined {
    const dialect = dialectOf(written.data)
    if (dialect === undefined) {
      const message =
        "This is not a definition: it needs agents with a `workflow`, or a graph with `nodes` and `edges`."
      this.report.error("DIALECT_UNKNOWN", message, written.place([]))
      return undefined
    }
    this.dialect ??= dialect
    // Graphs accept variables only in some fields, and fill them themselves.
    const document = dialect === "graph" ? written : withVariables(written, this.#options, this.report)
    const ref = COMPILERS[dialect]({
      report: new DocumentReport(document, this.report),
      writer: this.writer,
      options: this.#options,
      paths: this.#paths as DefinitionPaths,
      include: (file: string, named: SourceRange) =>
        this.file(isAbsolute(file) ? file : join(dirname(document.file), file), named)?.ref,
      read: (file: string, named?: SourceRange) => this.#document(normalize(file), named),
    })
    return ref && { document, dialect, name: definitionName(document), ref }
  }
}

const COMPILERS = { steps: planSteps, graph: planGraph, agents: planAgentsFile }

/** By the fields at the top. A misspelt one counts as the one that was meant, which its dialect then reports. */
function dialectOf(data: Json): Dialect | undefined {
  if (!isRecord(data)) return undefined
  const fields = new Set(
    Object.keys(data).map((name) => (TOP.has(name) ? name : (nearest(name, TOP) ?? name))),
  )
  if (fields.has("nodes") || fields.has("entrypointNodeId")) return "graph"
  if (fields.has("workflow")) return "steps"
  return fields.has("agents") ? "agents" : undefined
}

const TOP: ReadonlySet<string> = new Set([...stepsFields, ...graphFields])

function definitionName({ data, file }: Document): string {
  const { id, name } = data as { readonly id?: Json; readonly name?: Json }
  for (const one of [id, name]) if (typeof one === "string" && one !== "") return one
  return basename(file, extname(file))
}

// Combines both dialects: the functions that their plans call, and their JSON Schemas.

export const jsonSchemas: Readonly<Record<"steps" | "graph", () => Record<string, unknown>>> = {
  steps: stepsJsonSchema,
  graph: graphJsonSchema,
}

function functionsFor({ trust, allow, functions: more = {} }: LoadOptions): PlanFunctions {
  const control = { ...stepsFunctions, ...graphFunctions, ...flowFunctions }
  if (trust === "none") return trustedFunctions(control, { ...agentFunctions, ...more }, allow)
  return { ...agentFunctions, ...control, ...more }
}

type ChooseModel = NonNullable<LoadOptions["model"]>

/** The functions with the caller's models, environment and secrets. */
function withOverrides(functions: PlanFunctions, options: LoadOptions): PlanFunctions {
  const { model, env, secrets: secretValues } = options
  const changed: Record<string, PlanFunction> = { ...functions }
  if (model !== undefined) {
    changed.agent = withModel(functions, model)
    for (const [name, roles] of Object.entries(ROLES)) {
      const known = functions[name]
      if (known !== undefined) changed[name] = withModels(known, roles, model)
    }
  }
  const from = "superstep/definitions"
  const values = { env: environmentOf(options), secretValues }
  changed.stepList = {
    from,
    make: (entries: readonly LayoutEntry[], more?: StepListOptions) =>
      stepList(entries, { ...more, ...values }),
  }
  changed.graphInfo = { from, make: (more: GraphOptions) => graphInfo({ ...more, secretValues }) }
  // Only the search engines receive the keys, so any definition may use them.
  if (env !== undefined) {
    changed.webSearch = {
      from: "superstep/tools",
      make: (engine: Parameters<typeof webSearch>[0]) => webSearch(engine, { env }),
    }
  }
  return changed
}

/** `agent`, with the model that the caller chooses. */
export function withModel(functions: PlanFunctions, model: ChooseModel): PlanFunction {
  const make = (options: Parameters<typeof agent>[0]) => {
    const chosen = model(options.name, firstOf(options.model as ModelRef | readonly ModelRef[]))
    if (chosen === undefined) return agent(options)
    const { models = {}, prepareStep: _, ...own } = options
    // Toolsets name models, and agents pick them: they all are the one that the caller chose.
    const names = Object.keys(models).map((name) => [name, chosen] as const)
    return agent({ ...own, model: chosen, ...(names.length > 0 && { models: Object.fromEntries(names) }) })
  }
  return { from: functions.agent?.from ?? "superstep/agents", make }
}

/** The agents that each kind of research uses. */
const ROLES: Readonly<Record<string, readonly ResearchRole[]>> = {
  iterativeResearch: RESEARCH_ROLES.filter((role) => !["mode", "planner", "synthesizer"].includes(role)),
  deepResearch: RESEARCH_ROLES.filter((role) => role !== "mode"),
  autoResearch: RESEARCH_ROLES,
}

/** Research, with the models that the caller chooses for its agents. */
function withModels(
  { from, make }: PlanFunction,
  roles: readonly ResearchRole[],
  model: ChooseModel,
): PlanFunction {
  return {
    from,
    make: (options: DeepResearchOptions) => {
      const models = roles.map((role) => {
        const written = options.models?.[role] ?? options.model
        return [role, model(role, firstOf(written)) ?? written]
      })
      return make({ ...options, models: Object.fromEntries(models) } as never)
    },
  }
}

function firstOf(models: ModelRef | readonly ModelRef[]): ModelRef {
  return (Array.isArray(models) ? models[0] : models) as ModelRef
}
