// Mastra workflows: input validation, snapshots and logging off; storage only where a run has to wait.
import { Mastra } from "@mastra/core"
import { InMemoryStore } from "@mastra/core/storage"
import { createStep, createWorkflow } from "@mastra/core/workflows"
import { z } from "zod"
import { checksum, expectEvents, itemList, personsAnswer } from "../answers.mjs"
import { makeGate } from "../gate.mjs"

const number = z.number()
const numbers = z.array(number)

function step(id, execute, inputSchema = number, outputSchema = number) {
  return createStep({ id, inputSchema, outputSchema, execute })
}

function increment(id) {
  return step(id, async ({ inputData }) => inputData + 1)
}

function emptyWorkflow(id, options) {
  return createWorkflow({
    id,
    inputSchema: number,
    outputSchema: number,
    options: { validateInputs: false, shouldPersistSnapshot: () => false, ...options },
  })
}

function chainWorkflow(steps, options) {
  let workflow = emptyWorkflow("chain", options)
  for (let index = 0; index < steps; index++) workflow = workflow.then(increment(`n${index}`))
  return workflow.commit()
}

function pass(workflow, inputData) {
  return async () => {
    const run = await workflow.createRun()
    return (await run.start({ inputData })).result
  }
}

export function chain(steps) {
  return pass(chainWorkflow(steps, { emitStepEvents: false }), 0)
}

/** Two steps in a loop are a nested workflow in Mastra. */
export function loop(passes) {
  const options = { emitStepEvents: false }
  const body = emptyWorkflow("body", options).then(increment("a")).then(increment("b")).commit()
  const workflow = emptyWorkflow("loop", options)
    .dountil(body, async ({ inputData }) => inputData >= 2 * passes)
    .commit()
  return pass(workflow, 0)
}

function fanOutWorkflow(work, items) {
  return emptyWorkflow("fan-out", { emitStepEvents: false })
    .then(step("source", async ({ inputData }) => itemList(inputData), number, numbers))
    .foreach(
      step("worker", ({ inputData }) => work(inputData)),
      { concurrency: items },
    )
    .then(step("gather", async ({ inputData }) => checksum(inputData), numbers, number))
    .commit()
}

export function fanOut(items) {
  return pass(
    fanOutWorkflow(async (item) => item + 1, items),
    items,
  )
}

export function stream(steps) {
  const workflow = chainWorkflow(steps)
  return async () => {
    const run = await workflow.createRun()
    const output = run.stream({ inputData: 0 })
    let events = 0
    for await (const _event of output.fullStream) events += 1
    expectEvents(events, steps)
    return (await output.result).result
  }
}

export async function pending(items) {
  const gate = makeGate(items)
  const workflow = fanOutWorkflow(async (item) => {
    await gate.wait()
    return item + 1
  }, items)
  const result = pass(workflow, items)()
  await gate.full
  return {
    finish() {
      gate.open()
      return result
    },
  }
}

export async function idle(runs) {
  const ask = createStep({
    id: "ask",
    inputSchema: number,
    outputSchema: number,
    resumeSchema: number,
    execute: ({ inputData, resumeData, suspend }) =>
      resumeData === undefined ? suspend() : Promise.resolve(inputData + resumeData),
  })
  const idling = createWorkflow({ id: "idle", inputSchema: number, outputSchema: number }).then(ask).commit()
  const mastra = new Mastra({ workflows: { idling }, storage: new InMemoryStore(), logger: false })
  const workflow = mastra.getWorkflow("idling")
  const waiting = []
  for (let index = 0; index < runs; index++) {
    const run = await workflow.createRun()
    await run.start({ inputData: 1 })
    waiting.push(run)
  }
  return {
    async finish() {
      let sum = 0
      for (const run of waiting) sum += (await run.resume({ step: "ask", resumeData: personsAnswer })).result
      return sum
    },
  }
}
