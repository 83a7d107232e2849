/** Inbox: the open questions of all runs in one list, answered from any process, with the author of each answer. */
import { memoryStore, node, Runtime, type Store, workflow } from "superstep"
import { z } from "zod"

const HOUR = 3_600_000

const review = node("review", async (text: string, ctx) => {
  const { ok, why } = await ctx.ask({
    prompt: `Publish "${text}"?`,
    to: "editor",
    schema: z.object({ ok: z.boolean(), why: z.string().optional() }),
    // Without an answer the chief is asked; without an answer from the chief it is not published.
    timeout: HOUR,
    escalate: [{ to: "chief", timeout: HOUR }],
    default: { ok: false, why: "nobody answered" },
  })
  return ok ? `published: ${text}` : `dropped: ${text} (${why})`
})

export const articles = workflow("articles").start(review).build()

export const newsroom = (store: Store) => new Runtime({ store, workflows: [articles] })

if (import.meta.filename === process.argv[1]) {
  const runtime = newsroom(memoryStore())
  for (const text of ["storks are back", "rain tomorrow"]) await runtime.start(articles, text)

  for (const { runId, id, prompt } of await runtime.requests({ to: "editor" })) {
    console.log(prompt)
    await runtime.respond(runId, id, { ok: prompt.includes("storks"), why: "old news" }, { by: "Ada" })
    console.log(...(await runtime.get(runId)).outputs)
  }
  for (const { prompt, by } of await runtime.requests({ outcome: ["answered"] })) {
    console.log(`${prompt} answered by ${by}`)
  }
  await runtime.close()
}
