/** A magentic team with a stall and a new plan; each model call leaves a line in a file. */
import { appendFileSync } from "node:fs"
import { agent } from "superstep/agents"
import { type Model, scriptedModel } from "superstep/models"
import { magentic } from "superstep/patterns"

function ledger(next: string, isProgress: boolean, isDone = false) {
  const found = <T>(answer: T) => ({ reason: "as seen", answer })
  return {
    json: {
      is_request_satisfied: found(isDone),
      is_in_loop: found(false),
      is_progress_being_made: found(isProgress),
      next_speaker: found(next),
      instruction_or_question: found(`${next}, continue.`),
    },
  }
}

export function desk(trail: string) {
  const scripted = scriptedModel({
    manager: [
      "Facts: few.",
      "Plan: look.",
      ledger("finder", true),
      ledger("finder", false),
      "Facts: more.",
      "Plan: look, then count.",
      ledger("counter", true),
      ledger("counter", true, true),
      "There are 7.",
    ],
    finder: ["Found some."],
    counter: ["7"],
  })
  const seen = (options: Parameters<Model["doGenerate"]>[0]) =>
    appendFileSync(trail, `${String(options.providerOptions?.superstep?.agent)}\n`)
  const model: Model = {
    ...scripted,
    doGenerate: async (options) => {
      seen(options)
      return await scripted.doGenerate(options)
    },
    doStream: async (options) => {
      seen(options)
      return await scripted.doStream(options)
    },
  }
  const member = (name: string) => agent({ name, model })
  return magentic({ manager: member("manager"), agents: [member("finder"), member("counter")], maxStalls: 0 })
}
