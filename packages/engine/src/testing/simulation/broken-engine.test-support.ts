/** An engine with a fault: it changes the target of a message after it has journaled it. No workflow can do that. */
import type { Callable, Router } from "../../runtime/index.ts"

export function withChangingRoutes<In, Out>(workflow: Callable<In, Out>): Callable<In, Out> {
  const route = () => {
    const decided = { reason: "first" }
    void Promise.resolve().then(() => Reflect.set(decided, "reason", "second"))
    return decided
  }
  const nodes = workflow.program.nodes.map((one) => ({ ...one, router: { route } as unknown as Router }))
  return { ...workflow, program: { ...workflow.program, nodes } }
}
