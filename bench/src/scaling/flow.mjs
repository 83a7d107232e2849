// What the workers execute, and how they open the store.
import { node, workflow } from "superstep"

/** A run with one task that waits for so many milliseconds, as a call of a model or a service does. */
export function waitingFlow(taskMs) {
  const wait = node("wait", async (n) => {
    await new Promise((resolve) => setTimeout(resolve, taskMs))
    return n
  })
  return workflow("waiting").start(wait).build()
}

/** The path of a file, or the address of a server with a schema as its fragment. */
export async function openStore(address) {
  if (!address.startsWith("postgres:")) {
    const { sqliteStore } = await import("superstep/sqlite")
    return sqliteStore({ path: address })
  }
  const { postgresStore } = await import("superstep/postgres")
  const [url, schema] = address.split("#")
  return postgresStore({ url, schema })
}
