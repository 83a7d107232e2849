// What the two ways of keeping state in LangGraph.js have in common: graph, saver, runs.
import { END, interrupt, START, StateGraph } from "@langchain/langgraph"
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { expectAnswer, itemList } from "../../answers.mjs"
import { message, stepsOfConcurrentRun } from "../message.mjs"

const adding = async ({ count }) => ({ count: count + 1, messages: [message(count)] })
const replacing = async ({ count }) => ({ count: count + 1, last: message(count) })

function openSaver(path) {
  const saver = SqliteSaver.fromConnString(path)
  // Makes the tables, which else the first step would.
  saver.setup()
  return saver
}

function runConfig(thread, steps) {
  return { recursionLimit: steps + 2, durability: "sync", configurable: { thread_id: thread } }
}

/** @param State the schema: `count`, `last`, and `messages`, to which a step adds a list */
export function langgraphSystem(State) {
  function stepsGraph(checkpointer, steps) {
    return new StateGraph(State)
      .addNode("step", adding)
      .addEdge(START, "step")
      .addConditionalEdges("step", ({ count }) => (count < steps ? "step" : END), ["step", END])
      .compile({ checkpointer })
  }

  function waitingGraph(checkpointer, { steps, growing }) {
    return new StateGraph(State)
      .addNode("step", growing ? adding : replacing)
      .addNode("ask", async () => ({ last: interrupt("Continue?") }))
      .addEdge(START, "step")
      .addConditionalEdges("step", ({ count }) => (count < steps ? "step" : "ask"), ["step", "ask"])
      .addEdge("ask", END)
      .compile({ checkpointer })
  }

  return {
    open(path) {
      const saver = openSaver(path)
      return {
        steps(count) {
          const graph = stepsGraph(saver, count)
          return async () => (await graph.invoke({ count: 0 }, runConfig("one", count))).messages.length
        },
        concurrent(runs) {
          const graph = stepsGraph(saver, stepsOfConcurrentRun)
          return async () => {
            const invoke = (index) =>
              graph.invoke({ count: 0 }, runConfig(`run ${index}`, stepsOfConcurrentRun))
            const results = await Promise.all(itemList(runs).map(invoke))
            return results.reduce((sum, { messages }) => sum + messages.length, 0)
          }
        },
        close: () => saver.db.close(),
      }
    },

    async wait(path, options) {
      const saver = openSaver(path)
      const result = await waitingGraph(saver, options).invoke(
        { count: 0 },
        runConfig("waits", options.steps),
      )
      expectAnswer("langgraph: interrupts", result.__interrupt__.length, 1)
      saver.db.close()
    },

    /** The state, and the node that an answer goes to. */
    async resume(path, options) {
      const saver = openSaver(path)
      const { values, next } = await waitingGraph(saver, options).getState(runConfig("waits", options.steps))
      expectAnswer("langgraph: next", next[0], "ask")
      const lastMessage = options.growing ? values.messages.at(-1) : values.last
      return { lastMessage, close: () => saver.db.close() }
    },
  }
}
