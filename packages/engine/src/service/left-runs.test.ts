/** What a handler learns when its run continues elsewhere: why, so that it does not undo what it began. */
import { expect, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { memoryStore } from "../stores/index.ts"
import { Runtime } from "./runtime.ts"

test("a handler learns whether its run has left the process, or is not wanted any more, also in a sub-workflow", async () => {
  const reasons: unknown[] = []
  let began: () => void = () => undefined
  const inner = workflow("inner")
    .start(
      node("wait", async (_: string, { signal }) => {
        signal.addEventListener("abort", () => reasons.push((signal.reason as Error).cause))
        began()
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      }),
    )
    .build()
  const flow = workflow("flow").start(inner.asNode()).build()
  const start = async () => {
    const runtime = new Runtime({ store: memoryStore(), workflows: [flow] })
    const started = new Promise<void>((resolve) => {
      began = resolve
    })
    const run = runtime.start(flow, "go")
    const over = run.result.catch(() => undefined)
    await started
    return { runtime, run, over }
  }
  const left = await start()
  await left.runtime.close()
  await left.over
  expect(reasons).toMatchObject([{ code: "RUNTIME_CLOSED" }])
  const unwanted = await start()
  await unwanted.run.cancel("enough")
  await unwanted.over
  expect(reasons[1]).toBeUndefined()
  await unwanted.runtime.close()
})
