/** Conditional edges: each edge takes the messages that match its condition, so a message may take several, or none. */
import { node, workflow } from "superstep"

interface Ticket {
  readonly id: number
  readonly severity: number
  readonly plan: "free" | "paid"
}

const triage = node("triage", (ticket: Ticket) => ticket)
const page = node("page", (ticket: Ticket) => `#${ticket.id}: on-call engineer paged`)
const reply = node("reply", (ticket: Ticket) => `#${ticket.id}: reply promised within an hour`)

export const tickets = workflow("tickets")
  .start(triage)
  .edge(triage, page, { when: (ticket) => ticket.severity === 1, label: "outage" })
  .edge(triage, reply, { when: (ticket) => ticket.plan === "paid", label: "paid plan" })
  .build()

if (import.meta.filename === process.argv[1]) {
  const outage = await tickets.run({ id: 1, severity: 1, plan: "paid" })
  console.log(outage.outputs.join("\n"))
  // No edge matches this one. The result reports the undelivered message, and why.
  const question = await tickets.run({ id: 2, severity: 3, plan: "free" })
  console.log(question.outputs.length, "outputs;", question.undelivered[0]?.reason)
}
