/** From a file to a workflow: read, checked, compiled to a plan, linked. */
import { basename } from "node:path"
import { type Agent, isAgent } from "../agents/index.ts"
import type { Workflow } from "../builder/index.ts"
import { isSuperstepError } from "../core/index.ts"
import { agentFunctions } from "./agents/index.ts"
import type { Definition, Loaded, LoadOptions } from "./definition.ts"
import { asGiven } from "./given-functions.ts"
import { graphFunctions } from "./graph/index.ts"
import { Loading } from "./loading.ts"
import { eject, type Linked, link, type Plan, type PlanFunctions, reachable } from "./plan/index.ts"
import { toldApart } from "./secret-variables.ts"
import { stepsFunctions } from "./steps/index.ts"
import { trustedFunctions } from "./trust/index.ts"

export interface DefinitionText {
  /** The name it goes by in messages; files that it includes are looked for beside it. */
  readonly file: string
  readonly text: string
}

/** All problems at once: with errors among them there is no definition. */
export function loadDefinition(source: string | DefinitionText, given: LoadOptions = {}): Loaded {
  const options = { ...given, ...toldApart(given) }
  const functions = functionsFor(options)
  const loading = new Loading(options, Object.keys(functions))
  const { file, text } = typeof source === "string" ? { file: source, text: undefined } : source
  const loaded = loading.file(file, undefined, text)
  const { report, sources, dialect } = loading
  const linked =
    loaded === undefined || report.hasErrors
      ? undefined
      : linkedOrReported(loading, loading.writer.plan(loaded.ref), functions, options)
  if (loaded === undefined || linked === undefined)
    return { dialect, diagnostics: report.diagnostics, sources }
  const { document, name } = loaded
  const plan = loading.writer.plan(loaded.ref)
  const agents = agentsOf(linked)
  const definition: Definition = {
    file,
    name,
    dialect: loaded.dialect,
    workflow: linked.workflow as Workflow<string, unknown>,
    agents,
    unusedAgents: unusedIn(plan, linked),
    data: document.data,
    plan,
    eject: () => eject(plan, functions, { note: `Made from ${basename(file)}.` }),
    async close() {
      for (const one of closableIn(linked)) await one.close()
    },
  }
  return { definition, dialect, diagnostics: report.diagnostics, sources }
}

function functionsFor({ trust, functions: more = {} }: LoadOptions): PlanFunctions {
  const control = { ...stepsFunctions, ...graphFunctions }
  if (trust === "none") return trustedFunctions(control, { ...agentFunctions, ...more })
  return { ...agentFunctions, ...control, ...more }
}

/** What only shows when things are made: a graph that cannot be, an option that does not fit. */
function linkedOrReported(
  { report }: Loading,
  plan: Plan,
  functions: PlanFunctions,
  options: LoadOptions,
): Linked | undefined {
  try {
    return link(plan, asGiven(functions, options))
  } catch (error) {
    if (!isSuperstepError(error)) throw error
    report.error(error.code, error.message)
    return undefined
  }
}

/** Agents, with their toolsets, and documents that were opened. */
function closableIn({ values }: Linked): readonly { close(): Promise<void> }[] {
  type Value = { readonly close?: unknown } | null | undefined
  const isClosable = (one: unknown): one is { close(): Promise<void> } =>
    typeof (one as Value)?.close === "function"
  return [...values.values()].filter(isClosable)
}

function unusedIn(plan: Plan, { values }: Linked): ReadonlySet<string> {
  const used = reachable(plan)
  const unused = [...values].filter(([name, value]) => isAgent(value) && !used.has(name))
  return new Set(unused.map(([, value]) => (value as Agent).name))
}

function agentsOf({ values }: Linked): ReadonlyMap<string, Agent> {
  const agents = [...values.values()].filter(isAgent)
  return new Map(agents.map((one) => [one.name, one]))
}
