/**
 * A process with a runtime that executes commands from its standard input, as lines of JSON: the handler of its workflow
 * emits events and finishes on command. `says` calls a model first.
 */
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { type Context, node, Runtime, workflow } from "superstep"
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { openStore } from "../stores.ts"

interface TalkerJob {
  readonly path: string
}

export type TalkerCommand =
  | { readonly type: "start"; readonly runId: string; readonly workflow: "talks" | "says" }
  /** Emits `count` events, named by their number from `from` on. */
  | { readonly type: "emit"; readonly from: number; readonly count: number }
  /** Records a step, which is a journaled event. */
  | { readonly type: "step"; readonly name: string }
  | { readonly type: "finish" }
  | { readonly type: "exit" }

export type TalkerMessage =
  | { readonly type: "ready" }
  | { readonly type: "began"; readonly runId: string }
  | { readonly type: "done" }
  | { readonly type: "ended"; readonly runId: string; readonly status: string }

const job = JSON.parse(process.argv[2] as string) as TalkerJob
const report = (message: TalkerMessage) => writeSync(1, `${JSON.stringify(message)}\n`)

let act: (command: TalkerCommand) => Promise<void> | void = () => undefined

const talks = node("talks", async (_: unknown, ctx: Context) => {
  await new Promise<void>((finish) => {
    act = async (command) => {
      if (command.type === "emit")
        for (let i = command.from; i < command.from + command.count; i++)
          ctx.emit(`${i}`, { text: "x".repeat(200) })
      else if (command.type === "step") await ctx.step(command.name, () => command.name)
      else if (command.type === "finish") finish()
      report({ type: "done" })
    }
    report({ type: "began", runId: ctx.runId })
  })
  return "talked"
})

const clerk = agent({
  name: "clerk",
  instructions: "Help.",
  model: scriptedModel(["The quick brown fox jumps over the lazy dog."]),
})

const flows = {
  talks: workflow("talks").start(talks).build(),
  says: workflow("says").chain(clerk.asNode(), talks).build(),
}
const runtime = new Runtime({ store: openStore(job.path), workflows: Object.values(flows) })

createInterface({ input: process.stdin })
  .on("line", (line) => execute(JSON.parse(line) as TalkerCommand))
  .on("close", () => process.exit())

function execute(command: TalkerCommand): void {
  if (command.type === "exit") process.exit()
  if (command.type !== "start") return void act(command)
  const { runId } = command
  const run =
    command.workflow === "talks"
      ? runtime.start(flows.talks, 1, { runId })
      : runtime.start(flows.says, "Hi", { runId })
  run.result.then(
    ({ status }) => report({ type: "ended", runId, status }),
    (error) => report({ type: "ended", runId, status: error.code }),
  )
}

await runtime.recover()
report({ type: "ready" })
