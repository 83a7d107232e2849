/** Puts definitions and agents into a registry. Doing so twice changes nothing. */
import type { Json } from "../../core/index.ts"
import type { AgentRow, Registry } from "../../runtime/index.ts"
import { agentRows } from "./agent-rows.ts"
import { usersOfAgents } from "./agent-users.ts"
import { type DefinitionChange, diffAgents, diffRows, goneAgents } from "./diff.ts"
import { rowsOf } from "./document-rows.ts"

export type Outcome = "created" | "changed" | "unchanged"

export interface Applied {
  readonly id: string
  readonly outcome: Outcome
  readonly changes: readonly DefinitionChange[]
  /** What became of the agents that the document brings. */
  readonly agents: readonly AppliedAgent[]
}

export interface AppliedAgent {
  readonly id: string
  readonly outcome: Outcome
  readonly changes: readonly DefinitionChange[]
}

/**
 * Makes the definition in the registry the one in the document, with the agents that it brings; `id` is for a document
 * that has none. Agents that it brought before and brings no more go, unless a definition needs them. Whether it can run
 * is for the loader to say, before.
 */
export async function applyDefinition(
  registry: Registry,
  data: Json,
  options: { readonly id?: string | undefined } = {},
): Promise<Applied> {
  const rows = rowsOf(data, options.id)
  const { id } = rows.definition.workflow
  const [stored, known] = [await registry.definition(id), await registry.agents(ids(rows.agents))]
  const changes = diffRows(stored, rows, known)
  const agents = outcomes(known, rows.agents)
  const outcome = stored === undefined ? "created" : changes.length > 0 ? "changed" : "unchanged"
  if (outcome !== "unchanged") {
    const gone = stored === undefined ? [] : goneAgents(stored.workflow, rows.agents)
    const users = gone.length === 0 ? undefined : await usersOfAgents(registry, rows)
    const removedAgents = gone.filter((agent) => !users?.has(agent))
    await registry.write({ definitions: [rows.definition], agents: rows.agents, removedAgents })
  }
  return { id, outcome, changes, agents }
}

/** Adds agents, given by id or as a list with ids, or puts them in the place of those that are there. */
export async function applyAgents(registry: Registry, agents: Json): Promise<readonly AppliedAgent[]> {
  const rows = agentRows(agents)
  const applied = outcomes(await registry.agents(ids(rows)), rows)
  const changed = rows.filter((_, i) => applied[i]?.outcome !== "unchanged")
  if (changed.length > 0) await registry.write({ agents: changed })
  return applied
}

function ids(rows: readonly AgentRow[]): readonly string[] {
  return rows.map(({ id }) => id)
}

function outcomes(known: readonly AgentRow[], rows: readonly AgentRow[]): readonly AppliedAgent[] {
  const there = new Set(ids(known))
  const changes = diffAgents(known, rows)
  return rows.map(({ id }) => {
    const own = changes.filter((change) => change.id === id)
    const outcome = !there.has(id) ? "created" : own.length > 0 ? "changed" : "unchanged"
    return { id, outcome, changes: own }
  })
}
