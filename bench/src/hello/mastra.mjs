import { createStep, createWorkflow } from "@mastra/core/workflows"
import { z } from "zod"

const schemas = { inputSchema: z.string(), outputSchema: z.string() }
const upper = createStep({
  id: "upper",
  ...schemas,
  execute: async ({ inputData }) => inputData.toUpperCase(),
})
const shout = createStep({ id: "shout", ...schemas, execute: async ({ inputData }) => `${inputData}!` })

const workflow = createWorkflow({ id: "hello", ...schemas })
  .then(upper)
  .then(shout)
  .commit()
const run = await workflow.createRun()
const { result } = await run.start({ inputData: "hello world" })
if (result !== "HELLO WORLD!") process.exitCode = 1
