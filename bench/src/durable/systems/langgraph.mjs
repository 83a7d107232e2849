// LangGraph.js with its SqliteSaver on better-sqlite3, which comes up as WAL and NORMAL. Its durability is "sync":
// a step is saved before the next begins, as it is in ours. The list of messages is a channel with a reducer.
import { Annotation } from "@langchain/langgraph"
import { langgraphSystem } from "./langgraph-system.mjs"

const State = Annotation.Root({
  count: Annotation(),
  last: Annotation(),
  messages: Annotation({ reducer: (list, added) => [...list, ...added], default: () => [] }),
})

export const { open, wait, resume } = langgraphSystem(State)
