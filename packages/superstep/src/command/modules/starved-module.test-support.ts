/** For tests of the CLI: takes text; "nowhere" has no output, and otherwise a join starves. */
import { node, workflow } from "@superstep/engine"

const start = node("start", (text: string) => text)
const [left, right] = [node("left", (text: string) => text), node("right", (text: string) => text)]
const both = node("both", ([one, two]: readonly [string, string]) => one + two)

export default workflow("starved")
  .start(start)
  .edge(start, left, { when: (text) => text !== "nowhere" })
  .edge(start, right, { when: () => false })
  .fanIn([left, right], both)
  .build()
