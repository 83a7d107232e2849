/** For tests of the command: an agent of a module, whose model is given by name; another one each time. */
import { agent } from "@superstep/engine/agents"

export default { build: () => agent({ name: "clerk", model: "openai/gpt-5", instructions: "Help." }) }
