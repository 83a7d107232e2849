/** An agent that looks something up, writes it down, and answers: each model call and tool call leaves a line in a file. */
import { appendFileSync } from "node:fs"
import { agent } from "superstep/agents"
import { type Model, scriptedModel } from "superstep/models"
import { tool } from "superstep/tools"
import { z } from "zod"

export function clerk(trail: string) {
  const leave = (line: string) => appendFileSync(trail, `${line}\n`)
  const scripted = scriptedModel({
    clerk: [
      { tool_calls: [{ name: "look_up", args: { what: "price" } }], usage: { input: 10, output: 5 } },
      { tool_calls: [{ name: "write_down", args: { text: "42" } }], usage: { input: 15, output: 5 } },
      { tool_calls: [{ name: "look_up", args: { what: "stock" } }], usage: { input: 20, output: 5 } },
      { text: "It costs 42, and there are 7.", usage: { input: 30, output: 5 } },
    ],
  })
  const model: Model = {
    ...scripted,
    doGenerate: async (options) => {
      leave("model")
      return await scripted.doGenerate(options)
    },
    doStream: async (options) => {
      leave("model")
      return await scripted.doStream(options)
    },
  }
  return agent({
    name: "clerk",
    model,
    instructions: "Answer from what you look up.",
    tools: [
      tool({
        name: "look_up",
        description: "Looks something up",
        input: z.object({ what: z.string() }),
        run: ({ what }) => {
          leave(`look_up ${what}`)
          return what === "price" ? 42 : 7
        },
      }),
      tool({
        name: "write_down",
        description: "Writes something down",
        input: z.object({ text: z.string() }),
        run: ({ text }) => {
          leave(`write_down ${text}`)
          return "written"
        },
      }),
    ],
  })
}
