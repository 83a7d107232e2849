import { expect, test } from "vitest"
import type { Cli } from "../cli.ts"
import { printEnded } from "./ended.ts"

function stopped(isRecorded: boolean): string {
  const lines: string[] = []
  const cli = { err: { line: (text: string) => lines.push(text) } } as unknown as Cli
  printEnded(cli, "tea", undefined, { isKept: true, isRecorded, storeFlag: "" })
  return lines.join("\n")
}

test("a run that was stopped is resumed only if the store has it", () => {
  expect(stopped(true)).toBe("Stopped. The run is stored. Resume it:\n  superstep runs resume tea")
  expect(stopped(false)).toBe("Stopped before the run started.")
})
