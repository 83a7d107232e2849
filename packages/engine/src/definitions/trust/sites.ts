/**
 * The parts of a document that can reach outside of it, in every dialect: steps, graph, agents, goal. What is found here is
 * judged by the table in `capabilities.ts`.
 */
import type { Json } from "../../core/index.ts"
import { isObject } from "../data-in-text.ts"
import { type Path, textsIn } from "../document/index.ts"

type JsonObject = { readonly [name: string]: Json }

export type SiteKind =
  | "agent"
  | "toolset"
  | "model"
  | "provider"
  | "permissions"
  | "research tool"
  | "search backend"
  | "text"

export interface Site {
  readonly kind: SiteKind
  /** Of a text, the text under `text`. */
  readonly value: JsonObject
  readonly path: Path
}

export function* sitesIn(data: Json): Generator<Site> {
  for (const [path, text] of textsIn(data, [])) yield { kind: "text", value: { text }, path }
  if (!isObject(data)) return
  yield* entries("model", data.models, ["models"])
  yield* entries("provider", data.providers, ["providers"])
  if (isObject(data.permissions))
    yield { kind: "permissions", value: data.permissions, path: ["permissions"] }
  for (const agent of entries("agent", data.agents, ["agents"])) yield* agentSites(agent)
  // Steps may be nested in any way; graphs have their tools at their nodes.
  yield* toolSites(data.workflow, ["workflow"])
  yield* toolSites(data.nodes, ["nodes"])
  if (!isObject(data.search)) return
  yield* entries("search backend", data.search.databases, ["search", "databases"])
  for (const name of ["vector", "graph"]) {
    const value = data.search[name]
    if (isObject(value)) yield { kind: "search backend", value, path: ["search", name] }
  }
}

function* agentSites(agent: Site): Generator<Site> {
  yield agent
  const { value, path } = agent
  if (isObject(value.permissions)) {
    yield { kind: "permissions", value: value.permissions, path: [...path, "permissions"] }
  }
  for (const field of ["toolsets", "tools"]) yield* toolsets(value[field], [...path, field])
}

/** A graph's agents name toolsets without settings by their type alone. */
function* toolsets(list: Json | undefined, path: Path): Generator<Site> {
  if (!Array.isArray(list)) return
  for (const [i, one] of list.entries()) {
    const value = typeof one === "string" ? { type: one } : one
    if (isObject(value)) yield { kind: "toolset", value, path: [...path, i] }
  }
}

function* toolSites(value: Json | undefined, path: Path): Generator<Site> {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) yield* toolSites(one, [...path, i])
    return
  }
  if (!isObject(value)) return
  if (isObject(value.toolset)) yield { kind: "toolset", value: value.toolset, path: [...path, "toolset"] }
  if (value.type === "research") yield* entries("research tool", value.tools, [...path, "tools"])
  for (const [name, one] of Object.entries(value)) {
    if (name !== "toolset" && typeof one === "object") yield* toolSites(one, [...path, name])
  }
}

function* entries(kind: SiteKind, list: Json | undefined, path: Path): Generator<Site> {
  if (Array.isArray(list)) {
    for (const [i, value] of list.entries()) if (isObject(value)) yield { kind, value, path: [...path, i] }
  } else if (isObject(list)) {
    for (const [name, value] of Object.entries(list))
      if (isObject(value)) yield { kind, value, path: [...path, name] }
  }
}
