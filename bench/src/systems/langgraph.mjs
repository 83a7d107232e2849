// LangGraph.js as a graph: StateGraph, the Send API for fan-out, no checkpointer except where a run has to wait.
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph"
import { checksum, expectEvents, itemList, personsAnswer } from "../answers.mjs"
import { makeGate } from "../gate.mjs"

const Counter = Annotation.Root({ value: Annotation() })
const increment = async (state) => ({ value: state.value + 1 })

function chainGraph(steps) {
  const graph = new StateGraph(Counter)
  for (let index = 0; index < steps; index++) graph.addNode(`n${index}`, increment)
  graph.addEdge(START, "n0")
  for (let index = 1; index < steps; index++) graph.addEdge(`n${index - 1}`, `n${index}`)
  graph.addEdge(`n${steps - 1}`, END)
  return graph.compile()
}

export function chain(steps) {
  const graph = chainGraph(steps)
  return async () => (await graph.invoke({ value: 0 }, { recursionLimit: steps + 1 })).value
}

export function loop(passes) {
  const graph = new StateGraph(Counter)
    .addNode("a", increment)
    .addNode("b", increment)
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addConditionalEdges("b", (state) => (state.value < 2 * passes ? "a" : END), ["a", END])
    .compile()
  return async () => (await graph.invoke({ value: 0 }, { recursionLimit: 2 * passes + 1 })).value
}

function fanOutGraph(work) {
  const State = Annotation.Root({
    count: Annotation(),
    // Appending in place is the reducer's fastest way; the list is this run's own.
    list: Annotation({
      reducer: (list, value) => {
        list.push(value)
        return list
      },
      default: () => [],
    }),
    answer: Annotation(),
  })
  return new StateGraph(State)
    .addNode("source", async () => ({}))
    .addNode("worker", async ({ item }) => ({ list: await work(item) }))
    .addNode("gather", async (state) => ({ answer: checksum(state.list) }))
    .addEdge(START, "source")
    .addConditionalEdges(
      "source",
      (state) => itemList(state.count).map((item) => new Send("worker", { item })),
      ["worker"],
    )
    .addEdge("worker", "gather")
    .addEdge("gather", END)
    .compile()
}

export function fanOut(items) {
  const graph = fanOutGraph(async (item) => item + 1)
  return async () => (await graph.invoke({ count: items })).answer
}

export function stream(steps) {
  const graph = chainGraph(steps)
  return async () => {
    let events = 0
    let last
    const updates = await graph.stream({ value: 0 }, { recursionLimit: steps + 1, streamMode: "updates" })
    for await (const update of updates) {
      events += 1
      last = update
    }
    expectEvents(events, steps)
    return last[`n${steps - 1}`].value
  }
}

export async function pending(items) {
  const gate = makeGate(items)
  const graph = fanOutGraph(async (item) => {
    await gate.wait()
    return item + 1
  })
  const result = graph.invoke({ count: items })
  await gate.full
  return {
    async finish() {
      gate.open()
      return (await result).answer
    },
  }
}

export async function idle(runs) {
  const graph = new StateGraph(Counter)
    .addNode("ask", async (state) => ({ value: state.value + interrupt("?") }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile({ checkpointer: new MemorySaver() })
  const configs = itemList(runs).map((index) => ({ configurable: { thread_id: `t${index}` } }))
  for (const config of configs) await graph.invoke({ value: 1 }, config)
  return {
    async finish() {
      let sum = 0
      for (const config of configs)
        sum += (await graph.invoke(new Command({ resume: personsAnswer }), config)).value
      return sum
    },
  }
}
