// A new process that loads a definition, or runs it, once; sends the milliseconds that it took.
import { node, workflow } from "superstep"
import { loadDefinition } from "superstep/definitions"
import { stubModel } from "../agents/stub-model.mjs"
import { expectAnswer, itemList } from "../answers.mjs"
import { answerParent } from "../child.mjs"
import { agentSteps, toolSteps } from "./texts.mjs"

const [what, system, steps] = [process.argv[2], process.argv[3], Number(process.argv[4])]
const rehearsal = 20

function load(text) {
  const model = stubModel(0)
  const { definition, diagnostics } = loadDefinition({ file: "steps.yaml", text }, { model: () => model })
  if (definition === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
  return definition
}

/** A steps file may have any number of supersteps; the default limit is for agents. */
const longEnough = { limits: { supersteps: 3 * steps + 100 } }

async function runDefinition(text, expected) {
  const { workflow: built } = load(text)
  return async () => {
    const { outputs } = await built.run("go", longEnough)
    expectAnswer(what, outputs[0], expected)
  }
}

/** What the workflow of tool steps is in TypeScript: a chain of functions. */
function inCode(count) {
  const thought = async () => "The thought is noted."
  const built = workflow("code")
    .chain(...itemList(count).map((index) => node(`s${index}`, thought)))
    .build()
  return async () => expectAnswer(what, (await built.run("go", longEnough)).outputs[0], await thought())
}

/** The same prompts for the same model, without an engine. */
function plainAgents(count) {
  const model = stubModel(0)
  return async () => {
    const prior = []
    for (const index of itemList(count)) {
      const text = `--- Prior Step Outputs ---\n\n${prior.join("")}--- End Prior Step Outputs ---\n\ngo`
      const { content } = await model.doGenerate({
        prompt: [{ role: "user", content: [{ type: "text", text }] }],
      })
      prior.push(`[s${index} (agent: helper)]:\n${content[0].text}\n\n`)
    }
    expectAnswer(what, prior.length, count)
  }
}

async function parseAlone() {
  const { parse } = await import("yaml")
  const text = toolSteps(steps)
  return async () => expectAnswer(what, parse(text).workflow.length, steps)
}

const passes = {
  load: { yaml: parseAlone, superstep: async () => async () => void load(toolSteps(steps)) },
  "tool steps": {
    code: inCode,
    superstep: (count) => runDefinition(toolSteps(count), "The thought is noted."),
  },
  "agent steps": { plain: plainAgents, superstep: (count) => runDefinition(agentSteps(count), "done") },
}

// A file is loaded once in its process; a run is measured when its code is warm.
if (what !== "load") await (await passes[what][system](rehearsal))()
const pass = await passes[what][system](steps)
const start = performance.now()
await pass()
answerParent(performance.now() - start)
