/** For tests of the CLI: asks a person for a colour, then for a number. */
import { node, workflow } from "@superstep/engine"
import { jsonSchema } from "@superstep/engine/tools"

const color = jsonSchema<string>({ enum: ["red", "green"] })
const count = jsonSchema<number>({ type: "number", maximum: 9 })

export default workflow("ask")
  .start(
    node("ask", async (text: string, ctx) => {
      const chosen = await ctx.ask({ prompt: "Which colour?", schema: color })
      const many = await ctx.ask({ prompt: "How many?", schema: count })
      return `${text}: ${many} ${chosen}`
    }),
  )
  .build()
