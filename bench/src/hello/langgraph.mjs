import { Annotation, END, START, StateGraph } from "@langchain/langgraph"

const graph = new StateGraph(Annotation.Root({ text: Annotation() }))
  .addNode("upper", (state) => ({ text: state.text.toUpperCase() }))
  .addNode("shout", (state) => ({ text: `${state.text}!` }))
  .addEdge(START, "upper")
  .addEdge("upper", "shout")
  .addEdge("shout", END)
  .compile()

const { text } = await graph.invoke({ text: "hello world" })
if (text !== "HELLO WORLD!") process.exitCode = 1
