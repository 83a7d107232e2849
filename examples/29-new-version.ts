/** New version: which active runs a changed workflow would break, and how they continue with it. */
import { type Migrate, memoryStore, node, Runtime, workflow } from "superstep"

const quote = (id: string) =>
  node(id, async (item: string, ctx) => `${item} for ${await ctx.ask<number>(`What is ${item}?`)}`)

export const before = workflow("quotes").start(quote("quote")).build()

const round = node("round", (text: string) => `${text}, rounded`)
export const longer = workflow("quotes").chain(quote("quote"), round).build()
export const renamed = workflow("quotes").start(quote("price")).build()

/** The state of a run is plain data: this migration renames a node. */
export const rename: Migrate = (state) => ({
  ...state,
  tasks: state.tasks.map((task) => ({ ...task, node: "price" })),
  nodes: state.nodes.map((one) => ({ ...one, id: "price" })),
  requests: state.requests.map((request) => ({ ...request, node: "price" })),
})

if (import.meta.filename === process.argv[1]) {
  const store = memoryStore()
  const old = new Runtime({ store, workflows: [before] })
  for (const runId of ["a", "b"]) await old.start(before, "a clock", { runId })
  await old.close() // The old version is stopped; its runs wait in the store.

  const refused = await longer.resume("a", { store }).result.catch((error: Error) => error.message)
  console.log(refused)

  const a = longer.resume("a", { store, onGraphChange: "continue" })
  await a
  await a.respond("r1", 40)
  console.log(...(await a).outputs)

  const b = renamed.resume("b", { store, onGraphChange: rename })
  await b
  await b.respond("r1", 50)
  console.log(...(await b).outputs)
}
