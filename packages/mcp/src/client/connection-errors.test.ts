import { Masking } from "@superstep/engine/tools"
import { expect, test } from "vitest"
import { explain } from "./connection-errors.ts"

test("K3 no part of a secret is told where a long error is cut", () => {
  const told = { server: "s", hidden: Masking.of(["hunter2-hunter2"]), stderr: "", badLine: undefined }
  for (let before = 960; before <= 1_000; before++) {
    const { message } = explain(new Error(`${"x".repeat(before)}hunter2-hunter2 and more`), told)
    expect(message).not.toContain("hunt")
  }
})
