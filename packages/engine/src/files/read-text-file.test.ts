import { execFileSync } from "node:child_process"
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { insideFolder, readTextFile } from "./read-text-file.ts"

let root: string
let folder: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "files-")))
  folder = join(root, "own")
  mkdirSync(folder)
  writeFileSync(join(folder, "a.txt"), "inside")
  writeFileSync(join(root, "b.txt"), "outside")
})
afterEach(() => rmSync(root, { recursive: true }))

function codeOf(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

test("R1 a FIFO, a device and a folder are rejected without waiting for them", () => {
  const fifo = join(folder, "fifo")
  execFileSync("mkfifo", [fifo])
  expect(() => readTextFile(fifo)).toThrow(`Cannot read ${fifo}: it is a FIFO, not a file.`)
  expect(() => readTextFile("/dev/zero")).toThrow("Cannot read /dev/zero: it is a device, not a file.")
  expect(() => readTextFile(folder)).toThrow("it is a folder")
  expect(codeOf(() => readTextFile(fifo))).toBe("FILE_NOT_REGULAR")
})

test("R2 no more than the limit is read, even of a file that reports no size", () => {
  const large = join(folder, "large.txt")
  writeFileSync(large, "")
  truncateSync(large, 1_000_001)
  expect(() => readTextFile(large)).toThrow("it is larger than 1 MB")
  expect(readTextFile(large, { maxBytes: 1_000_001 })).toHaveLength(1_000_001)
  if (process.platform === "linux")
    expect(codeOf(() => readTextFile("/proc/self/status", { maxBytes: 10 }))).toBe("FILE_TOO_LARGE")
})

test("R3 a file is inside its folder, however it is named", () => {
  symlinkSync(join(root, "b.txt"), join(folder, "link.txt"))
  symlinkSync(root, join(folder, "up"))
  symlinkSync("a.txt", join(folder, "near.txt"))
  const read = (path: string) => codeOf(() => readTextFile(path, { folder, cwd: folder }))
  expect([read("a.txt"), read("near.txt"), read(join(folder, "a.txt"))]).toEqual([
    "inside",
    "inside",
    "inside",
  ])
  for (const path of ["../b.txt", "link.txt", "up/b.txt", join(root, "b.txt"), "/etc/passwd"]) {
    expect(read(path)).toBe("FILE_OUTSIDE")
  }
})

test("a file that does not exist yet is located by its link or its folder", () => {
  symlinkSync(join(root, "later.txt"), join(folder, "later.txt"))
  expect(insideFolder(folder, "later.txt")).toBeUndefined()
  expect(insideFolder(folder, "new/file.txt")).toBe(join(folder, "new/file.txt"))
  expect(insideFolder(folder, "..")).toBeUndefined()
  expect(insideFolder(folder, "..name")).toBe(join(folder, "..name"))
})

test("a missing file is reported", () => {
  expect(() => readTextFile("none.txt", { cwd: folder })).toThrow(
    "Cannot read none.txt: there is no such file.",
  )
})
