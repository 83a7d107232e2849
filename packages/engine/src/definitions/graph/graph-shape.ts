/**
 * The schema of a graph in either spelling: rows (`nodeType`, `sourceNodeId`, …), or the executor's JSON (`type`,
 * `from_node`, …). `node-kinds.ts` says which fields go with which type.
 */
import { z } from "zod"
import { agentShape, agentsFileFields, toolsetShape } from "../agents/index.ts"
import { durationShape, flowShape, nodeFlowShape, placementShape } from "../flow.ts"
import { jsonShape } from "../json-shape.ts"
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
  "function",
  "wait",
] as const

export type NodeType = (typeof NODE_TYPES)[number]

const params = z.strictObject({
  strategy: z.enum(STRATEGIES).optional(),
  template: text.optional(),
  separator: text.optional(),
  prompt: text.optional(),
})

const nodeShape = z
  .strictObject({
    id: text.min(1),
    workflowId: maybe.describe("The id of the graph."),
    nodeType: text.optional().describe("The type of the node."),
    type: text.optional().describe("The type of the node."),
    nodeName: maybe.describe("The name that agents use. Default: its id."),
    name: maybe,
    description: maybe,
    agentId: maybe,
    agent_id: maybe.describe("The agent. May contain variables."),
    inputs: paths.optional().describe("Names, and the paths of their values in the state."),
    outputs: paths.optional().describe("Names, and the paths in the state to write them to."),
    params: params.optional(),
    prompt: text.optional().describe("Its prompt, as a template."),
    result: text.optional().describe("An expression that replaces the output, which it sees as `latest`."),
    branches: names.optional().describe("The first nodes of its branches."),
    max_iters: count.optional().describe("Maximum number of passes. Default: the limit of the graph."),
    maxIters: count.optional(),
    loop_condition: condition.describe("Repeats while this holds."),
    condition: condition.describe("The condition that `true` and `false` of its edges refer to."),
    strategy: z.enum(STRATEGIES).optional().describe("How to combine the outputs."),
    template: text.optional().describe("The template of the strategy custom_template."),
    separator: text.optional().describe("The separator between texts."),
    update: z.record(text, jsonShape).optional().describe("Paths, and the expressions to write there."),
    read: text.optional().describe("The path of the value to pass on."),
    options: names.optional().describe("The nodes to choose from."),
    decide: text.optional().describe("An expression that results in one of the options."),
    nodes: names.optional().describe("The nodes that run at the same time."),
    aggregator: z.enum(STRATEGIES).optional().describe("How to combine their outputs."),
    file: text.optional().describe("The file, relative to this one."),
    tool: text.optional().describe("The name of the tool."),
    toolset: toolsetShape.optional().describe("The toolset that has the tool."),
    args: z.record(text, jsonShape).optional().describe("The arguments. Strings are templates."),
    module: text
      .min(1)
      .optional()
      .describe("The module and the name of the export, such as ./score.ts#score."),
    to: text.optional().describe("Who is asked."),
    signal: text.min(1).max(200).optional().describe("The name of the signal."),
    schema: z.record(text, jsonShape).optional().describe("JSON Schema of the signal's value."),
    timeout: durationShape.optional().describe("The time until `default` is the value, or the node fails."),
    default: jsonShape.optional().describe("The value after a timeout."),
    flow: nodeFlowShape,
    placement: placementShape,
    // For editors.
    position: jsonShape.optional(),
    metadata: jsonShape.optional(),
  })
  .meta({ id: "node" })

const edgeShape = z
  .strictObject({
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
    metadata: jsonShape.optional(),
  })
  .meta({ id: "edge" })

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
  metadata: jsonShape.optional(),
})

/** The fields at the top of a graph. */
export const graphFields = Object.keys(graphShape.shape)

/** A file with agents for graphs. Other fields are ignored. */
export const agentsFileShape = z.looseObject(agentsPart)

export type GraphData = z.infer<typeof graphShape>
export type NodeData = z.infer<typeof nodeShape>
export type EdgeData = z.infer<typeof edgeShape>
export type AgentsFileData = z.infer<typeof agentsFileShape>
export type AgentFieldsData = z.infer<typeof agentFields>
