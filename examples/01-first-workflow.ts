/** A first workflow: two nodes, one after the other. */
import { node, workflow } from "superstep"

const upper = node("upper", (text: string) => text.toUpperCase())
const reverse = node("reverse", (text: string) => [...text].reverse().join(""))

// What a node returns goes along its edges; what the last one returns is the run's output.
export const shout = workflow("shout").chain(upper, reverse).build()

if (import.meta.filename === process.argv[1]) {
  const { status, outputs } = await shout.run("hello world")
  console.log(status, outputs)
}
