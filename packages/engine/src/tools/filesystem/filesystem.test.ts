import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Context } from "../../runtime/index.ts"
import { use } from "../tool-use.test-support.ts"
import { type FilesystemOptions, filesystem } from "./filesystem.ts"

let root: string
const put = (path: string, text: string | Buffer) => {
  mkdirSync(join(root, path, ".."), { recursive: true })
  writeFileSync(join(root, path), text)
}
const text = (path: string) => readFileSync(join(root, path), "utf8")
const run = (name: string, args: unknown, options: Partial<FilesystemOptions> = {}, signal?: AbortSignal) =>
  use(filesystem({ root, ...options }), name, args, signal === undefined ? {} : { signal })

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "fs-"))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe("the tools of the toolset", () => {
  const names = async (options: Partial<FilesystemOptions>) =>
    (await filesystem({ root, ...options }).tools({} as Context)).map((tool) => [tool.name, tool.approval])

  test("reading needs no approval, writing asks a person", async () => {
    expect(await names({})).toEqual([
      ["read_file", "never"],
      ["read_multiple_files", "never"],
      ["list_directory", "never"],
      ["directory_tree", "never"],
      ["search_files", "never"],
      ["search_files_content", "never"],
      ["write_file", "always"],
      ["edit_file", "always"],
      ["create_directory", "always"],
      ["remove_directory", "always"],
    ])
  })

  test("a read-only toolset has none that write", async () => {
    expect((await names({ readOnly: true })).map(([name]) => name)).not.toContain("write_file")
    expect((await names({ readOnly: true })).map(([, approval]) => approval)).toEqual(Array(6).fill("never"))
  })
})

describe("read_file", () => {
  test("returns text with its line numbers, and how to continue", async () => {
    put("a.txt", "one\ntwo\nthree\nfour\n")
    expect(await run("read_file", { path: "a.txt" })).toEqual({
      path: "a.txt",
      text: "one\ntwo\nthree\nfour",
      from: 1,
      to: 4,
      lines: 4,
    })
    expect(await run("read_file", { path: "a.txt", from_line: 2, lines: 2 })).toMatchObject({
      text: "two\nthree",
      note: "Lines 2 to 3 of 4; continue with from_line 4.",
    })
    expect(await run("read_file", { path: "a.txt" }, { maxChars: 8 })).toMatchObject({
      text: "one\ntwo",
      to: 2,
    })
    expect(await run("read_file", { path: "a.txt", from_line: 99 })).toMatchObject({ text: "four", from: 4 })
  })

  test("cuts a line that is longer than a call may return", async () => {
    put("a.txt", `${"x".repeat(100)}\nend`)
    const part = await run("read_file", { path: "a.txt" }, { maxChars: 10 })
    expect(part.text).toBe("x".repeat(10))
    expect(part.note).toContain("Line 1 is cut")
  })

  test("refuses a file that is too large, a file that is not text, and a directory", async () => {
    put("large", "x".repeat(101))
    put("binary", Buffer.from([1, 0, 2]))
    put("latin1", Buffer.from([0x61, 0xe9]))
    mkdirSync(join(root, "dir"))
    await expect(run("read_file", { path: "large" }, { maxFileBytes: 100 })).rejects.toMatchObject({
      code: "FILE_TOO_LARGE",
    })
    await expect(run("read_file", { path: "binary" })).rejects.toMatchObject({ code: "NOT_TEXT" })
    await expect(run("read_file", { path: "latin1" })).rejects.toMatchObject({ code: "NOT_TEXT" })
    await expect(run("read_file", { path: "dir" })).rejects.toMatchObject({ code: "NOT_A_FILE" })
  })

  test.runIf(process.platform === "linux")("an endless file that reports size 0 is refused", async () => {
    symlinkSync("/dev/zero", join(root, "zero"))
    await expect(run("read_file", { path: "zero" })).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    const proc = filesystem({ root: "/proc/self", maxFileBytes: 4 })
    await expect(use(proc, "read_file", { path: "status" })).rejects.toMatchObject({
      code: "FILE_TOO_LARGE",
    })
  })

  test("refuses unknown arguments", async () => {
    await expect(run("read_file", { path: "a", root: "/" })).rejects.toThrow("root")
    await expect(run("read_file", { path: 1 })).rejects.toThrow("path")
  })
})

