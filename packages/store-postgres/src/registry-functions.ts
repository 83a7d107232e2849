/** The function that changes definitions. The revision makes "compared and written in one step" one statement. */

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
