// LangGraph.js's functional API: tasks called from plain code. No graph, and its fastest way to run steps.
import { entrypoint, task } from "@langchain/langgraph"
import { checksum, itemList } from "../answers.mjs"

const increment = task("increment", async (value) => value + 1)

export function chain(steps) {
  const workflow = entrypoint("chain", async (start) => {
    let value = start
    for (let step = 0; step < steps; step++) value = await increment(value)
    return value
  })
  return () => workflow.invoke(0)
}

export function loop(passes) {
  const other = task("other", async (value) => value + 1)
  const workflow = entrypoint("loop", async (start) => {
    let value = start
    while (value < 2 * passes) value = await other(await increment(value))
    return value
  })
  return () => workflow.invoke(0)
}

export function fanOut(items) {
  const workflow = entrypoint("fan-out", async (count) => {
    return checksum(await Promise.all(itemList(count).map((item) => increment(item))))
  })
  return () => workflow.invoke(items)
}
