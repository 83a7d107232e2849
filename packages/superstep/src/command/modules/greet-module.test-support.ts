/** For tests of the command: two steps, no questions. */
import { node, workflow } from "@superstep/engine"

export default workflow("greet").chain(
  node("hello", (name: string) => `Hello ${name}`),
  node("bang", (text: string) => `${text}!`),
)
