// Mastra with its LibSQL store, which comes up as WAL and NORMAL. The steps are a `dountil` over one step, which is
// its faster way: a chain of 1,000 steps has 1,000 results in every snapshot.
import { Mastra } from "@mastra/core"
import { createStep, createWorkflow } from "@mastra/core/workflows"
import { LibSQLStore } from "@mastra/libsql"
import { z } from "zod"
import { expectAnswer, itemList } from "../../answers.mjs"
import { message, stepsOfConcurrentRun } from "../message.mjs"

const schemas = {
  inputSchema: z.number(),
  outputSchema: z.number(),
  stateSchema: z.object({ messages: z.array(z.any()) }),
}

const adding = createStep({
  id: "adding",
  ...schemas,
  execute: async ({ inputData, state, setState }) => {
    await setState({ messages: [...state.messages, message(inputData)] })
    return inputData + 1
  },
})

function stepsWorkflow(storage, steps) {
  const options = { validateInputs: false, emitStepEvents: false }
  const built = createWorkflow({ id: "steps", ...schemas, options })
    .dountil(adding, async ({ inputData }) => inputData >= steps)
    .commit()
  return new Mastra({ workflows: { built }, storage, logger: false }).getWorkflow("built")
}

async function messagesOf(workflow) {
  const run = await workflow.createRun()
  const { status, state } = await run.start({
    inputData: 0,
    initialState: { messages: [] },
    outputOptions: { includeState: true },
  })
  expectAnswer("mastra: status", status, "success")
  return state.messages.length
}

export async function open(path) {
  const storage = new LibSQLStore({ id: "bench", url: `file:${path}` })
  await storage.init()
  return {
    steps(count) {
      const workflow = stepsWorkflow(storage, count)
      return () => messagesOf(workflow)
    },
    concurrent(runs) {
      const workflow = stepsWorkflow(storage, stepsOfConcurrentRun)
      return async () => {
        const counts = await Promise.all(itemList(runs).map(() => messagesOf(workflow)))
        return counts.reduce((sum, count) => sum + count, 0)
      }
    },
    close: () => storage.close(),
  }
}
