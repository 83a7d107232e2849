/** Applies definitions and agents to a registry, exports them, and removes them. */
import { isSuperstepError, type Json, SuperstepError } from "../../core/index.ts"
import { canonicalJson, isRecord } from "../../core/internal.ts"
import {
  type AgentRow,
  type Registry,
  registryVersion,
  type Store,
  type StoredDefinition,
  type WorkflowRow,
} from "../../runtime/index.ts"
import { clipped } from "../../text/index.ts"
import { withFileModels } from "./agent-models.ts"
import {
  agentData,
  agentRow,
  agentRows,
  type DefinitionRows,
  documentAgents,
  documentOf,
  edgeData,
  type JsonRecord,
  nodeData,
  rowsOf,
} from "./document-rows.ts"

export type Outcome = "created" | "changed" | "unchanged"

export interface AppliedAgent {
  readonly id: string
  readonly outcome: Outcome
  readonly changes: readonly DefinitionChange[]
}

export interface Applied extends AppliedAgent {
  /** The agents of the document. */
  readonly agents: readonly AppliedAgent[]
}

export interface ApplyOptions {
  /** For a document that has no id. */
  readonly id?: string | undefined
  /**
   * The version of the stored definition that the document is based on (`registryVersion`); null: none was stored. Absent:
   * the document replaces any stored definition.
   */
  readonly expected?: string | null | undefined
}

/**
 * Stores the definition and the agents of the document. Agents that an earlier version contained and this one does not are
 * removed, unless another definition needs them. Does not check whether the definition can run: load it first. Rejects with
 * REGISTRY_CONFLICT if the stored definition is not the `expected` one. Without `expected`, it retries after a conflict.
 */
export async function applyDefinition(
  registry: Registry,
  data: Json,
  options: ApplyOptions = {},
): Promise<Applied> {
  if (options.expected !== undefined) return await applyOnce(registry, data, options)
  return await retryConflicts(() => applyOnce(registry, data, options))
}

const MAX_TRIES = 10

async function retryConflicts<T>(act: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await act()
    } catch (error) {
      if (tried === MAX_TRIES || !isSuperstepError(error, "REGISTRY_CONFLICT")) throw error
    }
  }
}

async function applyOnce(registry: Registry, data: Json, options: ApplyOptions): Promise<Applied> {
  const rows = rowsOf(data, options.id)
  const { id } = rows.definition.workflow
  const [stored, known] = [await registry.definition(id), await registry.agents(ids(rows.agents))]
  const changes = diffRows(stored, rows, known)
  const agents = outcomes(known, rows.agents)
  const outcome = stored === undefined ? "created" : changes.length > 0 ? "changed" : "unchanged"
  if (outcome !== "unchanged") {
    const missing = stored === undefined ? [] : missingAgents(stored.workflow, rows.agents)
    const users = missing.length === 0 ? undefined : await usersOfAgents(registry, rows)
    const removedAgents = missing.filter((agent) => !users?.has(agent))
    const version = stored === undefined ? null : registryVersion(stored)
    await registry.write(
      { definitions: [rows.definition], agents: rows.agents, removedAgents },
      {
        definitions: { [id]: options.expected === undefined ? version : options.expected },
        agents: versionsOf(known, rows.agents),
      },
    )
  }
  return { id, outcome, changes, agents }
}

/** Adds or replaces agents, by id or as a list of agents with ids. */
export async function applyAgents(registry: Registry, agents: Json): Promise<readonly AppliedAgent[]> {
  const rows = agentRows(agents)
  return await retryConflicts(async () => {
    const known = await registry.agents(ids(rows))
    const applied = outcomes(known, rows)
    const changed = rows.filter((_, i) => applied[i]?.outcome !== "unchanged")
    if (changed.length > 0) await registry.write({ agents: changed }, { agents: versionsOf(known, changed) })
    return applied
  })
}

