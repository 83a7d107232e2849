/** An engine with a fault: the reason of a route differs each time it is read, also after it was journaled. No workflow can do that. */
import type { Callable, Router } from "../../runtime/index.ts"

export function withChangingRoutes<In, Out>(workflow: Callable<In, Out>): Callable<In, Out> {
  let reads = 0
  const route = () => ({
    get reason() {
      return `read ${++reads} times`
    },
  })
  const nodes = workflow.program.nodes.map((one) => ({ ...one, router: { route } as unknown as Router }))
  return { ...workflow, program: { ...workflow.program, nodes } }
}
