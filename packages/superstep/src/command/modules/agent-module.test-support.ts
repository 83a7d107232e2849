/** For tests of the CLI: a module with an agent whose model is a name that differs each time. */
import { agent } from "@superstep/engine/agents"

export default { build: () => agent({ name: "clerk", model: "openai/gpt-5", instructions: "Help." }) }
