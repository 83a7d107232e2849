import { memoryStore, node, workflow } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { findRun, shortId } from "./find-run.ts"

const flow = workflow("flow-1")
  .start(node("n", (n: number) => n))
  .build()

async function storeWith(...ids: readonly string[]) {
  const store = memoryStore()
  for (const runId of ids) await flow.run(1, { store, runId })
  return store
}

describe("a run is found", () => {
  const made = "019a8b7c-0000-7000-8000-0123456789ab"

  test("by its full id, its end or its beginning", async () => {
    const store = await storeWith(made, "my-run")
    for (const given of [made, shortId(made), "019a", "9ab"]) {
      expect((await findRun(store, given)).runId).toBe(made)
    }
    expect((await findRun(store, "my")).runId).toBe("my-run")
  })

  test("by its full id, even if others contain it", async () => {
    const store = await storeWith("a", "aa", "ba")
    expect((await findRun(store, "a")).runId).toBe("a")
  })

  test("only if it is the only one", async () => {
    const store = await storeWith("run-a", "run-b")
    await expect(findRun(store, "run")).rejects.toMatchObject({
      code: "USAGE",
      message: 'Several runs match "run": run-b, run-a. Write more of the id.',
    })
  })

  test("not by a part in the middle, the name of its workflow, or an empty string", async () => {
    const store = await storeWith("run-a")
    for (const given of ["un-", "flow", ""]) {
      await expect(findRun(store, given)).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
    }
  })
})

test("the short id of a generated id is its end; any other id is unchanged", () => {
  expect(shortId("019a8b7c-0000-7000-8000-0123456789ab")).toBe("456789ab")
  expect(shortId("nightly-2024-05-01")).toBe("nightly-2024-05-01")
})
