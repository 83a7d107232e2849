/**
 * Where definitions are kept: agents, workflows, nodes and edges as rows, whose columns have the names of the fields of
 * the documents that they came from. What a document says beyond them is in `config`, as it was written.
 *
 * A registry decides nothing and checks no more than that rows can be kept (registry-rows.ts): what rows are made of a
 * document, whether it can run and what may be removed is for definitions to say. Every method may answer at once or with a promise.
 */
import type { Json } from "../core/index.ts"

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

/** Nodes and edges in the order in which they were given. */
export interface StoredDefinition {
  readonly workflow: WorkflowRow
  readonly nodes: readonly NodeRow[]
  readonly edges: readonly EdgeRow[]
}

/** Removals come first. What is not there is not removed, and that is no error. */
export interface RegistryChange {
  readonly removedDefinitions?: readonly string[] | undefined
  readonly removedAgents?: readonly string[] | undefined
  /** Added, or put in the place of those with the same id. */
  readonly agents?: readonly AgentRow[] | undefined
  /** Added, or put in the place of those with the same id, with all their nodes and edges. */
  readonly definitions?: readonly StoredDefinition[] | undefined
}

export interface Registry {
  /** Those with these ids, or all; in the order in which they were first written. */
  agents(ids?: readonly string[]): Later<readonly AgentRow[]>
  /** In the order in which they were first written. */
  definitions(): Later<readonly WorkflowRow[]>
  definition(id: string): Later<StoredDefinition | undefined>
  /** Makes all of the change or nothing. Rejects with DEFINITION_INVALID when rows cannot be kept. */
  write(change: RegistryChange): Later<void>
}

/** A store that keeps definitions too. */
export interface RegistryStore {
  readonly registry: Registry
}

type Later<T> = T | Promise<T>
