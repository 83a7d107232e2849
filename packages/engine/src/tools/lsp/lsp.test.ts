/** The tools over a real process that speaks the language server protocol. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Toolset } from "../tool.ts"
import { use } from "../tool-use.test-support.ts"
import { LSP_TOOLS, lsp } from "./lsp.ts"

const SERVER = join(import.meta.dirname, "word-server.test-support.mjs")

let root: string
let server: Toolset
const put = (path: string, text: string) => writeFileSync(join(root, path), text)
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lsp-"))
  server = lsp({ command: process.execPath, args: [SERVER], root, fileTypes: [".txt"] })
})
afterEach(async () => {
  await server.close?.()
  rmSync(root, { recursive: true, force: true })
})

describe("the lsp tools", () => {
  test("find what is at a position, where it is defined and used, and what is wrong", async () => {
    put("a.txt", "tea cup\n  tea mistake")
    const at = { path: "a.txt", line: 2, column: 4 }
    const first = { path: "a.txt", line: 1, column: 1 }
    const second = { path: "a.txt", line: 2, column: 3 }
    const results = (list: readonly object[]) => ({ results: list, truncated: false })
    expect(await use(server, "lsp_hover", at)).toBe("the word tea")
    expect(await use(server, "lsp_hover", { ...at, column: 1 })).toContain("Nothing")
    expect(await use(server, "lsp_definition", at)).toEqual(results([first]))
    expect(await use(server, "lsp_implementations", at)).toEqual(results([]))
    expect(await use(server, "lsp_references", at)).toEqual(results([first, second]))
    expect(await use(server, "lsp_workspace_symbols", { query: "cup" })).toEqual(
      results([{ name: "cup", path: "a.txt", line: 1, column: 5 }]),
    )
    expect((await use(server, "lsp_document_symbols", { path: "a.txt" })).results).toHaveLength(4)
    expect(await use(server, "lsp_diagnostics", { path: "a.txt" })).toEqual(
      results([{ severity: "warning", message: "a mistake", line: 2, column: 7 }]),
    )
    // The file as it is now.
    put("a.txt", "tea")
    expect(await use(server, "lsp_diagnostics", { path: "a.txt" })).toEqual(results([]))
    expect((await server.tools({} as never)).map(({ name }) => name)).toEqual(LSP_TOOLS)
  })

  test("send nothing outside of the root, and only files that the server knows", async () => {
    put("a.md", "tea")
    await expect(use(server, "lsp_diagnostics", { path: "../x.txt" })).rejects.toMatchObject({
      code: "PATH_OUTSIDE_ROOT",
    })
    await expect(use(server, "lsp_diagnostics", { path: "a.md" })).rejects.toMatchObject({
      code: "LSP_FILE_TYPE",
    })
  })

  test("a server that exits fails the call, and the next call starts it again", async () => {
    put("a.txt", "crash")
    await expect(use(server, "lsp_hover", { path: "a.txt", line: 1, column: 1 })).rejects.toMatchObject({
      code: "LSP_FAILED",
      message: expect.stringContaining("exited with code 3"),
    })
    put("a.txt", "tea")
    expect(await use(server, "lsp_hover", { path: "a.txt", line: 1, column: 1 })).toBe("the word tea")
  })

  test("a command that does not exist, and a program that speaks something else, are named", async () => {
    put("a.txt", "tea")
    const asked = (command: string, args: readonly string[]) =>
      use(lsp({ command, args, root }), "lsp_document_symbols", { path: "a.txt" })
    await expect(asked("no-such-server", [])).rejects.toThrow(/no such command; install it/)
    await expect(
      asked(process.execPath, ["-e", "console.log('x'.repeat(20000)); setTimeout(() => {}, 60000)"]),
    ).rejects.toThrow(/not the language server protocol/)
  })
})
