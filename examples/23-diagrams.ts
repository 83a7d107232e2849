/** Diagrams: any workflow as a Mermaid flowchart or a Graphviz graph. */
import { node, toDot, toMermaid, workflow } from "superstep"

interface Claim {
  readonly amount: number
}

const check = node("check", (claim: Claim) => claim)
const estimate = node("estimate", (claim: Claim) => claim)
const assessment = workflow("assessment").chain(check, estimate).build()

const receive = node("receive", (claim: Claim) => claim)
const assess = assessment.asNode()
const pay = node("pay", (claim: Claim) => `${claim.amount} paid`)
const escalate = node("escalate", () => "to be looked at by a person")

export const claims = workflow("claims")
  .chain(receive, assess)
  .switch(assess, [{ when: (claim) => claim.amount > 10_000, to: escalate, label: "large" }], pay)
  .onError(assess, escalate)
  .build()

if (import.meta.filename === process.argv[1]) {
  // Most Markdown sites render a code block marked `mermaid`; `dot -Tsvg` renders the other.
  console.log(toMermaid(claims))
  console.log(toDot(claims))
}
