/** Team with hand-offs: agents pass the conversation on by themselves, and ask the user for what they cannot know. */
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { handoff } from "superstep/patterns"

const to = (name: string) => ({ tool_calls: [{ name: `handoff_to_${name}`, args: {} }] })

const model = scriptedModel({
  reception: [to("billing")],
  // An answer without a hand-off is a question to the user.
  billing: ["Which invoice is it about?", to("refunds")],
  refunds: ["Invoice 17 is refunded."],
})

const reception = agent({ name: "reception", model, instructions: "Send people to the right place." })
const billing = agent({ name: "billing", description: "Knows invoices.", model })
const refunds = agent({ name: "refunds", description: "Pays back.", model })

export const desk = handoff({
  agents: [reception, billing, refunds],
  // Default: every agent can hand over to every other.
  routes: { reception: ["billing"], billing: ["refunds", "reception"] },
  terminate: (said) => said.at(-1)?.text.includes("refunded") === true,
  to: "customer",
})

if (import.meta.filename === process.argv[1]) {
  const run = desk.stream("I want my money back.")
  for await (const event of run) {
    if (event.type === "custom" && event.name === "team.handoff") {
      const { speaker, to: next } = event.data as { speaker: string; to: string }
      console.log(`${speaker} hands over to ${next}`)
    }
    if (event.type === "request.opened") {
      console.log(event.request.prompt)
      await run.respond(event.request.id, "Invoice 17.")
    }
  }
  console.log(...(await run).outputs)
}
