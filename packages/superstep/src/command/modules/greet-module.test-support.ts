/** For tests of the CLI: two steps, no questions. */
import { node, workflow } from "@superstep/engine"

export default workflow("greet").chain(
  node("hello", (name: string) => `Hello ${name}`),
  node("bang", (text: string) => `${text}!`),
)
