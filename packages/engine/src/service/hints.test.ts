/** Stores that say when there is something to do. */
import { expect, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import type { Json } from "../core/index.ts"
import { type JournalRecord, localChannel, type Store } from "../runtime/index.ts"
import { memoryStore } from "../stores/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { Runtime } from "./runtime.ts"

test("a runtime that gets a hint looks for free runs before its next tick, and listens no longer than it is open", async () => {
  const flow = workflow("flow")
    .start(node("node", (text: string) => text))
    .build()
  const listeners = new Set<() => void>()
  const store: Store = {
    ...memoryStore(),
    live: {
      ...localChannel(),
      hints(_holder, onHint) {
        listeners.add(onHint)
        return { close: () => listeners.delete(onHint) }
      },
    },
  }
  const clock = manualClock(1)
  const runtime = new Runtime({ store, workflows: [flow], clock })
  await runtime.recover()
  // Another process made the run, and let go of it.
  const theirs = memoryStore()
  const source = new Runtime({ store: theirs, workflows: [flow] })
  const { runId } = await source.start(flow, "done")
  await source.close()
  const [record] = await theirs.read(runId, 0, 1)
  const { graph: hash } = (await theirs.run(runId)) as { graph: string }
  const graph = (await theirs.graph(hash)) as Json
  await store.beat({ id: "other", machine: "elsewhere", pid: 1, born: "" })
  await store.append({ runId: "r", holder: "other", token: 1 }, 0, [record as JournalRecord], {
    created: { workflow: "flow", graph: hash },
    graphs: [{ hash, graph }],
  })
  await store.dismiss("other", { reason: "closed" })
  await clock.advance(0)
  expect((await store.run("r"))?.status).toBe("running")
  for (const hint of listeners) hint()
  await clock.advance(0)
  await settled()
  expect((await store.run("r"))?.status).toBe("completed")
  await runtime.close()
  expect(listeners.size).toBe(0)
})
