/** An agent as a node: its answer matches a schema; an invalid answer is sent back to the model. */
import { node, workflow } from "superstep"
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { z } from "zod"

const model = scriptedModel(["I think it is about a refund.", { json: { topic: "refund", urgent: true } }])

const sort = agent({
  name: "sort",
  model,
  instructions: "Say what a letter is about.",
  output: z.object({ topic: z.enum(["refund", "order", "other"]), urgent: z.boolean() }),
})

const file = node("file", ({ topic, urgent }: { topic: string; urgent: boolean }) =>
  urgent ? `${topic}: today` : `${topic}: this week`,
)

export const desk = workflow("desk").chain(sort, file).build()

if (import.meta.filename === process.argv[1]) {
  console.log(...(await desk.run("I want my money back, now!")).outputs)
}
