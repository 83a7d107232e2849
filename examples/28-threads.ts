/** Threads: state that is kept across runs, such as the messages of a conversation. */
import { append, channel, memoryStore, node, workflow } from "superstep"

interface Message {
  readonly from: "guest" | "waiter"
  readonly text: string
}

export const messages = channel("messages", append<Message>(), { persist: true })

const serve = node("serve", (text: string, ctx) => {
  const wanted = ctx.state
    .get(messages)
    .filter(({ from }) => from === "guest")
    .map((message) => message.text)
  const reply =
    wanted.length === 0 ? `${text}, gladly` : `${text}, and the ${wanted.join(" and the ")} comes too`
  ctx.state.write(messages, [
    { from: "guest", text },
    { from: "waiter", text: reply },
  ])
  return reply
})

export const table = workflow("table", { state: [messages] })
  .start(serve)
  .build()

if (import.meta.filename === process.argv[1]) {
  const store = memoryStore()
  for (const text of ["soup", "bread", "wine"]) {
    // A thread has one run at a time. The error for a second run names the first one.
    const { outputs } = await table.run(text, { store, thread: "table 7" })
    console.log(...outputs)
  }
}
