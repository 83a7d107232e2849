/** Several handlers in one node: the first handler whose schema accepts a message processes it. */
import { node, on, workflow } from "superstep"
import { z } from "zod"

const Received = z.object({ received: z.number().int().positive() })
const Sold = z.object({ sold: z.number().int().positive() })
const Counted = z.object({ counted: z.number().int().nonnegative() })

const movements = node("movements", (list: readonly unknown[], ctx) => {
  for (const movement of list) ctx.send(movement)
})

const shelf = node({
  id: "shelf",
  handlers: [
    on(Received, ({ received }, ctx) =>
      ctx.local.set("stock", (ctx.local.get<number>("stock") ?? 0) + received),
    ),
    on(Sold, ({ sold }, ctx) => ctx.local.set("stock", (ctx.local.get<number>("stock") ?? 0) - sold)),
    // A stock-taking has the expected and the counted number.
    on(Counted, ({ counted }, ctx) => {
      const expected = ctx.local.get<number>("stock") ?? 0
      return { counted, missing: expected - counted }
    }),
  ],
})

export const stock = workflow("stock").chain(movements, shelf).build()

export const day = [{ received: 20 }, { sold: 3 }, { sold: -1 }, { sold: 5 }, { counted: 11 }]

if (import.meta.filename === process.argv[1]) {
  const { outputs, undelivered } = await stock.run(day)
  console.log(...outputs)
  // A message that no handler accepts is reported, with the reason.
  console.log("refused:", undelivered[0]?.value)
}
