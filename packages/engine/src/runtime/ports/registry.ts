/**
 * Stores definitions: agents, workflows, nodes and edges as rows, whose columns are named like the fields of their
 * documents. All other fields of a document are in `config`, as written.
 *
 * A registry decides nothing and only checks that rows can be stored: the definitions layer decides which rows a document
 * becomes, whether it can run and what may be removed. Every method may return a value or a promise.
 */
import { type Json, jsonProblem, printJsonProblem, SuperstepError } from "../../core/index.ts"
import { canonicalJson, digest } from "../../core/internal.ts"
import { isPlainText } from "../../text/index.ts"
import type { MaybePromise } from "./maybe-promise.ts"

export interface AgentRow {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly prompt: string | null
  readonly model: string | null
  readonly tools: Json
  readonly config: Json
}

export interface WorkflowRow {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly isConversational: boolean
  readonly entrypointNodeId: string
  readonly config: Json
}

export interface NodeRow {
  readonly id: string
  readonly workflowId: string
  readonly nodeType: string
  readonly nodeName: string
  readonly agentId: string | null
  readonly config: Json
}

export interface EdgeRow {
  readonly id: string
  readonly workflowId: string
  readonly sourceNodeId: string
  /** Null: the run ends there. */
  readonly targetNodeId: string | null
  readonly conditionType: string
  readonly conditionValue: string | null
  readonly config: Json
}

/** Nodes and edges in the order of their document. */
export interface StoredDefinition {
  readonly workflow: WorkflowRow
  readonly nodes: readonly NodeRow[]
  readonly edges: readonly EdgeRow[]
}

/** Removals come first. Removing a missing row is not an error. */
export interface RegistryChange {
  readonly removedDefinitions?: readonly string[] | undefined
  readonly removedAgents?: readonly string[] | undefined
  /** Added, or replacing those with the same id. */
  readonly agents?: readonly AgentRow[] | undefined
  /** Added, or replacing those with the same id, with all their nodes and edges. */
  readonly definitions?: readonly StoredDefinition[] | undefined
}

/**
 * What the writer has seen, by id: the version (`registryVersion`) of each row, or null for a missing row. Other rows are
 * not compared.
 */
export interface RegistryVersions {
  readonly definitions?: { readonly [id: string]: string | null } | undefined
  readonly agents?: { readonly [id: string]: string | null } | undefined
}

export interface Registry {
  /** Those with these ids, or all; in the order in which they were first written. */
  agents(ids?: readonly string[]): MaybePromise<readonly AgentRow[]>
  /** In the order in which they were first written. */
  definitions(): MaybePromise<readonly WorkflowRow[]>
  definition(id: string): MaybePromise<StoredDefinition | undefined>
  /**
   * Applies the change atomically. Rejects with DEFINITION_INVALID if rows cannot be stored, and with REGISTRY_CONFLICT if
   * the stored versions differ from `expected`: it compares and writes in one transaction.
   */
  write(change: RegistryChange, expected?: RegistryVersions): MaybePromise<void>
}

/** A store that also stores definitions. */
export interface RegistryStore {
  readonly registry: Registry
}

/** The version of an agent, or of a definition with all its nodes and edges. */
export function registryVersion(stored: AgentRow | StoredDefinition): string {
  return digest(canonicalJson(stored as unknown as Json))
}

/** What is stored when the write happens, read in the same transaction. */
export interface RegistryReader {
  definition(id: string): StoredDefinition | undefined
  agents(ids: readonly string[]): readonly AgentRow[]
}

/** For the `write` of a registry: why the change conflicts (REGISTRY_CONFLICT), or undefined. */
export function registryConflict(
  stored: RegistryReader,
  expected: RegistryVersions | undefined,
): SuperstepError | undefined {
  for (const [id, version] of Object.entries(expected?.definitions ?? {})) {
    const conflict = conflictAt(`Definition "${id}"`, stored.definition(id), version)
    if (conflict !== undefined) return conflict
  }
  const wanted = Object.entries(expected?.agents ?? {})
  if (wanted.length === 0) return undefined
  const agents = new Map(stored.agents(wanted.map(([id]) => id)).map((agent) => [agent.id, agent]))
  for (const [id, version] of wanted) {
    const conflict = conflictAt(`Agent "${id}"`, agents.get(id), version)
    if (conflict !== undefined) return conflict
  }
  return undefined
}

function conflictAt(
  subject: string,
  stored: AgentRow | StoredDefinition | undefined,
  expected: string | null,
): SuperstepError | undefined {
  const version = stored === undefined ? null : registryVersion(stored)
  if (version === expected) return undefined
  const happened = version === null ? "was removed" : expected === null ? "was created" : "was changed"
  return new SuperstepError(
    "REGISTRY_CONFLICT",
    `${subject} ${happened} by somebody else since you read it, so nothing was written. Read it again and repeat the change.`,
  )
}

type AnyRow = AgentRow | WorkflowRow | NodeRow | EdgeRow

/** For the `write` of a registry: throws DEFINITION_INVALID before anything is changed. */
export function checkRegistryChange(change: RegistryChange): void {
  for (const row of change.agents ?? []) checkRow("Agent", row)
  checkOnce(change.agents ?? [], (id) => `Agent "${id}" appears twice`)
  for (const definition of change.definitions ?? []) checkDefinition(definition)
  const workflows = (change.definitions ?? []).map(({ workflow }) => workflow)
  checkOnce(workflows, (id) => `Workflow "${id}" appears twice`)
}

function checkDefinition({ workflow, nodes, edges }: StoredDefinition): void {
  checkRow("Workflow", workflow)
  for (const [kind, rows] of [
    ["Node", nodes],
    ["Edge", edges],
  ] as const) {
    for (const row of rows) {
      checkRow(kind, row)
      if (row.workflowId === workflow.id) continue
      throw definitionInvalid(
        `${kind} "${row.id}" belongs to workflow "${row.workflowId}", not to "${workflow.id}"`,
      )
    }
    checkOnce(rows, (id) => `${kind} "${id}" of workflow "${workflow.id}" appears twice`)
  }
}

function checkRow(kind: string, row: AnyRow): void {
  if (row.id === "") throw definitionInvalid(`${kind} has an empty id`)
  for (const [field, value] of Object.entries(row) as [string, Json][]) {
    if (field === "config" || field === "tools") {
      const problem = jsonProblem(value)
      if (problem === undefined) continue
      throw definitionInvalid(`${kind} "${row.id}": ${field} cannot be stored: ${printJsonProblem(problem)}`)
    }
    if (typeof value === "string" && !isPlainText(value)) {
      throw definitionInvalid(
        `${kind} ${JSON.stringify(row.id)}: ${field} contains a forbidden character (NUL or a lone surrogate)`,
      )
    }
  }
}

function checkOnce(rows: readonly { readonly id: string }[], message: (id: string) => string): void {
  const seen = new Set<string>()
  for (const { id } of rows) {
    if (seen.has(id)) throw definitionInvalid(message(id))
    seen.add(id)
  }
}

export function definitionInvalid(message: string): SuperstepError {
  return new SuperstepError("DEFINITION_INVALID", `${message}.`)
}
