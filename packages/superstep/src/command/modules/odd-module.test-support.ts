/** For tests of the CLI: takes an object, and does what it requests. */
import { node, SuperstepError, workflow } from "@superstep/engine"
import { jsonSchema } from "@superstep/engine/tools"

interface Wish {
  readonly fail?: string
  readonly loop?: boolean
  readonly give?: string
}

const act = node({
  id: "act",
  input: jsonSchema<Wish>({
    type: "object",
    properties: { fail: { type: "string" }, loop: { type: "boolean" }, give: { type: "string" } },
  }),
  run: (wish: Wish) => {
    if (wish.fail !== undefined) throw new SuperstepError("ODD", wish.fail, { retryable: false })
    return wish
  },
})

export default workflow("odd")
  .start(act)
  .loop(act, act, { while: ({ loop }) => loop === true })
  .build()
