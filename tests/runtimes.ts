/** Runtimes of the processes in tests, on the store of an address (tests/stores.ts), and on Restate if it names a cluster. */
import { Runtime, type RuntimeOptions } from "superstep"
import { clusterOf, openStore } from "./stores.ts"

type Options = Omit<RuntimeOptions, "store" | "dispatcher"> & { readonly store?: RuntimeOptions["store"] }

export interface Worker {
  readonly runtime: Runtime
  close(): Promise<void>
}

/** A worker: it executes runs from now on. */
export async function openWorker(address: string, options: Options): Promise<Worker> {
  const { store = openStore(address), ...rest } = options
  const cluster = clusterOf(address)
  if (cluster !== undefined) {
    const { joinedWorker } = await import("./restate/joined.ts")
    return await joinedWorker(cluster, { store, ...rest })
  }
  const runtime = new Runtime({ store, ...rest })
  await runtime.recover()
  return { runtime, close: () => runtime.close() }
}

/** It starts, answers and signals runs, and executes none. */
export async function openCaller(address: string, options: Options): Promise<Runtime> {
  const { store = openStore(address), ...rest } = options
  const cluster = clusterOf(address)
  if (cluster === undefined) return new Runtime({ store, recover: false, ...rest })
  const { callerOf } = await import("./restate/joined.ts")
  return callerOf(cluster, { store, ...rest })
}
