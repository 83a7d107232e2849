/** A module with a definition whose agent names no model. */
import { loadDefinition } from "@superstep/engine/definitions"

const text = "agents: { clerk: { instruction: Answer. } }\nworkflow: [{ type: agent, name: clerk }]\n"
const { definition } = loadDefinition({ file: "clerk.yaml", text })
if (definition === undefined) throw new Error("The definition is not valid.")

export default definition.workflow
