/** Definitions: the columns have the names of the fields of users' documents, and hold plain strings. */
import {
  type AgentRow,
  checkRegistryChange,
  type EdgeRow,
  type Json,
  type NodeRow,
  type Registry,
  type RegistryChange,
  type RegistryVersions,
  registryConflict,
  type StoredDefinition,
  type WorkflowRow,
} from "@superstep/engine"
import { isPlainText } from "@superstep/engine/text"
import type { Database, Statement } from "./database.ts"
import { parseJson } from "./names.ts"

const AGENTS = "id, name, description, prompt, model, tools, config"
const WORKFLOWS = 'w.id, w.name, w.description, w."isConversational", w."entrypointNodeId", w.config'

const ALL_AGENTS: Statement = { text: `SELECT ${AGENTS} FROM $.agents ORDER BY position` }
const SOME_AGENTS: Statement = {
  text: `SELECT ${AGENTS} FROM $.agents WHERE id = ANY ($1) ORDER BY position`,
}
const ALL_WORKFLOWS: Statement = { text: `SELECT ${WORKFLOWS} FROM $.workflows AS w ORDER BY w.position` }

function partsOf(table: string, columns: string): string {
  const list = columns.replace(/"?(\w+)"?/g, (column, name) => `'${name}', p.${column}`)
  return `(SELECT json_agg(json_build_object(${list}) ORDER BY p.position) FROM $.${table} AS p WHERE p."workflowId" = w.id)`
}
const NODES = partsOf("workflow_nodes", 'id, "workflowId", "nodeType", "nodeName", "agentId", config')
const EDGES = partsOf(
  "workflow_edges",
  'id, "workflowId", "sourceNodeId", "targetNodeId", "conditionType", "conditionValue", config',
)
const DEFINITIONS: Statement = {
  text: `SELECT ${WORKFLOWS}, ${NODES} AS nodes, ${EDGES} AS edges FROM $.workflows AS w WHERE w.id = ANY ($1)`,
}
/** $1 definitions, $2 agents: those with these ids, and the revision that they are of, at one moment. */
const SEEN: Statement = {
  text: `SELECT revision,
    (SELECT json_agg(d) FROM (${DEFINITIONS.text}) AS d) AS definitions,
    (SELECT json_agg(a) FROM (SELECT ${AGENTS} FROM $.agents WHERE id = ANY ($2)) AS a) AS agents
    FROM $.registry`,
}
const WRITE: Statement = { text: "SELECT $.write_registry_1($1, $2) AS is_written" }

/** Values of JSON are text in it. */
interface DefinitionRow extends WorkflowRow {
  readonly nodes: readonly NodeRow[] | null
  readonly edges: readonly EdgeRow[] | null
}

/** A port that always answers with a promise. */
export type Promised<Port extends { [Method in keyof Port]: (...args: never[]) => unknown }> = {
  [Method in keyof Port]: (...args: Parameters<Port[Method]>) => Promise<Awaited<ReturnType<Port[Method]>>>
}

export function registryOn(database: Database): Promised<Registry> {
  return {
    async agents(ids) {
      const subject = "The list of agents"
      const rows =
        ids === undefined
          ? await database.read<AgentRow>(subject, ALL_AGENTS)
          : await database.read<AgentRow>(subject, SOME_AGENTS, [ids.filter(isPlainText)])
      return rows.map((row) => fromTexts("agents", row))
    },
    async definitions() {
      const rows = await database.read<WorkflowRow>("The list of definitions", ALL_WORKFLOWS)
      return rows.map((row) => fromTexts("workflows", row))
    },
    async definition(id) {
      if (!isPlainText(id)) return undefined
      const [row] = await database.read<DefinitionRow>(`Definition "${id}"`, DEFINITIONS, [[id]])
      return row && toDefinition(row)
    },
    async write(change, expected) {
      checkRegistryChange(change)
      const text = toTexts(change)
      for (;;) {
        const revision = await revisionFor(database, expected)
        const subject = "The change of definitions"
        const [row] = await database.write<{ is_written: boolean }>(subject, WRITE, [revision, text])
        if (row?.is_written === true) return
      }
    },
  }
}

/** The revision at which the definitions are as expected; null where nothing is. Throws REGISTRY_CONFLICT. */
async function revisionFor(
  database: Database,
  expected: RegistryVersions | undefined,
): Promise<number | null> {
  const ids = [expected?.definitions, expected?.agents].map((one) =>
    Object.keys(one ?? {}).filter(isPlainText),
  )
  if (ids.every(({ length }) => length === 0)) {
    // Ids that no row can have are compared too.
    const conflict = registryConflict({ definition: () => undefined, agents: () => [] }, expected)
    if (conflict !== undefined) throw conflict
    return null
  }
  const [seen] = await database.read<{
    revision: number
    definitions: readonly DefinitionRow[] | null
    agents: readonly AgentRow[] | null
  }>("The definitions", SEEN, ids)
  const definitions = new Map((seen?.definitions ?? []).map((row) => [row.id, toDefinition(row)]))
  const agents = (seen?.agents ?? []).map((row) => fromTexts("agents", row))
  const conflict = registryConflict(
    {
      definition: (id) => definitions.get(id),
      agents: (wanted) => agents.filter(({ id }) => wanted.includes(id)),
    },
    expected,
  )
  if (conflict !== undefined) throw conflict
  return seen?.revision ?? null
}

