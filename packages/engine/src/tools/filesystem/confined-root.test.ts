/** Attacks on the root. Each runs with and without directories held open. */
import { execFileSync } from "node:child_process"
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type ConfinedRoot, confinedRoot } from "./confined-root.ts"
import { readBytes, writeBytes } from "./file.ts"

const modes = process.platform === "linux" ? [true, false] : [false]

describe.each(modes)("a confined root (directories held open: %s)", (held) => {
  let base: string
  let root: ConfinedRoot
  const inRoot = (...parts: string[]) => join(base, "root", ...parts)
  const outside = (...parts: string[]) => join(base, "outside", ...parts)
  const read = async (path: string) => (await readBytes(root, await root.locate(path), 1_000)).toString()
  const write = async (path: string, text: string) =>
    writeBytes(root, await root.locate(path), Buffer.from(text))

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "root-"))
    mkdirSync(inRoot("dir"), { recursive: true })
    mkdirSync(outside())
    writeFileSync(inRoot("dir", "a.txt"), "inside")
    writeFileSync(outside("secret.txt"), "secret")
    root = confinedRoot(inRoot(), { deny: ["**/.git/**"], held })
  })
  afterEach(() => rmSync(base, { recursive: true, force: true }))

  test("reads and writes inside, by relative and by absolute path", async () => {
    expect(await read("dir/a.txt")).toBe("inside")
    expect(await read("./dir/../dir/a.txt")).toBe("inside")
    expect(await read(inRoot("dir", "a.txt"))).toBe("inside")
    expect(await write("new/deep/b.txt", "b")).toBe("created")
    expect(readFileSync(inRoot("new", "deep", "b.txt"), "utf8")).toBe("b")
  })

  test.each([
    "../outside/secret.txt",
    "dir/../../outside/secret.txt",
    "/etc/passwd",
    "dir/../../../../../../../../etc/passwd",
    "..",
    "../root-evil/x",
    "a\0.txt",
    "x/".repeat(3_000),
  ])("refuses the path %j (1)", async (path) => {
    await expect(read(path)).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    await expect(write(path, "x")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
  })

  test("a directory whose name only starts like the root's is outside (1)", async () => {
    mkdirSync(join(base, "root-evil"))
    writeFileSync(join(base, "root-evil", "x"), "x")
    await expect(read(join(base, "root-evil", "x"))).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
  })

  test("a file whose name starts with two dots is inside", async () => {
    await write("..a", "dots")
    expect(await read("..a")).toBe("dots")
  })

  test("links that lead out are refused, as a file, as a directory on the way, and in a chain (2)", async () => {
    symlinkSync(outside("secret.txt"), inRoot("file-link"))
    symlinkSync(outside(), inRoot("dir-link"))
    symlinkSync("dir-link", inRoot("chain"))
    symlinkSync("../../outside", inRoot("dir", "relative"))
    for (const path of ["file-link", "dir-link/secret.txt", "chain/secret.txt", "dir/relative/secret.txt"]) {
      await expect(read(path)).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
      await expect(write(path, "x")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    }
    await expect(write("dir-link/new.txt", "x")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    await expect(write("chain/deep/new.txt", "x")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    expect(readdirSync(outside())).toEqual(["secret.txt"])
    expect(readFileSync(outside("secret.txt"), "utf8")).toBe("secret")
  })

  test("a dangling link cannot be used to create a file outside (2)", async () => {
    symlinkSync(outside("made.txt"), inRoot("dangling"))
    symlinkSync(outside("made"), inRoot("dangling-dir"))
    await expect(write("dangling", "x")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    await expect(write("dangling-dir/x", "x")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    expect(readdirSync(outside())).toEqual(["secret.txt"])
  })

  test("a link inside is followed; a circular link is refused (2)", async () => {
    symlinkSync("dir", inRoot("inner"))
    symlinkSync("loop", inRoot("loop"))
    expect(await read("inner/a.txt")).toBe("inside")
    await write("inner/b.txt", "b")
    expect(readFileSync(inRoot("dir", "b.txt"), "utf8")).toBe("b")
    await expect(read("loop")).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
  })

  test("the root may itself be a link", async () => {
    symlinkSync(inRoot(), join(base, "link"))
    root = confinedRoot(join(base, "link"), { deny: [], held })
    expect(await read("dir/a.txt")).toBe("inside")
    expect(await read(join(base, "link", "dir", "a.txt"))).toBe("inside")
    expect(await read(inRoot("dir", "a.txt"))).toBe("inside")
  })

  test("a directory that becomes a link after it was located is not entered (3)", async () => {
    const place = await root.locate("dir/secret.txt")
    renameSync(inRoot("dir"), inRoot("moved"))
    symlinkSync(outside(), inRoot("dir"))
    await expect(readBytes(root, place, 1_000)).rejects.toMatchObject({ code: "NOT_A_DIRECTORY" })
    await expect(writeBytes(root, place, Buffer.from("x"))).rejects.toMatchObject({ code: "NOT_A_DIRECTORY" })
    expect(readFileSync(outside("secret.txt"), "utf8")).toBe("secret")
  })

  test("a file that becomes a link after it was located is neither read nor written through (3)", async () => {
    const place = await root.locate("dir/a.txt")
    rmSync(inRoot("dir", "a.txt"))
    symlinkSync(outside("secret.txt"), inRoot("dir", "a.txt"))
    await expect(readBytes(root, place, 1_000)).rejects.toMatchObject({ code: "NOT_A_FILE" })
    await expect(writeBytes(root, place, Buffer.from("x"))).rejects.toMatchObject({ code: "NOT_A_FILE" })
    expect(readFileSync(outside("secret.txt"), "utf8")).toBe("secret")
  })

  test.runIf(held)(
    "a directory that is replaced by a link after it was entered stays the same (3; needs directories held open: Linux)",
    async () => {
      const entered = await root.enter(["dir"])
      renameSync(inRoot("dir"), inRoot("moved"))
      symlinkSync(outside(), inRoot("dir"))
      expect(readFileSync(entered.at("a.txt"), "utf8")).toBe("inside")
      expect(readdirSync(entered.self)).toEqual(["a.txt"])
      await entered.close()
    },
  )

  test("an entered directory accepts names, not paths (1)", async () => {
    const entered = await root.enter([])
    for (const name of ["..", ".", "", "dir/a.txt", "../outside"]) {
      expect(() => entered.at(name)).toThrow(expect.objectContaining({ code: "PATH_OUTSIDE_ROOT" }))
    }
    await entered.close()
  })

  test.skipIf(process.platform === "win32")("a pipe is refused at once, without waiting (4)", async () => {
    execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', inRoot("pipe")])
    await expect(read("pipe")).rejects.toMatchObject({ code: "NOT_A_FILE" })
    await expect(write("pipe", "x")).rejects.toMatchObject({ code: "NOT_A_FILE" })
  })

  test("writing a file with a hard link outside does not change that one", async () => {
    linkSync(outside("secret.txt"), inRoot("hard"))
    await write("hard", "changed")
    expect(await read("hard")).toBe("changed")
    expect(readFileSync(outside("secret.txt"), "utf8")).toBe("secret")
  })

  test("denied paths are neither read nor written, in any case and through a link", async () => {
    mkdirSync(inRoot(".git", "hooks"), { recursive: true })
    writeFileSync(inRoot(".git", "config"), "x")
    symlinkSync(".git", inRoot("alias"))
    for (const path of [
      ".git/config",
      "alias/config",
      "dir/.git/hooks/new",
      ".GIT/hooks/pre-commit",
      ".git",
    ]) {
      await expect(root.locate(path)).rejects.toMatchObject({ code: "PATH_DENIED" })
    }
  })

  test("everything in a denied directory is denied, however the pattern is written", async () => {
    root = confinedRoot(inRoot(), { deny: ["secrets", "dir/private", "*.env", "**/.*"], held })
    mkdirSync(inRoot("dir", "secrets"))
    for (const path of [
      "secrets",
      "secrets/key",
      "dir/secrets/deep/key",
      "dir/private/a/b",
      "prod.env",
      "dir/prod.env",
      ".git/hooks/pre-commit",
      "dir/.ssh/id",
    ]) {
      await expect(root.locate(path)).rejects.toMatchObject({ code: "PATH_DENIED" })
    }
    for (const path of ["dir/a.txt", "private/a", "dir/mysecrets/a", "a.env.txt"]) {
      expect((await root.locate(path)).path).toBe(path)
    }
  })

  test("errors do not reveal where the root is", async () => {
    const error = await read("dir/none.txt").catch((thrown) => thrown)
    expect(error.code).toBe("FILE_NOT_FOUND")
    expect(`${error.message} ${error.cause ?? ""}`).not.toContain(base)
  })

  test("no directory stays open, whatever happened", async () => {
    if (process.platform !== "linux") return
    const before = readdirSync("/proc/self/fd").length
    for (let i = 0; i < 20; i++) {
      await read("dir/a.txt")
      await write("dir/a.txt", "inside")
      await read("dir/none").catch(() => undefined)
      await read("dir").catch(() => undefined)
      await write("dir", "x").catch(() => undefined)
      await write("dir/a.txt/x", "x").catch(() => undefined)
    }
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 2)
    expect(readdirSync(inRoot("dir"))).toEqual(["a.txt"])
  })

  test("a missing root is reported", async () => {
    root = confinedRoot(inRoot("none"), { deny: [], held })
    await expect(read("a")).rejects.toMatchObject({ code: "ROOT_MISSING" })
  })
})
