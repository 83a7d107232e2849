/** A first workflow: two nodes, one after the other. */
import { node, workflow } from "superstep"

const upper = node("upper", (text: string) => text.toUpperCase())
const reverse = node("reverse", (text: string) => [...text].reverse().join(""))

// The value that a node returns follows its edges; the value of the last node is the run's output.
export const shout = workflow("shout").chain(upper, reverse).build()

if (import.meta.filename === process.argv[1]) {
  const { status, outputs } = await shout.run("hello world")
  console.log(status, outputs)
}
