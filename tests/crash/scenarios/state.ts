/** Every way in which writes combine, one of them by a function of the workflow's own; and the nodes' own state. */
import { add, append, channel, merge, node, reducer, replace, union, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function state(watch: Watch): Scenario {
  const last = channel("last", replace("none"))
  const list = channel("list", append<string>(["first"]))
  const set = channel("set", union<string>())
  const record = channel("record", merge<{ a?: number; b?: number }>({}))
  const sum = channel("sum", add(10))
  const most = channel(
    "most",
    reducer<number>("most", (a, b) => Math.max(a ?? 0, b)),
  )
  const writer = (id: string, n: number) =>
    node(id, async (round: number, ctx) => {
      watch(ctx)
      ctx.state.write(last, id)
      ctx.state.write(list, [`${id}${round}`])
      ctx.state.write(set, [id, "both"])
      ctx.state.write(record, id === "a" ? { a: round } : { b: round })
      ctx.state.write(sum, n)
      ctx.state.write(most, n * round)
      const calls = (ctx.local.get<number>("calls") ?? 0) + 1
      ctx.local.set("calls", calls)
      return calls
    })
  const [a, b] = [writer("a", 3), writer("b", 4)]
  const start = node("start", (round: number, ctx) => {
    watch(ctx)
    return round + 1
  })
  const join = node("join", ([calls]: readonly number[], ctx) => {
    watch(ctx)
    return calls as number
  })
  const flow = workflow("state", { state: [last, list, set, record, sum, most] })
    .start(start)
    .fanOut(start, [a, b])
    .fanIn([a, b], join)
    .loop(join, start, { while: (calls) => calls < 3 })
    .build()
  return { workflow: flow, input: 0, run: { state: { list: ["given"] } } }
}
