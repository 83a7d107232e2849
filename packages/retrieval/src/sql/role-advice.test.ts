import { loadGoalConfig } from "@superstep/engine/patterns"
import { expect, test } from "vitest"
import type { PostgresOptions } from "./postgres.ts"
import { unsafeRole } from "./postgres-catalog.ts"

/** The suggestion of a message for the goal file, as lines of YAML. */
function proposedIn(message: string): string[] {
  return [...message.matchAll(/`([a-z_]+: [^`]+)`(?= for the database in the goal file)/g)].map(
    ([, one]) => one ?? "",
  )
}

test("the goal file accepts what the message about an unsafe role suggests", () => {
  const { message } = unsafeRole("shop", { role: "owner", database: "shop", faults: ["is a superuser"] })
  const proposed = proposedIn(message)
  expect(proposed).toEqual(["allow_unsafe_role: true"])
  const text = `agents: { triage: {}, reviewer: {}, desk: {} }
assistants: [desk]
search: { databases: [{ type: postgresql, id: shop, url: "postgresql://a@b/c", ${proposed.join(", ")} }] }
`
  const { diagnostics } = loadGoalConfig(
    { file: "goal.yaml", text },
    { env: {}, backends: () => Promise.reject(new Error("not opened")) },
  )
  expect(diagnostics).toEqual([])
})

test("the code accepts what the message about an unsafe role suggests", () => {
  const { message } = unsafeRole("shop", { role: "owner", database: "shop", faults: [] })
  expect(message).toContain("`allowUnsafeRole: true` in code")
  const options = { id: "shop", allowUnsafeRole: true } satisfies PostgresOptions
  expect(options.allowUnsafeRole).toBe(true)
})
