/** Magentic team: a manager plans, checks the progress after every turn, starts over when it is stuck, and answers. */
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { magentic, type PlanAnswer } from "superstep/patterns"

/** The manager's progress ledger for each round. A real model would write it. */
const ledger = (next: string, instruction: string, { done = false, progress = true } = {}) => ({
  json: {
    is_request_satisfied: done,
    is_in_loop: false,
    is_progress_being_made: progress,
    next_speaker: next,
    instruction_or_question: instruction,
  },
})

const model = scriptedModel({
  manager: [
    "To look up: how many storks there are.",
    "- reader: look in the almanac",
    ledger("reader", "How many storks are in the almanac?"),
    // No progress: beyond `maxStalls` the manager starts over, with another plan.
    ledger("reader", "Look again.", { progress: false }),
    "The almanac has no number.",
    "- counter: count them",
    ledger("counter", "Count the nests, two storks each."),
    ledger("counter", "", { done: true }),
    "There are 24 storks.",
  ],
  reader: ["The almanac has no number."],
  counter: ["12 nests, so 24 storks."],
})

const manager = agent({ name: "manager", model })
const reader = agent({ name: "reader", description: "Looks things up.", model })
const counter = agent({ name: "counter", description: "Counts.", model })

export const survey = magentic({
  manager,
  agents: [reader, counter],
  maxStalls: 0,
  planReview: { to: "ranger" },
})

if (import.meta.filename === process.argv[1]) {
  const run = survey.stream("How many storks are there?")
  for await (const event of run) {
    if (event.type === "request.opened") {
      const { plan } = event.request.data as { plan: string }
      console.log(`plan: ${plan}`)
      const answer: PlanAnswer = { approve: true }
      await run.respond(event.request.id, answer)
    }
    if (event.type === "custom" && event.name === "team.message") {
      const { speaker, text } = event.data as { speaker: string; text: string }
      console.log(`${speaker}: ${text}`)
    }
  }
}