describe("list and search", () => {
  beforeEach(() => {
    put("src/a.ts", "const needle = 1\nother\nNEEDLE\n")
    put("src/deep/b.ts", "needle")
    put("src/c.md", "needle")
    put(".git/config", "needle")
    put("bin", Buffer.from("needle\0"))
    symlinkSync("/etc", join(root, "etc"))
    symlinkSync(".", join(root, "self"))
  })

  test("lists in order, shows links, follows none, and hides denied paths", async () => {
    expect(await run("list_directory", { depth: 9 })).toEqual({
      results: [
        { path: "bin", kind: "file", bytes: 7 },
        { path: "etc", kind: "link" },
        { path: "self", kind: "link" },
        { path: "src", kind: "directory" },
        { path: "src/a.ts", kind: "file", bytes: 30 },
        { path: "src/c.md", kind: "file", bytes: 6 },
        { path: "src/deep", kind: "directory" },
        { path: "src/deep/b.ts", kind: "file", bytes: 6 },
      ],
      truncated: false,
    })
    const top = await run("list_directory", {})
    expect(top.results.map((entry: { path: string }) => entry.path)).toEqual(["bin", "etc", "self", "src"])
    await expect(run("list_directory", { path: "etc" })).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
  })

  test("finds files by a glob of names or of paths", async () => {
    const found = async (args: object) => (await run("search_files", args)).results
    expect(await found({ pattern: "*.ts" })).toEqual(["src/a.ts", "src/deep/b.ts"])
    expect(await found({ pattern: "deep/*.ts", path: "src" })).toEqual(["src/deep/b.ts"])
    expect(await found({ pattern: "passwd" })).toEqual([])
    expect(await found({ pattern: "../**" })).toEqual([])
  })

  test("finds literal text, not regular expressions", async () => {
    put("src/dots.txt", "a.b")
    expect((await run("search_files_content", { text: "needle" })).results).toEqual([
      { path: "src/a.ts", line: 1, text: "const needle = 1" },
      { path: "src/c.md", line: 1, text: "needle" },
      { path: "src/deep/b.ts", line: 1, text: "needle" },
    ])
    const folded = await run("search_files_content", { text: "needle", ignore_case: true, files: "a.ts" })
    expect(folded.results).toHaveLength(2)
    expect((await run("search_files_content", { text: ".*" })).results).toEqual([])
  })

  test("reports that there is more than it returns", async () => {
    expect(await run("search_files", { pattern: "*" }, { maxResults: 2 })).toEqual({
      results: ["bin", "src/a.ts"],
      truncated: true,
    })
    put("many.txt", "needle\n".repeat(50))
    const many = await run("search_files_content", { text: "needle" }, { maxResults: 5 })
    expect(many).toMatchObject({ truncated: true })
    expect(many.results).toHaveLength(5)
  })

  test("stops when it is aborted", async () => {
    const stop = new AbortController()
    stop.abort(new Error("enough"))
    await expect(run("search_files", { pattern: "*" }, {}, stop.signal)).rejects.toThrow("enough")
  })
})

describe("write_file and edit_file", () => {
  test("writes atomically, keeps the mode of a file, and leaves no other file behind", async () => {
    put("run.sh", "old")
    chmodSync(join(root, "run.sh"), 0o750)
    expect(await run("write_file", { path: "run.sh", content: "new" })).toEqual({
      path: "run.sh",
      result: "replaced",
      bytes: 3,
    })
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o750)
    expect((await run("list_directory", {})).results).toHaveLength(1)
  })

  test("refuses to write a file that is too large, or to replace a directory", async () => {
    mkdirSync(join(root, "dir"))
    await expect(run("write_file", { path: "a", content: "ééé" }, { maxFileBytes: 5 })).rejects.toMatchObject(
      { code: "FILE_TOO_LARGE" },
    )
    await expect(run("write_file", { path: "dir", content: "x" })).rejects.toMatchObject({
      code: "NOT_A_FILE",
    })
    await expect(run("write_file", { path: "", content: "x" })).rejects.toMatchObject({ code: "NOT_A_FILE" })
  })

  test("edits exact pieces, all or none, and treats $& literally", async () => {
    put("a.txt", "one two\nthree")
    await run("edit_file", {
      path: "a.txt",
      edits: [
        { old_text: "two", new_text: "$& $1" },
        { old_text: "three", new_text: "3" },
      ],
    })
    expect(text("a.txt")).toBe("one $& $1\n3")
    const edits = [
      { old_text: "one", new_text: "1" },
      { old_text: "nowhere", new_text: "x" },
    ]
    await expect(run("edit_file", { path: "a.txt", edits })).rejects.toMatchObject({ code: "EDIT_NOT_FOUND" })
    expect(text("a.txt")).toBe("one $& $1\n3")
  })

  test("an old_text that occurs twice needs replace_all", async () => {
    put("a.txt", "x x")
    const edit = { old_text: "x", new_text: "y" }
    await expect(run("edit_file", { path: "a.txt", edits: [edit] })).rejects.toMatchObject({
      code: "EDIT_AMBIGUOUS",
    })
    await run("edit_file", { path: "a.txt", edits: [{ ...edit, replace_all: true }] })
    expect(text("a.txt")).toBe("y y")
    await expect(
      run("edit_file", { path: "a.txt", edits: [{ old_text: "", new_text: "z" }] }),
    ).rejects.toMatchObject({ code: "EDIT_INVALID" })
  })

  test("keeps \\r\\n and the byte order mark", async () => {
    put("a.txt", "\ufeffone\r\ntwo\r\n")
    await run("edit_file", { path: "a.txt", edits: [{ old_text: "one\ntwo", new_text: "1\n2" }] })
    expect(text("a.txt")).toBe("\ufeff1\r\n2\r\n")
  })

  test("two concurrent edits of one file are both applied", async () => {
    put("a.txt", "a b c d")
    const toolset = filesystem({ root })
    const edit = (old_text: string) =>
      use(toolset, "edit_file", { path: "a.txt", edits: [{ old_text, new_text: old_text.toUpperCase() }] })
    const failing = use(toolset, "edit_file", { path: "a.txt", edits: [{ old_text: "zz", new_text: "" }] })
    await Promise.all([edit("a"), edit("b"), expect(failing).rejects.toThrow(), edit("c"), edit("d")])
    expect(text("a.txt")).toBe("A B C D")
  })
})

