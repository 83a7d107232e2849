/** A workflow with steps, a fan-out, a nap and a question. Steps leave a trail. */
import { type Context, type JournalRecord, node, workflow } from "superstep"

type Leave = (line: string) => void
type Records = (runId: string) => Promise<readonly JournalRecord[]> | readonly JournalRecord[]

export function trip(leave: Leave, read: Records) {
  const visit = (place: string) =>
    node(place, async (n: number, ctx: Context): Promise<number> => {
      for (const step of ["go", "look"]) {
        await ctx.step(step, async () => {
          const isDone = (await read(ctx.runId)).some(
            ({ entry }) =>
              entry.type === "step.recorded" && entry.task === ctx.task && entry.key === `step:${step}`,
          )
          leave(`${isDone ? "again" : "visit"} ${ctx.runId} ${ctx.task} ${step} ${process.pid}`)
          await new Promise((resolve) => setTimeout(resolve, 80))
          return step
        })
      }
      return n
    })
  const start = visit("start")
  const parts = [visit("left"), visit("right")] as const
  const nap = node("nap", async (n: number, ctx) => {
    await ctx.sleep(1_200)
    return n
  })
  const ask = node("ask", async (all: readonly number[], ctx) => {
    const by = await ctx.ask<string>({ prompt: "Who?" })
    return `${all.join("+")} by ${by}`
  })
  return workflow("trip")
    .start(start)
    .fanOut(start, [...parts, nap])
    .fanIn([...parts, nap], ask)
    .build()
}
