import { Masking } from "@superstep/engine/tools"
import { expect, test } from "vitest"
import { explain } from "./connection-errors.ts"

test("K3 no part of a secret is shown where a long error is cut", () => {
  const context = { server: "s", hidden: Masking.of(["hunter2-hunter2"]), stderr: "" }
  for (let before = 960; before <= 1_000; before++) {
    const { message } = explain(new Error(`${"x".repeat(before)}hunter2-hunter2 and more`), context)
    expect(message).not.toContain("hunt")
  }
})