describe("several files and directories at once", () => {
  test("read_multiple_files returns every file, and an error for one that it cannot read", async () => {
    put("a.txt", "one")
    expect(await run("read_multiple_files", { paths: ["a.txt", "b.txt", "../c.txt"] })).toMatchObject({
      files: [
        { path: "a.txt", text: "one" },
        { path: "b.txt", error: expect.stringContaining("does not exist") },
        { path: "../c.txt", error: expect.stringContaining("outside the root") },
      ],
    })
  })

  test("directory_tree indents what is in a directory", async () => {
    put("b/c/d.txt", "")
    put("b/e.txt", "")
    put("a.txt", "")
    expect(await run("directory_tree", {})).toEqual({
      tree: "a.txt\nb/\n  c/\n    d.txt\n  e.txt",
      truncated: false,
    })
    expect(await run("directory_tree", { path: "b", depth: 1 })).toMatchObject({ tree: "c/\ne.txt" })
  })

  test("create_directory creates parents, remove_directory removes only an empty one", async () => {
    await run("create_directory", { path: "x/y" })
    expect(statSync(join(root, "x/y")).isDirectory()).toBe(true)
    await expect(run("remove_directory", { path: "x" })).rejects.toMatchObject({ code: "NOT_A_FILE" })
    expect(await run("remove_directory", { path: "x/y" })).toEqual({ path: "x/y", result: "removed" })
    await expect(run("remove_directory", { path: "" })).rejects.toMatchObject({ code: "PATH_DENIED" })
    await expect(run("create_directory", { path: "../z" })).rejects.toMatchObject({
      code: "PATH_OUTSIDE_ROOT",
    })
  })
})

describe("commands after an edit", () => {
  const afterEdit = [
    { path: "*.up", cmd: 'tr a-z A-Z < "$file" > "$path.tmp" && mv "$path.tmp" "$path"' },
    { path: "bad/**", cmd: "echo broken >&2; exit 3" },
  ]

  test("run for files that match, in the root, and their outcome is a part of the result", async () => {
    expect(await run("write_file", { path: "it's $(x).up", content: "loud" }, { afterEdit })).toMatchObject({
      after: [{ code: 0, output: "" }],
    })
    expect(text("it's $(x).up")).toBe("LOUD")
    expect(await run("write_file", { path: "a.txt", content: "calm" }, { afterEdit })).not.toHaveProperty(
      "after",
    )
    const edits = [{ old_text: "calm", new_text: "busy" }]
    put("bad/a.txt", "calm")
    expect(await run("edit_file", { path: "bad/a.txt", edits }, { afterEdit })).toMatchObject({
      result: "replaced",
      after: [{ code: 3, output: "broken\n" }],
    })
  })

  test("a command that takes too long is stopped", async () => {
    const slow = [{ path: "*", cmd: "sleep 30", timeout: 50 }]
    expect(await run("write_file", { path: "a", content: "" }, { afterEdit: slow })).toMatchObject({
      after: [{ code: null, output: "Stopped after 50 ms." }],
    })
  })
})
