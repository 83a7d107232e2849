/** Agents together: one hands the conversation over, another delegates a task to a sub-agent. */
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"

const model = scriptedModel({
  desk: [{ tool_calls: [{ name: "handoff_to_taxes", args: {} }] }],
  taxes: [
    {
      tool_calls: [
        { name: "transfer_task", args: { agent: "sums", task: "12 % of 400", expected_output: "a number" } },
      ],
    },
    "You pay 48.",
  ],
  sums: ["48"],
})

const sums = agent({
  name: "sums",
  description: "Does sums.",
  model,
  instructions: "Answer with the number alone.",
})
const taxes = agent({
  name: "taxes",
  description: "Knows taxes.",
  model,
  instructions: "Tax is 12 %.",
  subAgents: [sums],
})

export const desk = agent({
  name: "desk",
  model,
  instructions: "Send people to the right place.",
  handoffs: [taxes],
})

if (import.meta.filename === process.argv[1]) {
  const { outputs, usage } = await desk.run("What do I pay on 400?")
  console.log(...outputs, `(${usage.modelCalls} model calls)`)
}
