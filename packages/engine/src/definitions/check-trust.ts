/** Reports everything that an untrusted file may not use. */
import { resolve } from "node:path"
import type { Json } from "../core/index.ts"
import { isRecord } from "../core/internal.ts"
import { type Document, type Path, type Report, textsIn } from "../document/index.ts"
import { api, openapi } from "../tools/index.ts"
import type { DefinitionPaths } from "./definition-paths.ts"
import type { PlanFunction, PlanFunctions } from "./plan/index.ts"
import { CAPABILITIES, type Site, type SiteKind, type TrustContext } from "./trust-capabilities.ts"

export function checkTrust(document: Document, paths: DefinitionPaths, report: Report, cwd = ""): void {
  const { data, file } = document
  const context: TrustContext = {
    providerOf: (name) => providerOf(data, name),
    isInside: (path) => paths.isInside(file, path),
    isInsideFromHere: (path) => paths.isInside(file, resolve(cwd, path)),
  }
  for (const { kind, value, path } of sitesIn(data)) {
    for (const { at, name, does, find } of CAPABILITIES) {
      const found = at === kind ? find(value, context) : undefined
      if (found === undefined) continue
      const message = `${does}: refused, because the file is untrusted (${name}). Review the file and load it as trusted to allow this.`
      report.error("UNTRUSTED", message, document.place([...path, ...found]))
    }
  }
}

function providerOf(data: Json, name: Json | undefined): string {
  const own = isRecord(data) && isRecord(data.providers) ? data.providers[String(name)] : undefined
  return isRecord(own) ? String(own.provider ?? "openai-compatible") : String(name)
}

/** Functions that reach outside and are safe once the table of capabilities has passed their arguments. */
const SAFE_TOOLS: ReadonlySet<string> = new Set([
  "agent",
  "agentText",
  "api",
  "conversation",
  "filesystem",
  "jsonSchema",
  "lastItems",
  "mcpToolset",
  "memory",
  "openapi",
  "think",
  "todo",
  "toolsetWith",
  "webFetch",
])

/**
 * The second line of defense: an untrusted plan is linked with these functions only. `control` are the functions of the
 * dialects; `others` are tools and the functions of the caller.
 */
export function trustedFunctions(control: PlanFunctions, others: PlanFunctions): PlanFunctions {
  const safe = Object.entries(others).filter(([name]) => SAFE_TOOLS.has(name))
  const withoutEnv = <Options extends object>(from: string, make: (options: Options) => unknown) =>
    ({ from, make: (options: Options) => make({ ...options, env: {} }) }) as PlanFunction
  return {
    ...control,
    ...Object.fromEntries(safe),
    api: withoutEnv("superstep/tools", api),
    openapi: withoutEnv("superstep/tools", openapi),
  }
}

function* sitesIn(data: Json): Generator<Site> {
  for (const [path, text] of textsIn(data, [])) yield { kind: "text", value: { text }, path }
  if (!isRecord(data)) return
  yield* entries("model", data.models, ["models"])
  yield* entries("provider", data.providers, ["providers"])
  if (isRecord(data.permissions))
    yield { kind: "permissions", value: data.permissions, path: ["permissions"] }
  for (const agent of entries("agent", data.agents, ["agents"])) yield* agentSites(agent)
  // Steps nest; graphs have tools in their nodes.
  yield* toolSites(data.workflow, ["workflow"])
  yield* toolSites(data.nodes, ["nodes"])
  if (!isRecord(data.search)) return
  yield* entries("search backend", data.search.databases, ["search", "databases"])
  for (const name of ["vector", "graph"]) {
    const value = data.search[name]
    if (isRecord(value)) yield { kind: "search backend", value, path: ["search", name] }
  }
}

function* agentSites(agent: Site): Generator<Site> {
  yield agent
  const { value, path } = agent
  if (isRecord(value.permissions)) {
    yield { kind: "permissions", value: value.permissions, path: [...path, "permissions"] }
  }
  for (const field of ["toolsets", "tools"]) yield* toolsets(value[field], [...path, field])
}

/** Agents of a graph may name a toolset by its type. */
function* toolsets(list: Json | undefined, path: Path): Generator<Site> {
  if (!Array.isArray(list)) return
  for (const [i, one] of list.entries()) {
    const value = typeof one === "string" ? { type: one } : one
    if (isRecord(value)) yield { kind: "toolset", value, path: [...path, i] }
  }
}

function* toolSites(value: Json | undefined, path: Path): Generator<Site> {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) yield* toolSites(one, [...path, i])
    return
  }
  if (!isRecord(value)) return
  if (isRecord(value.toolset)) yield { kind: "toolset", value: value.toolset, path: [...path, "toolset"] }
  if (value.type === "research") yield* entries("research tool", value.tools, [...path, "tools"])
  for (const [name, one] of Object.entries(value)) {
    if (name !== "toolset" && typeof one === "object") yield* toolSites(one, [...path, name])
  }
}

function* entries(kind: SiteKind, list: Json | undefined, path: Path): Generator<Site> {
  if (Array.isArray(list)) {
    for (const [i, value] of list.entries()) if (isRecord(value)) yield { kind, value, path: [...path, i] }
  } else if (isRecord(list)) {
    for (const [name, value] of Object.entries(list))
      if (isRecord(value)) yield { kind, value, path: [...path, name] }
  }
}
