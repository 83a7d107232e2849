import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { addRecording, repairCassette, startCassette } from "./cassette-file.ts"
import type { Recording } from "./recording-finder.ts"

const noModes = process.platform === "win32"
const umask = process.umask()
const mode = (path: string) => statSync(path).mode & 0o777

afterEach(() => {
  process.umask(umask)
  vi.restoreAllMocks()
})

function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-cassette-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "calls.jsonl")
}

describe.skipIf(noModes)("the file of a cassette (needs file modes: not on Windows)", () => {
  test("is for its owner alone, whatever the umask", () => {
    process.umask(0)
    const file = freshFile()
    startCassette(file)
    addRecording(file, { call: 1 } as Recording)
    expect(mode(file)).toBe(0o600)
  })

  test.each([startCassette, repairCassette])(
    "that others can read is tightened before it is written, with a warning: $name",
    (write) => {
      const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
      const file = freshFile()
      writeFileSync(file, '{"cassette":1}\n')
      chmodSync(file, 0o644)
      write(file)
      expect(mode(file)).toBe(0o600)
      expect(warnings.mock.calls).toEqual([
        [
          `${file} could be read by others: its mode was 0644, and is 0600 now.`,
          expect.objectContaining({ code: "FILE_PERMISSIONS" }),
        ],
      ])
    },
  )
})
