/** What each type of node is for, and its fields. The checks and the JSON Schema for editors both read this table. */
import type { Kind } from "../../document/index.ts"
import type { NodeData, NodeType } from "./graph-shape.ts"

type Field = keyof NodeData

const ANY: readonly Field[] = [
  "id",
  "workflowId",
  "nodeType",
  "type",
  "nodeName",
  "name",
  "description",
  "position",
  "metadata",
]
export const AGENT: readonly Field[] = ["agentId", "agent_id"]
const MERGE: readonly Field[] = ["params", "strategy", "template", "separator", "outputs"]

export const NODE_KINDS: Readonly<Record<NodeType, Kind<Field>>> = {
  agent: {
    about: "Runs an agent.",
    fields: [...ANY, ...AGENT, "inputs", "outputs", "prompt", "result", "params", "flow", "placement"],
    required: [AGENT],
    meaning: { prompt: "The agent's prompt, as a template." },
  },
  tool_executor: { about: "Runs the tool calls of the agent before it. In conversations.", fields: ANY },
  human_handoff: {
    about: "Hands the run over to a person, who answers, chooses the next node, or ends the run.",
    fields: [...ANY, "prompt", "to"],
    meaning: { prompt: "The question." },
  },
  start: { about: "Where a run begins.", fields: ANY },
  fanout: {
    about: "Starts several branches, which run at the same time.",
    fields: [...ANY, "branches"],
  },
  loop: {
    about: "Repeats the nodes between its `continue` edge and the edge that leads back to it.",
    fields: [...ANY, "max_iters", "maxIters", "loop_condition"],
  },
  conditional: {
    about: "Follows the first edge whose condition holds, else the edge without one.",
    fields: [...ANY, "condition"],
  },
  merge: {
    about: "Waits for the branches of a fanout, and combines their outputs.",
    fields: [...ANY, ...MERGE],
  },
  state: {
    about: "Writes values to the state, or reads one.",
    fields: [...ANY, "update", "read"],
    either: [[["update"], ["read"]]],
  },
  decision: {
    about: "Follows one of its options, which an expression or an agent chooses.",
    fields: [...ANY, ...AGENT, "options", "decide", "inputs", "prompt", "params"],
    either: [[["decide"], AGENT]],
    meaning: { prompt: "The agent's prompt, as a template." },
  },
  parallel: {
    about: "Runs other nodes at the same time, and combines their outputs.",
    fields: [...ANY, "nodes", "aggregator", ...MERGE],
    required: ["nodes"],
  },
  workflow: {
    about: "Runs the workflow of another file.",
    fields: [...ANY, "file", "inputs", "outputs", "prompt", "result", "params"],
    required: ["file"],
    meaning: { prompt: "The workflow's prompt, as a template." },
  },
  tool: {
    about: "Calls one tool without a model.",
    fields: [...ANY, ...AGENT, "tool", "toolset", "args", "outputs", "result", "flow", "placement"],
    required: ["tool"],
    either: [[["toolset"], AGENT]],
  },
  function: {
    about: "Calls a function of your own module.",
    fields: [...ANY, "module", "args", "schema", "outputs", "result", "flow", "placement"],
    required: ["module"],
    meaning: { schema: "JSON Schema of the result." },
  },
  wait: {
    about: "Waits for a signal. Its value is the output.",
    fields: [...ANY, "signal", "schema", "timeout", "default", "outputs", "result"],
    required: ["signal"],
  },
}

/** The kind of a node. In a conversation, the messages are an agent's only input. */
export function nodeKind(type: NodeType, isChat: boolean): Kind<Field> {
  const kind = NODE_KINDS[type]
  return isChat && type === "agent" ? { ...kind, fields: [...ANY, ...AGENT] } : kind
}

/** Fields of nodes and edges that only one spelling offers. Both accept them all. */
export const ROW_FIELDS = [
  "workflowId",
  "nodeType",
  "nodeName",
  "agentId",
  "maxIters",
  "sourceNodeId",
  "targetNodeId",
  "conditionType",
  "conditionValue",
]
export const EXECUTOR_FIELDS = ["type", "name", "agent_id", "max_iters", "from_node", "to_node"]

/** The fields of a node for messages: those of its type, as the file spells them. */
export function nodeFields(node: unknown): readonly string[] | undefined {
  const { type, nodeType } = node as Readonly<Record<string, unknown>>
  const isRow = type === undefined && nodeType !== undefined
  const written = String(isRow ? nodeType : type).toLowerCase()
  const other = isRow ? EXECUTOR_FIELDS : ROW_FIELDS
  if (!Object.hasOwn(NODE_KINDS, written)) return undefined
  return nodeKind(written as NodeType, isRow).fields.filter((field) => !other.includes(field))
}

/** The same for an edge. */
export function edgeFields(edge: unknown): readonly string[] {
  const isRow = Object.keys(edge as object).some((field) => ROW_FIELDS.includes(field))
  const [own, other] = isRow ? [ROW_FIELDS, []] : [EXECUTOR_FIELDS, ["condition"]]
  const ends = own.filter((field) => EDGE_FIELDS.includes(field))
  return ["id", ...ends, ...other, "label", "description", "metadata"]
}

const EDGE_FIELDS = [
  "workflowId",
  "sourceNodeId",
  "targetNodeId",
  "conditionType",
  "conditionValue",
  "from_node",
  "to_node",
]
