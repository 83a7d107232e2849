/** For commands on several runs: what cannot be done with one of them is told, and the others are done all the same. */
import { isSuperstepError, Runtime, type StoredRun } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import { EXIT } from "./exit-codes.ts"
import type { OpenStore } from "./open-store.ts"
import { printError } from "./print-error.ts"

export async function forEachRun(
  cli: Cli,
  store: OpenStore,
  runs: readonly StoredRun[],
  work: (runtime: Runtime, runId: string) => Promise<void>,
): Promise<void> {
  const runtime = new Runtime({ store, workflows: [] })
  try {
    for (const { runId } of runs) {
      try {
        await work(runtime, runId)
      } catch (error) {
        if (!isSuperstepError(error)) throw error
        await printError(error, cli)
        cli.exit(EXIT.failed)
      }
    }
  } finally {
    await runtime.close()
  }
}
