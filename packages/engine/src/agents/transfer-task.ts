/** `transfer_task`: another agent does a task in a conversation of its own, and its answer is the result. */
import type { Tool } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import { coreOf } from "./agent-core.ts"
import { runNested } from "./agent-loop.ts"
import { fellowByName, listFellows, parseFellow } from "./fellow-agents.ts"

interface TransferArgs {
  readonly agent: string
  readonly task: string
  readonly expected_output?: string | undefined
}

export function transferTool(agents: readonly Agent[]): Tool {
  return {
    name: "transfer_task",
    description: `Gives a task to another agent and returns its answer. The agent knows nothing but what the task says. Agents:\n${listFellows(agents)}`,
    parameters: {
      type: "object",
      properties: {
        agent: { type: "string", enum: agents.map(({ name }) => name), description: "Who does it." },
        task: { type: "string", description: "What is to be done, with all that is needed for it." },
        expected_output: { type: "string", description: "What the answer should look like." },
      },
      required: ["agent", "task", "expected_output"],
      additionalProperties: false,
    },
    parse(args) {
      const { task, expected_output } = (args ?? {}) as Partial<TransferArgs>
      if (typeof task !== "string" || task === "") return { ok: false, reason: "task must be a text" }
      if (expected_output !== undefined && typeof expected_output !== "string") {
        return { ok: false, reason: "expected_output must be a text" }
      }
      return parseFellow(agents, args)
    },
    durable: true,
    run: (args: TransferArgs, call) => runNested(coreOf(fellowByName(agents, args)), taskText(args), call),
  } as Tool
}

function taskText({ task, expected_output }: TransferArgs): string {
  return expected_output === undefined || expected_output === ""
    ? task
    : `${task}\n\nExpected output: ${expected_output}`
}
