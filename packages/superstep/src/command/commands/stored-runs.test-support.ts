/** A store with runs in the folder of a test, as commands find it. */

import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Runtime, type Store } from "@superstep/engine"
import { sqliteStore } from "@superstep/store-sqlite"
import { type TestIo, type TestIoOptions, testIo } from "../test-io.test-support.ts"
import review from "./review-flow.test-support.ts"

/** The path of their workflow. */
export const FILE = fileURLToPath(new URL("./review-flow.test-support.ts", import.meta.url))

export function openFile(io: Pick<TestIo, "cwd">) {
  return sqliteStore({ path: join(io.cwd, ".superstep", "superstep.db") })
}

export async function withRuns(
  texts: Readonly<Record<string, string>>,
  options: TestIoOptions & { readonly labels?: Readonly<Record<string, string>> } = {},
): Promise<TestIo> {
  const { labels = { file: FILE } } = options
  const io = testIo(options)
  const store = openFile(io)
  for (const [runId, text] of Object.entries(texts)) await start(store, runId, text, labels)
  await store.close()
  return io
}

async function start(
  store: Store,
  runId: string,
  text: string,
  labels?: Readonly<Record<string, string>>,
): Promise<void> {
  const runtime = new Runtime({ store, workflows: [review] })
  await runtime.start(review, text, { runId, ...(labels && { labels }) }).result
  // No process holds waiting runs.
  await runtime.close()
}
