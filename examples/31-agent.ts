/** An agent: a model with instructions and a tool. */
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { tool } from "superstep/tools"
import { z } from "zod"

const weather = tool({
  name: "weather",
  description: "Tells the weather in a city.",
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, degrees: city.length * 5, sky: "clear" }),
})

// A scripted model, so that the example runs without a key.
const model = scriptedModel([
  {
    tool_calls: [
      { name: "weather", args: { city: "Rome" } },
      { name: "weather", args: { city: "Oslo" } },
    ],
  },
  "Both are clear, and both have 20 degrees.",
])

export const guide = agent({
  name: "guide",
  // Or a name, if its provider's package is installed: model: "openai/gpt-5".
  model,
  instructions: "You help travellers. Look up the weather before you answer.",
  tools: [weather],
  limits: { modelCalls: 5 },
})

if (import.meta.filename === process.argv[1]) {
  const { outputs, usage } = await guide.run("Where is it warmer, in Rome or in Oslo?")
  console.log(...outputs)
  console.log(`${usage.modelCalls} model calls, ${usage.toolCalls} tool calls`)
}
