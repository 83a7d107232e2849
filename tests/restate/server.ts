/** Starts the Restate server that test files share. Each file registers workers of its own. */
import type { TestProject } from "vitest/node"
import { startRestate } from "./start-restate.ts"

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await startRestate()
  provide("restate", { ingress: server.ingress, admin: server.admin })
  return () => server.stop()
}
