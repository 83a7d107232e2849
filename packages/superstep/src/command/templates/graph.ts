/** Nodes and edges as rows, for graphs that live in a database; agents in a file beside them. */
import { type Template, withCommonFiles } from "./template.ts"

export const graph: Template = {
  name: "graph",
  summary: "nodes and edges as rows of JSON, with agents beside them",
  next: [
    "superstep validate support.json --agents agents.yaml",
    'superstep run support.json "My invoice is wrong" --agents agents.yaml',
    "superstep apply support.json --agents agents.yaml",
    'superstep run support "I cannot log in"',
  ],
  files: (project) =>
    withCommonFiles(
      { "support.json": `${JSON.stringify(support, undefined, 2)}\n`, "agents.yaml": agents(project.model) },
      project,
      graph,
    ),
}

const row = { workflowId: "support" }

const support = {
  id: "support",
  name: "Support",
  description: "Sorts a letter, and gives it to whoever can answer it.",
  isConversational: false,
  entrypointNodeId: "sort",
  nodes: [
    { id: "sort", ...row, nodeType: "AGENT", nodeName: "sort", agentId: "sorter" },
    { id: "billing", ...row, nodeType: "AGENT", nodeName: "billing", agentId: "accountant" },
    { id: "technical", ...row, nodeType: "AGENT", nodeName: "technical", agentId: "engineer" },
  ],
  edges: [
    edge("to-billing", "sort", "billing", "billing"),
    edge("to-technical", "sort", "technical", null),
    edge("billing-done", "billing", null, null),
    edge("technical-done", "technical", null, null),
  ],
}

function edge(id: string, sourceNodeId: string, targetNodeId: string | null, conditionValue: string | null) {
  const conditionType = conditionValue === null ? "ALWAYS" : "CONDITIONAL"
  return { id, ...row, sourceNodeId, targetNodeId, conditionType, conditionValue }
}

const agents = (model: string) => `# The agents of support.json, by the ids that its nodes name.
agents:
  sorter:
    model: ${model}
    description: Says what a letter is about.
    instruction: |
      Read the letter. If it is about money, an invoice or a refund, go to billing.

  accountant:
    model: ${model}
    description: Answers questions about invoices and refunds.
    instruction: |
      Answer the letter. Be kind and exact, and say what happens next.

  engineer:
    model: ${model}
    description: Answers everything else.
    instruction: |
      Answer the letter in short, numbered steps.
`
