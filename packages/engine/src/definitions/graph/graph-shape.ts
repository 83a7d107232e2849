/**
 * The schema of a graph in either spelling: rows (`nodeType`, `sourceNodeId`, …), or the executor's JSON (`type`,
 * `from_node`, …). `check-graph.ts` checks which fields go with which type.
 */
import { z } from "zod"
import { agentShape, agentsFileFields, toolsetShape } from "../agents/index.ts"
import { durationShape, flowShape, nodeFlowShape } from "../flow.ts"
import { schedulesShape } from "../schedules.ts"
import { STRATEGIES } from "./nodes/merge-nodes.ts"

const text = z.string()
const maybe = text.nullable().optional()
const names = z.array(text)
const paths = z.record(text, text)
const count = z.int().min(1)
const condition = z.union([text, z.boolean()]).nullable().optional()

/** Rows write them in capitals. */
export const NODE_TYPES = [
  "agent",
  "tool_executor",
  "human_handoff",
  "start",
  "fanout",
  "loop",
  "conditional",
  "merge",
  "state",
  "decision",
  "parallel",
  "workflow",
  "tool",
  "wait",
] as const

export type NodeType = (typeof NODE_TYPES)[number]

const params = z.strictObject({
  strategy: z.enum(STRATEGIES).optional(),
  template: text.optional(),
  separator: text.optional(),
  prompt: text.optional(),
})

const nodeShape = z.strictObject({
  id: text.min(1),
  workflowId: maybe.describe("The id of the graph."),
  nodeType: text.optional().describe("AGENT, TOOL_EXECUTOR, HUMAN_HANDOFF, or another type in capitals."),
  type: text.optional().meta({ enum: [...NODE_TYPES] }),
  nodeName: maybe.describe("The name that agents use. Default: its id."),
  name: maybe,
  description: maybe,
  agentId: maybe,
  agent_id: maybe.describe("The agent. May contain variables."),
  inputs: paths.optional().describe("Names, and the paths of their values in the state."),
  outputs: paths.optional().describe("Names, and the paths in the state to write them to."),
  params: params.optional(),
  prompt: text
    .optional()
    .describe("agent, workflow: its prompt, as a template. human_handoff: the question."),
  result: text.optional().describe("agent, tool, wait, workflow: an expression that replaces the output."),
  branches: names.optional().describe("fanout: the first nodes of its branches."),
  max_iters: count.optional().describe("loop: maximum number of passes."),
  maxIters: count.optional(),
  loop_condition: condition.describe("loop: repeats while this holds."),
  condition: condition.describe("conditional: the condition that `true` and `false` of its edges refer to."),
  strategy: z.enum(STRATEGIES).optional().describe("merge: how to combine the outputs."),
  template: text.optional().describe("merge: the template of the strategy custom_template."),
  separator: text.optional().describe("merge: the separator between texts."),
  update: z.record(text, z.json()).optional().describe("state: paths, and the expressions to write there."),
  read: text.optional().describe("state: the path of the value to pass on."),
  options: names.optional().describe("decision: the nodes to choose from."),
  decide: text.optional().describe("decision: an expression that results in one of the options."),
  nodes: names.optional().describe("parallel: the nodes that run at the same time."),
  aggregator: z.enum(STRATEGIES).optional().describe("parallel: how to combine their outputs."),
  file: text.optional().describe("workflow: the file."),
  tool: text.optional().describe("tool: its name."),
  toolset: toolsetShape.optional().describe("tool: the toolset that has it."),
  args: z.record(text, z.json()).optional().describe("tool: its arguments, with templates."),
  to: text.optional().describe("human_handoff: who is asked."),
  signal: text.min(1).max(200).optional().describe("wait: the name of the signal."),
  schema: z.record(text, z.json()).optional().describe("wait: JSON Schema of the signal's value."),
  timeout: durationShape
    .optional()
    .describe("wait: the time until `default` is the value, or the node fails."),
  default: z.json().optional().describe("wait: the value after a timeout."),
  flow: nodeFlowShape,
  // For editors.
  position: z.json().optional(),
  metadata: z.json().optional(),
})

const edgeShape = z.strictObject({
  id: text.min(1).optional(),
  workflowId: maybe,
  sourceNodeId: text.optional(),
  from_node: text.optional(),
  targetNodeId: maybe.describe("null: the run ends."),
  to_node: maybe,
  conditionType: z.enum(["CONDITIONAL", "ALWAYS"]).optional(),
  conditionValue: maybe.describe(
    "The name that chooses the edge; after nodes that are not agents, a condition.",
  ),
  condition,
  label: maybe,
  description: maybe,
  metadata: z.json().optional(),
})

const span = z.number().min(0).optional()

const limitsShape = z.strictObject({
  max_steps: count.optional().describe("Node visits in a run."),
  maxSteps: count.optional(),
  timeout_ms: span.describe("Timeout of the run; 0: none. Default: 90 s in a conversation, else none."),
  timeoutMs: span,
  timeout_seconds: span,
  timeoutSeconds: span,
  max_iters: count.optional().describe("Maximum passes of loops without their own limit."),
  maxIters: count.optional(),
  max_parallel: count.optional().describe("Nodes that run at the same time."),
  maxParallel: count.optional(),
})

const shared = {
  prompt: text.nullable().optional().describe("Same as `instruction`."),
  instructions: text.nullable().optional(),
  tools: z
    .array(z.union([z.enum(["think", "todo", "memory", "filesystem", "shell", "fetch"]), toolsetShape]))
    .nullable()
    .optional()
    .describe("Same as `toolsets`; a string is a toolset without settings."),
  model: text.nullable().optional(),
  description: text.nullable().optional(),
}

const agentFields = z.strictObject({ ...agentShape.shape, ...shared, id: text.optional() })
const agentRow = z.strictObject({ ...agentShape.shape, ...shared, id: text.min(1) })

const agentsShape = z.union([z.array(agentRow), z.record(text, agentFields)])

/** The agents of a graph's file, or of a file of their own. */
const agentsPart = {
  agents: agentsShape.optional().describe("By id, or as a list of agents with ids."),
  ...agentsFileFields,
}

export const graphShape = z.strictObject({
  id: maybe,
  name: maybe,
  description: maybe,
  isConversational: z
    .boolean()
    .optional()
    .describe("Every agent can end the conversation, with the tool `end`."),
  entrypointNodeId: maybe.describe("Where a run begins."),
  entry: maybe,
  exits: names.optional().describe("Where a run ends; the result is the output of these nodes."),
  nodes: z.array(nodeShape),
  edges: z.array(edgeShape).optional(),
  ...agentsPart,
  limits: limitsShape.optional(),
  flow: flowShape.optional(),
  schedules: schedulesShape.optional(),
  ...limitsShape.pick({ max_steps: true, maxSteps: true, timeout_ms: true, timeoutMs: true }).shape,
  version: z.union([text, z.number()]).optional(),
  metadata: z.json().optional(),
})

/** A file with agents for graphs. Other fields are ignored. */
export const agentsFileShape = z.looseObject(agentsPart)

export type GraphData = z.infer<typeof graphShape>
export type NodeData = z.infer<typeof nodeShape>
export type EdgeData = z.infer<typeof edgeShape>
export type AgentsFileData = z.infer<typeof agentsFileShape>
export type AgentFieldsData = z.infer<typeof agentFields>
