// LangGraph.js as in langgraph.mjs, with the list of messages in its delta channel (beta): a checkpoint has no copy of
// the list, but for one every 1,000 steps; a resumed run reads the writes since.
import { DeltaValue, StateSchema } from "@langchain/langgraph"
import { z } from "zod"
import { langgraphSystem } from "./langgraph-system.mjs"

const State = new StateSchema({
  count: z.number(),
  last: z.any(),
  messages: new DeltaValue(
    z.array(z.any()).default(() => []),
    {
      inputSchema: z.any(),
      reducer: (list, writes) => [...list, ...writes.flat()],
    },
  ),
})

export const { open, wait, resume } = langgraphSystem(State)
