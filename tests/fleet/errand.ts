/** Steps that leave a trail, a nap, a question, and a sub-workflow, so that a worker dies in any of them. */
import { append, type Context, channel, node, workflow } from "superstep"

const log = channel("log", append<string>())

interface Way {
  readonly n: number
  readonly seen: readonly string[]
}

export function errand(leave: (line: string) => void) {
  const visit = (place: string) =>
    node(place, async ({ n, seen: before }: Way, ctx: Context): Promise<Way> => {
      const seen = await ctx.step("visit", () => {
        leave(`${ctx.runId} ${place} ${process.pid}`)
        return `${place} ${n}`
      })
      await ctx.sleep(100 + (n % 5) * 50)
      return { n, seen: [...before, seen] }
    })
  const inner = workflow("errand at the bank").start(visit("bank")).build()
  const start = node("start", (n: number): Way => ({ n, seen: [] }))
  const note = node("note", (ways: readonly Way[], ctx) => {
    const seen = [...new Set(ways.flatMap((way) => way.seen))]
    ctx.state.write(log, seen)
    return seen.join(", ")
  })
  const confirm = node("confirm", async (text: string, ctx) => {
    const by = await ctx.ask<string>({ prompt: text, timeout: 200, default: "nobody" })
    return `${text}: confirmed by ${by}`
  })
  const [shop, post] = [visit("shop"), visit("post")]
  const bank = inner.asNode({ id: "bank" })
  return workflow("errand", { state: [log] })
    .chain(start, shop)
    .fanOut(shop, [post, bank])
    .fanIn([post, bank], note)
    .edge(note, confirm)
    .build()
}
