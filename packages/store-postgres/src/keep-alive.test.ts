/** The thread that beats for a holder. */
import { expect, onTestFinished, test } from "vitest"
import { start } from "./records.test-support.ts"
import { freshStore } from "./stores.test-support.ts"

const holder = { id: "holder", machine: "machine", pid: 1, born: "then" }

function loopState(text = ""): SharedArrayBuffer {
  const state = new SharedArrayBuffer(1_032)
  const { written } = new TextEncoder().encodeInto(text, new Uint8Array(state, 8))
  new Int32Array(state, 0, 2)[1] = written
  return state
}

test("a thread beats for its holder, whatever the event loop does", async () => {
  const store = freshStore()
  await store.beat(holder)
  const options = {
    holder,
    every: 10,
    hungAfter: 600_000,
    loopState: loopState(),
    onBlocked: () => undefined,
  }
  const thread = store.keepAlive?.(options)
  onTestFinished(() => thread?.stop())
  for (;;) {
    const [found] = await store.holders()
    if ((found?.beat ?? 0) > 2) break
  }
})

test("a holder whose event loop is stuck is dismissed, with the run that had control", async () => {
  const store = freshStore()
  for (const runId of ["stuck", "beside"]) await start(store, runId)
  const state = loopState("stuck\nnode")
  const options = { holder, every: 10, hungAfter: 1, loopState: state, onBlocked: () => undefined }
  const thread = store.keepAlive?.(options)
  onTestFinished(() => thread?.stop())
  while ((await store.holders()).length > 0);
  expect(await store.run("stuck")).toMatchObject({ token: 2, executing: true })
  expect((await store.run("beside"))?.takeovers).toBe(0)
})