function toDefinition({ nodes, edges, ...workflow }: DefinitionRow): StoredDefinition {
  return {
    workflow: fromTexts("workflows", workflow),
    nodes: (nodes ?? []).map((row) => fromTexts("workflow_nodes", row)),
    edges: (edges ?? []).map((row) => fromTexts("workflow_edges", row)),
  }
}

const JSON_FIELDS = ["tools", "config"] as const

function fromTexts<Row extends { readonly config: Json }>(table: string, row: Row): Row {
  const parsed: Record<string, unknown> = { ...row }
  for (const field of JSON_FIELDS) {
    const text = parsed[field]
    if (typeof text === "string")
      parsed[field] = parseJson(text, () => `A row of ${table} is damaged at ${field}`)
  }
  return parsed as Row
}

/** As the function takes it. */
function toTexts(change: RegistryChange): string {
  const definitions = change.definitions ?? []
  return JSON.stringify({
    removedDefinitions: (change.removedDefinitions ?? []).filter(isPlainText),
    removedAgents: (change.removedAgents ?? []).filter(isPlainText),
    agents: (change.agents ?? []).map(rowText),
    workflows: definitions.map(({ workflow }, n) => rowText(workflow, n)),
    workflow_nodes: definitions.flatMap(({ nodes }) => nodes.map(rowText)),
    workflow_edges: definitions.flatMap(({ edges }) => edges.map(rowText)),
  })
}

function rowText(row: object, n: number): object {
  const text: Record<string, unknown> = { ...row, n }
  for (const field of JSON_FIELDS) {
    const value = text[field]
    if (value !== undefined) text[field] = value === null ? null : JSON.stringify(value)
  }
  return text
}

// The function that changes definitions. The revision makes "compared and written in one step" one statement.

/** Values of JSON are text in it: a JSON null is an SQL null. */
function put(table: string, columns: string, types: string): string {
  const names = columns.split(", ")
  return `
  INSERT INTO $.${table} (${columns})
  SELECT ${names.map((name) => `c.${name}`).join(", ")}
  FROM json_to_recordset(change->'${table}') AS c(n int, ${types}) ORDER BY c.n
  ON CONFLICT (id) DO UPDATE SET ${names
    .slice(1)
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")};`
}

function add(table: string, columns: string, types: string): string {
  const names = columns.split(", ")
  return `
  INSERT INTO $.${table} (${columns}, position)
  SELECT ${names.map((name) => `c.${name}`).join(", ")}, c.n
  FROM json_to_recordset(change->'${table}') AS c(n int, ${types});`
}

export const REGISTRY_FUNCTIONS = `
-- False when the definitions are no longer those of the revision; null as revision: whatever they are.
CREATE FUNCTION $.write_registry_1(p_revision bigint, change json) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  present bigint;
  replaced text[];
BEGIN
  SELECT revision INTO present FROM $.registry FOR UPDATE;
  IF present <> p_revision THEN RETURN false; END IF;
  UPDATE $.registry SET revision = revision + 1;
  DELETE FROM $.workflows WHERE id IN (SELECT json_array_elements_text(change->'removedDefinitions'));
  DELETE FROM $.agents WHERE id IN (SELECT json_array_elements_text(change->'removedAgents'));
  SELECT array_agg(one.id) INTO replaced FROM (
    SELECT json_array_elements_text(change->'removedDefinitions') AS id
    UNION SELECT c.id FROM json_to_recordset(change->'workflows') AS c(id text)
  ) AS one;
  DELETE FROM $.workflow_nodes WHERE "workflowId" = ANY (replaced);
  DELETE FROM $.workflow_edges WHERE "workflowId" = ANY (replaced);
  ${put(
    "agents",
    "id, name, description, prompt, model, tools, config",
    "id text, name text, description text, prompt text, model text, tools text, config text",
  )}
  ${put(
    "workflows",
    'id, name, description, "isConversational", "entrypointNodeId", config',
    'id text, name text, description text, "isConversational" boolean, "entrypointNodeId" text, config text',
  )}
  ${add(
    "workflow_nodes",
    'id, "workflowId", "nodeType", "nodeName", "agentId", config',
    'id text, "workflowId" text, "nodeType" text, "nodeName" text, "agentId" text, config text',
  )}
  ${add(
    "workflow_edges",
    'id, "workflowId", "sourceNodeId", "targetNodeId", "conditionType", "conditionValue", config',
    'id text, "workflowId" text, "sourceNodeId" text, "targetNodeId" text, "conditionType" text, "conditionValue" text, config text',
  )}
  RETURN true;
END
$function$;
`
