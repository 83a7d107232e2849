/** What docs/telemetry.md promises for every span and every metric: its workflow and its run. */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { expect, it } from "vitest"
import { z } from "zod"
import { agent } from "../agents/index.ts"
import { pureModel } from "../agents/stand-ins.test-support.ts"
import { node, workflow } from "../index.ts"
import { tool } from "../tools/index.ts"
import { recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/telemetry.md"), "utf8")
const metrics = [...page.matchAll(/^\| `([\w.]+)` \| (?:counter|histogram)/gm)].map(([, name = ""]) => name)

const look = tool({ name: "look", description: "Looks.", input: z.object({}), run: () => "a stork" })

/** A node that fails once and costs something, and an agent that calls a tool: every kind of span and metric. */
async function recordedRun() {
  const recorded = recorder()
  const lamp = node({
    id: "lamp",
    retry: { attempts: 2, delay: 0 },
    run: (question: string, ctx) => {
      if (ctx.attempt === 1) throw new Error("dark")
      ctx.use({ usd: 0.01 })
      return question
    },
  })
  const model = pureModel((_, turn) =>
    turn === 0 ? { calls: [{ name: "look", args: {}, id: "c" }] } : "A stork.",
  )
  const watch = workflow("watch")
    .chain(lamp, agent({ name: "eye", model, tools: [look] }))
    .build()
  const traced = telemetry({ tracer: recorded.tracer, meter: recorded.meter })
  // Watched, so that the model streams.
  const run = watch.stream("What is there?", { telemetry: traced, runId: "r" })
  for await (const _ of run);
  await run
  return recorded
}

it("every span except those of messages has its workflow and its run", async () => {
  const { spans } = await recordedRun()
  const named = spans().filter(({ name }) => name !== "message.send")
  expect(new Set(named.map(({ name }) => name.split(" ")[0]))).toEqual(
    new Set([
      "chat",
      "edge_group.process",
      "execute_tool",
      "executor.process",
      "invoke_agent",
      "workflow.run",
    ]),
  )
  for (const { name, attributes } of named) {
    expect(attributes, name).toMatchObject({ "workflow.name": "watch", "superstep.run.id": "r" })
  }
})

it("every metric has its workflow, and none has its run", async () => {
  const { points } = await recordedRun()
  expect(metrics.length).toBeGreaterThan(8)
  const seen: string[] = []
  for (const metric of metrics) {
    for (const { attributes } of await points(metric)) {
      expect(attributes, metric).toMatchObject({ "workflow.name": "watch" })
      expect(Object.keys(attributes), metric).not.toContain("superstep.run.id")
      seen.push(metric)
    }
  }
  expect(new Set(seen)).toEqual(new Set(metrics))
})
