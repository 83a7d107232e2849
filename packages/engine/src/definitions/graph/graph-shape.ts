/**
 * A graph as it is written, in either spelling: rows (`nodeType`, `sourceNodeId`, …), or the executor's JSON (`type`,
 * `from_node`, …). Which fields go with which type is checked in `check-nodes.ts`.
 */
import { z } from "zod"
import { agentShape, modelShape, permissionsShape, providerShape, toolsetShape } from "../agents/index.ts"
import { STRATEGIES } from "./merge-values.ts"

const text = z.string()
const maybe = text.nullable().optional()
const names = z.array(text)
const paths = z.record(text, text)
const count = z.int().min(1)
const condition = z.union([text, z.boolean()]).nullable().optional()

/** In small letters; rows write them in capitals. */
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
  nodeName: maybe.describe("What agents call it. Default: its id."),
  name: maybe,
  description: maybe,
  agentId: maybe,
  agent_id: maybe.describe("The agent. May have variables in it."),
  inputs: paths.optional().describe("Names, and the paths in the state of what they stand for."),
  outputs: paths.optional().describe("Names, and the paths in the state that they are written to."),
  params: params.optional(),
  prompt: text
    .optional()
    .describe("agent, workflow: what it is asked, as a template. human_handoff: the question."),
  result: text.optional().describe("agent, tool, workflow: what becomes of the output, as an expression."),
  branches: names.optional().describe("fanout: the nodes that begin its branches."),
  max_iters: count.optional().describe("loop: passes at the most."),
  maxIters: count.optional(),
  loop_condition: condition.describe("loop: there is another pass while this holds."),
  condition: condition.describe("conditional: what `true` and `false` of its edges are about."),
  strategy: z.enum(STRATEGIES).optional().describe("merge: how several outputs become one."),
  template: text.optional().describe("merge: of the strategy custom_template."),
  separator: text.optional().describe("merge: what stands between texts."),
  update: z
    .record(text, z.json())
    .optional()
    .describe("state: paths, and expressions for what is written there."),
  read: text.optional().describe("state: the path of what is passed on."),
  options: names.optional().describe("decision: the nodes to choose from."),
  decide: text.optional().describe("decision: an expression that gives one of the options."),
  nodes: names.optional().describe("parallel: the nodes that run at the same time."),
  aggregator: z.enum(STRATEGIES).optional().describe("parallel: how their outputs become one."),
  file: text.optional().describe("workflow: the file."),
  tool: text.optional().describe("tool: its name."),
  toolset: toolsetShape.optional().describe("tool: where it is from."),
  args: z.record(text, z.json()).optional().describe("tool: its arguments, with templates."),
  to: text.optional().describe("human_handoff: who is asked."),
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
    "What the edge is chosen by: a name, or a condition after nodes that are no agents.",
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
  timeout_ms: span.describe("Of the whole run; 0: no limit. Default: 90 s in a conversation, else none."),
  timeoutMs: span,
  timeout_seconds: span,
  timeoutSeconds: span,
  max_iters: count.optional().describe("Passes of a loop that says nothing itself."),
  maxIters: count.optional(),
  max_parallel: count.optional().describe("Nodes that run at the same time."),
  maxParallel: count.optional(),
})

const shared = {
  prompt: text.nullable().optional().describe("What it is told to do, as `instruction`."),
  instructions: text.nullable().optional(),
  tools: z
    .array(z.union([z.enum(["think", "todo", "memory", "filesystem", "shell", "fetch"]), toolsetShape]))
    .nullable()
    .optional()
    .describe("As `toolsets`; a text is one that needs no settings."),
  model: text.nullable().optional(),
  description: text.nullable().optional(),
}

const agentFields = z.strictObject({ ...agentShape.shape, ...shared, id: text.optional() })
const agentRow = z.strictObject({ ...agentShape.shape, ...shared, id: text.min(1) })

const agentsShape = z.union([z.array(agentRow), z.record(text, agentFields)])

/** What says which agents there are: part of a graph's file, or a file by itself. */
const agentsPart = {
  agents: agentsShape.optional().describe("By id, or as a list of agents with ids."),
  models: z.record(text, modelShape).optional(),
  providers: z.record(text, providerShape).optional(),
  permissions: permissionsShape.optional(),
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
  exits: names.optional().describe("Where a run ends; the outputs of these nodes are its result."),
  nodes: z.array(nodeShape),
  edges: z.array(edgeShape).optional(),
  ...agentsPart,
  limits: limitsShape.optional(),
  ...limitsShape.pick({ max_steps: true, maxSteps: true, timeout_ms: true, timeoutMs: true }).shape,
  version: z.union([text, z.number()]).optional(),
  metadata: z.json().optional(),
})

/** A file with agents for graphs. What else is in it is for others. */
export const agentsFileShape = z.looseObject(agentsPart)

export type GraphData = z.infer<typeof graphShape>
export type NodeData = z.infer<typeof nodeShape>
export type EdgeData = z.infer<typeof edgeShape>
export type AgentsFileData = z.infer<typeof agentsFileShape>
export type AgentFieldsData = z.infer<typeof agentFields>
