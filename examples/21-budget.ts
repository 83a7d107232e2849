/** Budget: a run has a token limit. At the limit it routes to one last node instead of failing. */
import { append, channel, type LimitNotice, node, workflow } from "superstep"

const findings = channel("findings", append<string>())

/** Simulates a model call that costs 500 tokens each time. */
const search = node("search", (question: string, ctx) => {
  const page = (ctx.local.get<number>("page") ?? 0) + 1
  ctx.local.set("page", page)
  ctx.use({ inputTokens: 400, outputTokens: 100, modelCalls: 1 })
  ctx.state.write(findings, [`source ${page} on ${question}`])
  return question
})

// The budget is checked before every task, so the findings up to here are complete.
const conclude = node("conclude", (limit: LimitNotice, ctx) => ({
  because: limit.message,
  basedOn: ctx.state.get(findings),
}))

export const research = workflow("research", { state: [findings] })
  .start(search)
  .edge(search, search, { max: 50 })
  .onLimit(conclude)
  .output(conclude)
  .build()

if (import.meta.filename === process.argv[1]) {
  const { status, outputs, usage } = await research.run("heat pumps", { budget: { tokens: 1_200 } })
  console.log(status, usage)
  console.log(outputs[0]?.because)
  console.log(outputs[0]?.basedOn.join("; "))
}
