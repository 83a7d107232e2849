// The runs of a store that holds many: ours.
import { node, workflow } from "superstep"

const first = node("first", async (value) => value + 1)

/** Two steps, done at once. */
export const finishing = workflow("finishing")
  .chain(
    first,
    node("last", async (value) => value + 1),
  )
  .build()

/** Its second step does what `work` does: in one process it never ends, in the next it does. */
export function interrupted(work) {
  return workflow("interrupted").chain(first, node("work", work)).build()
}

/** One run in a hundred has this one; every run has a customer of its own. */
export const labelsOf = (index) => ({ team: `team-${index % 100}`, customer: `customer-${index}` })
export const idOf = (index) => `order-${String(index).padStart(7, "0")}`
