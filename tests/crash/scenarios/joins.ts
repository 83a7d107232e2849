/** Fan-out, and a fan-in of each policy over the same sources; one source fails for good. */
import { any, node, quorum, settle, workflow } from "superstep"
import type { Scenario, Watch } from "./scenario.ts"

export function joins(watch: Watch): Scenario {
  const start = node("start", (text: string, ctx) => {
    watch(ctx)
    return text
  })
  const branch = (id: string) =>
    node(id, async (text: string, ctx) => {
      watch(ctx)
      return `${id}(${text})`
    })
  const [a, b, c] = [branch("a"), branch("b"), branch("c")]
  const broken = node("broken", (_: string, ctx): string => {
    watch(ctx)
    throw new Error("for good")
  })
  const join = (id: string) =>
    node(id, (parts: readonly unknown[], ctx) => {
      watch(ctx)
      return `${id}: ${JSON.stringify(parts)}`
    })
  const settled = node("settled", (parts: readonly { ok: boolean }[], ctx) => {
    watch(ctx)
    return `settled: ${parts.map(({ ok }) => ok)}`
  })
  const flow = workflow("joins")
    .start(start)
    .fanOut(start, [a, b, c, broken])
    .fanIn([a, b, c], join("all"))
    .fanIn([a, b, c], join("any"), { join: any() })
    .fanIn([a, b, c], join("quorum"), { join: quorum(2) })
    .fanIn([c, broken], settled, { join: settle() })
    .build()
  return { workflow: flow, input: "x" }
}
