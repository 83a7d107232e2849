// Definitions of any length.
import { itemList } from "../answers.mjs"

const head = "agents:\n  helper: { model: offline, toolsets: [{ type: think }] }\nworkflow:\n"

/** Steps that call a tool, with the first one's output. Short, as a file has at most 500,000 tokens. */
export function toolSteps(count) {
  const first = '  - {id: first, type: tool, tool: think, agent: helper, args: {thought: "a"}}\n'
  const other = '  - {type: tool, tool: think, agent: helper, args: {thought: "{{ $steps.first.output }}"}}\n'
  return head + first + other.repeat(count - 1)
}

/** Steps of an agent: each prompt has the outputs of all steps before it. */
export function agentSteps(count) {
  const step = (index) => `  - { id: s${index}, type: agent, name: helper }\n`
  return head + itemList(count).map(step).join("")
}
