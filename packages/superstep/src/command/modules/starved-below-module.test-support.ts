/** For tests of the CLI: calls the workflow of `starved-module` as a node. */
import { workflow } from "@superstep/engine"
import starved from "./starved-module.test-support.ts"

export default workflow("starved-below").start(starved.asNode()).build()