/** The versions of the agents when they were read. */
function versionsOf(
  known: readonly AgentRow[],
  written: readonly AgentRow[],
): { readonly [id: string]: string | null } {
  const versions = new Map(known.map((agent) => [agent.id, registryVersion(agent)]))
  return Object.fromEntries(written.map(({ id }) => [id, versions.get(id) ?? null]))
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

/** The document, with the current state of its agents. */
export async function exportDefinition(registry: Registry, id: string): Promise<JsonRecord | undefined> {
  const stored = await registry.definition(id)
  if (stored === undefined) return undefined
  return documentOf(stored, await registry.agents(documentAgents(stored.workflow)))
}

/** The document with all agents that it needs, for the loader. */
export async function runnableDefinition(registry: Registry, id: string): Promise<JsonRecord | undefined> {
  const stored = await registry.definition(id)
  if (stored === undefined) return undefined
  const all = await registry.agents()
  const needed = neededAgents(stored, all)
  const own = new Set(documentAgents(stored.workflow))
  const used = all.filter((agent) => needed.has(agent.id))
  const isForeign = used.some((agent) => !own.has(agent.id))
  const models = isForeign ? await modelsByAgent(registry) : undefined
  const agents = used.map((agent) => (own.has(agent.id) ? agent : independent(agent, models?.get(agent.id))))
  const document = documentOf(stored, agents)
  if (agents.length === 0) return document
  return { ...document, agents: Array.isArray(document.agents) ? agents.map(asItem) : byId(agents) }
}

/** All agents, each with the models and permissions of the document that it was applied with. */
export async function independentAgents(registry: Registry): Promise<readonly AgentRow[]> {
  const models = await modelsByAgent(registry)
  return (await registry.agents()).map((agent) => independent(agent, models.get(agent.id)))
}

/** The document of each agent that has one, without its agents. */
async function modelsByAgent(registry: Registry): Promise<ReadonlyMap<string, JsonRecord>> {
  const found = new Map<string, JsonRecord>()
  for (const { id } of await registry.definitions()) {
    const stored = await registry.definition(id)
    if (stored === undefined) continue
    const document = documentOf(stored, [])
    for (const agent of documentAgents(stored.workflow)) if (!found.has(agent)) found.set(agent, document)
  }
  return found
}

function independent(agent: AgentRow, document: JsonRecord | undefined): AgentRow {
  return document === undefined ? agent : agentRow(agent.id, withFileModels(agentData(agent), document))
}

function asItem(agent: AgentRow): JsonRecord {
  return { id: agent.id, ...agentData(agent) }
}

function byId(agents: readonly AgentRow[]): JsonRecord {
  return Object.fromEntries(
    agents.map((agent) => {
      const { id, ...data } = agentData(agent)
      return [agent.id, id === undefined || id === agent.id ? data : { id, ...data }]
    }),
  )
}

export interface RemoveOptions {
  /** Removes a definition with active runs, which then cannot resume, or an agent that definitions use. */
  readonly force?: boolean | undefined
}

export interface Removed {
  /** Agents of the document that were removed with it. */
  readonly agents: readonly string[]
  /** Agents of the document that other definitions use. */
  readonly kept: readonly string[]
  /** Its active runs, if it was forced. */
  readonly runs: number
}

const MAX_COUNTED = 1_000

/**
 * Removes a definition and the agents of its document, except those that other definitions use. Rejects with
 * DEFINITION_UNKNOWN, and with DEFINITION_IN_USE while it has active runs.
 */
export async function removeDefinition(
  registry: Registry,
  store: Pick<Store, "runs">,
  id: string,
  options: RemoveOptions = {},
): Promise<Removed> {
  const stored = await registry.definition(id)
  if (stored === undefined) throw new SuperstepError("DEFINITION_UNKNOWN", `There is no definition "${id}".`)
  const runs = await activeRuns(store, stored.workflow)
  if (runs > 0 && !options.force) throw inUse(id, runs)
  const users = await usersOfAgents(registry)
  const isUsed = (agent: string) => users.get(agent)?.some((definition) => definition !== id) === true
  const ownAgents = documentAgents(stored.workflow)
  const agents = ownAgents.filter((agent) => !isUsed(agent))
  await registry.write(
    { removedDefinitions: [id], removedAgents: agents },
    { definitions: { [id]: registryVersion(stored) } },
  )
  return { agents, kept: ownAgents.filter(isUsed), runs }
}

/** Runs with the definition's label, as the CLI sets it, and unlabeled runs of a workflow with its name or id. */
async function activeRuns(store: Pick<Store, "runs">, { id, name }: WorkflowRow): Promise<number> {
  const status = ["running", "waiting", "paused"] as const
  const ids = new Set<string>()
  for (const query of [{ labels: { definition: id } }, { workflow: id }, { workflow: name || id }]) {
    for (const { runId, labels = {} } of await store.runs({ ...query, status, limit: MAX_COUNTED })) {
      if ((labels.definition ?? id) === id) ids.add(runId)
    }
  }
  return ids.size
}

/** Removes an agent. Rejects with AGENT_UNKNOWN, and with AGENT_IN_USE while definitions need it. */
export async function removeAgent(
  registry: Registry,
  id: string,
  options: RemoveOptions = {},
): Promise<void> {
  const [agent] = await registry.agents([id])
  if (agent === undefined) throw new SuperstepError("AGENT_UNKNOWN", `There is no agent "${id}".`)
  const users = (await usersOfAgents(registry)).get(id) ?? []
  if (users.length > 0 && !options.force) {
    const names = users.map((name) => `"${name}"`).join(", ")
    const message = `Agent "${id}" is used by ${names}: change or remove those first, or remove it with force (--force in the CLI).`
    throw new SuperstepError("AGENT_IN_USE", message)
  }
  await registry.write({ removedAgents: [id] }, { agents: { [id]: registryVersion(agent) } })
}

function inUse(id: string, count: number): SuperstepError {
  const runs = count === 1 ? "1 active run" : `${count}${count >= MAX_COUNTED ? " or more" : ""} active runs`
  const message = `Definition "${id}" has ${runs}: wait until they end, or cancel them. With force (--force in the CLI) it is removed anyway, and they cannot resume.`
  return new SuperstepError("DEFINITION_IN_USE", message)
}

/** The agents of its document and its nodes, and those that they delegate to. A variable may name any agent. */
function neededAgents(
  { workflow, nodes }: StoredDefinition,
  agents: readonly AgentRow[],
): ReadonlySet<string> {
  const named = nodes.flatMap(({ agentId }) => (agentId === null ? [] : [agentId]))
  const needed = new Set([...documentAgents(workflow), ...named])
  if (named.some((id) => id.includes("${"))) for (const { id } of agents) needed.add(id)
  const known = new Map(agents.map((agent) => [agent.id, agent]))
  // The loop also visits the ids that it adds.
  for (const id of needed) for (const other of delegatesOf(known.get(id))) needed.add(other)
  return needed
}

function delegatesOf(agent: AgentRow | undefined): readonly string[] {
  if (agent === undefined) return []
  const { sub_agents, handoffs } = agentData(agent)
  return [sub_agents, handoffs].flatMap((ids) =>
    Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [],
  )
}

/** For each agent, the definitions that need it. `instead` replaces the stored version of one definition. */
async function usersOfAgents(
  registry: Registry,
  instead?: DefinitionRows,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const agents = [...(await registry.agents()), ...(instead?.agents ?? [])]
  const own = instead?.definition.workflow.id
  const ids = (await registry.definitions()).map(({ id }) => id).filter((id) => id !== own)
  const stored = await Promise.all(ids.map((id) => registry.definition(id)))
  const users = new Map<string, string[]>()
  for (const definition of [...stored, instead?.definition]) {
    if (definition === undefined) continue
    for (const agent of neededAgents(definition, agents)) {
      users.set(agent, [...(users.get(agent) ?? []), definition.workflow.id])
    }
  }
  return users
}

// Compares a document with a stored definition, and reports the changes as data and as text.

export interface DefinitionChange {
  /** `reordered`: the same content in a different order. */
  readonly kind: "added" | "removed" | "changed" | "reordered"
  readonly of: "workflow" | "node" | "edge" | "agent"
  readonly id: string
  /** The changed fields, as dotted paths of the document. */
  readonly fields: readonly FieldChange[]
  readonly words: string
}

export interface FieldChange {
  readonly field: string
  /** Undefined: the field did not exist. */
  readonly before: Json | undefined
  readonly after: Json | undefined
}

/** Empty if nothing changes. `agents` are the stored agents to compare with. */
export function diffDefinition(
  stored: StoredDefinition | undefined,
  data: Json,
  options: { readonly agents?: readonly AgentRow[] | undefined; readonly id?: string | undefined } = {},
): readonly DefinitionChange[] {
  return diffRows(stored, rowsOf(data, options.id), options.agents ?? [])
}

function diffRows(
  stored: StoredDefinition | undefined,
  { definition, agents: ownAgents }: DefinitionRows,
  agents: readonly AgentRow[],
): readonly DefinitionChange[] {
  const gone = stored === undefined ? [] : missingAgents(stored.workflow, ownAgents)
  const changes = [
    ...diffRecords("workflow", stored && [workflowData(stored)], [workflowData(definition)]),
    ...diffRecords("node", stored?.nodes.map(record(nodeData)), definition.nodes.map(record(nodeData))),
    ...diffRecords("edge", stored?.edges.map(record(edgeData)), definition.edges.map(record(edgeData))),
    ...gone.map((id) => change("removed", "agent", id)),
    ...diffAgents(agents, ownAgents),
  ]
  if (changes.length > 0 || stored === undefined) return changes
  if (JSON.stringify(documentOf(stored, agents)) === JSON.stringify(documentOf(definition, ownAgents)))
    return []
  return [change("reordered", "workflow", stored.workflow.id)]
}

/** Agents of the stored document that are missing from this list. */
function missingAgents(stored: WorkflowRow, agents: readonly AgentRow[]): readonly string[] {
  const left = new Set(agents.map(({ id }) => id))
  return documentAgents(stored).filter((id) => !left.has(id))
}

/** The changes that these agents would make. Stored agents that are not among them are ignored. */
export function diffAgents(
  stored: readonly AgentRow[],
  agents: readonly AgentRow[],
): readonly DefinitionChange[] {
  const ids = new Set(agents.map(({ id }) => id))
  const changes = diffRecords(
    "agent",
    stored.filter(({ id }) => ids.has(id)).map(record(agentData)),
    agents.map(record(agentData)),
  )
  const changed = new Set(changes.map(({ id }) => id))
  const before = new Map(stored.map((agent) => [agent.id, JSON.stringify(agentData(agent))]))
  const reordered = agents.filter((agent) => {
    const was = changed.has(agent.id) ? undefined : before.get(agent.id)
    return was !== undefined && was !== JSON.stringify(agentData(agent))
  })
  return [...changes, ...reordered.map(({ id }) => change("reordered", "agent", id))]
}

interface Named {
  readonly id: string
  readonly data: JsonRecord
}

function record<R extends { readonly id: string }>(dataOf: (row: R) => JsonRecord): (row: R) => Named {
  return (row) => ({ id: row.id, data: dataOf(row) })
}

/** Without the parts that have their own rows. */
function workflowData(definition: StoredDefinition): Named {
  const { nodes: _, edges: __, agents: ___, ...data } = documentOf(definition)
  return { id: definition.workflow.id, data }
}

function diffRecords(
  of: DefinitionChange["of"],
  before: readonly Named[] | undefined,
  after: readonly Named[],
): readonly DefinitionChange[] {
  const old = new Map(before?.map(({ id, data }) => [id, data]))
  const left = new Set(after.map(({ id }) => id))
  const removed = [...old.keys()].filter((id) => !left.has(id)).map((id) => change("removed", of, id))
  const rest = after.flatMap(({ id, data }) => {
    const was = old.get(id)
    if (was === undefined) return [change("added", of, id)]
    const fields = diffFields(was, data)
    return fields.length === 0 ? [] : [change("changed", of, id, fields)]
  })
  return [...removed, ...rest]
}

function diffFields(before: JsonRecord, after: JsonRecord, within = ""): readonly FieldChange[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return keys.flatMap((key) => {
    const [was, is] = [own(before, key), own(after, key)]
    const field = `${within}${key}`
    if (isRecord(was) && isRecord(is)) return diffFields(was, is, `${field}.`)
    if (was !== undefined && is !== undefined && canonicalJson(was) === canonicalJson(is)) return []
    return [{ field, before: was, after: is }]
  })
}

function own(record: JsonRecord, key: string): Json | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function change(
  kind: DefinitionChange["kind"],
  of: DefinitionChange["of"],
  id: string,
  fields: readonly FieldChange[] = [],
): DefinitionChange {
  const name = `${of} "${id}"`
  if (kind !== "changed") return { kind, of, id, fields, words: `${name} ${kind}` }
  return { kind, of, id, fields, words: `${name} changed: ${fields.map(inWords).join("; ")}` }
}

function inWords({ field, before, after }: FieldChange): string {
  if (before === undefined) return `${field} ${brief(after)} added`
  if (after === undefined) return `${field} ${brief(before)} removed`
  return `${field} ${brief(before)} → ${brief(after)}`
}

const MAX_LENGTH = 60

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value)
  return text.length <= MAX_LENGTH ? text : clipped(text, MAX_LENGTH - 1)
}
