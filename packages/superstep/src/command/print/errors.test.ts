import { PassThrough } from "node:stream"
import { SuperstepError } from "@superstep/engine"
import { expect, test } from "vitest"
import { terminal } from "../terminal/terminal.ts"
import { causeLines, printError } from "./errors.ts"

async function printed(error: unknown, isVerbose = false): Promise<{ code: number; text: string }> {
  const stream = new PassThrough().setEncoding("utf8")
  const code = await printError(error, { err: terminal(stream), isVerbose })
  return { code, text: String(stream.read() ?? "") }
}

test("an error is printed with every cause, without duplicates", async () => {
  const socket = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" })
  const fetch = new TypeError("fetch failed", { cause: socket })
  const error = new SuperstepError("MODEL_FAILED", "The model did not answer.", { cause: fetch })
  expect(await printed(error)).toEqual({
    code: 1,
    text: "superstep: The model did not answer.\n  caused by: fetch failed\n  caused by: connect ECONNREFUSED 127.0.0.1:1\n",
  })
})

test("a cause that is part of the message is not repeated", async () => {
  const cause = new Error("no such file")
  const error = new SuperstepError("FILE_UNREADABLE", "Cannot read x.yaml: no such file.", { cause })
  expect((await printed(error)).text).toBe("superstep: Cannot read x.yaml: no such file.\n")
  const coded = Object.assign(new Error("no such file"), { code: "ENOENT" })
  const other = new SuperstepError("FILE_UNREADABLE", "Cannot read x.yaml: no such file.", { cause: coded })
  expect((await printed(other)).text).toBe("superstep: Cannot read x.yaml: no such file.\n")
})

test("a package that is missing is named without the modules that required it", async () => {
  const text = "Cannot find module 'libsql'\nRequire stack:\n- /home/ada/node_modules/store/open.js"
  const cause = Object.assign(new Error(text), { code: "MODULE_NOT_FOUND" })
  const error = new SuperstepError("STORE_UNUSABLE", "Install it.", { cause })
  expect((await printed(error)).text).toBe(
    "superstep: Install it.\n  caused by: Cannot find module 'libsql' (MODULE_NOT_FOUND)\n",
  )
})

test("circular causes, causes that are not errors, and control sequences are harmless", () => {
  const loop: { message: string; cause?: unknown } = { message: "loop" }
  loop.cause = loop
  expect(causeLines(loop, { width: 80 })).toEqual([])
  expect(causeLines(new Error("x", { cause: "just text" }), { width: 80 })).toEqual([
    "  caused by: just text",
  ])
  const [line] = causeLines(new Error("x", { cause: new Error("\u001b[2J") }), { width: 80 })
  expect(line).not.toContain("\u001b")
  expect(causeLines(new Error("x", { cause: new Error("a b") }), { width: 1 }).join("")).toContain("b")
})

test("the error of a stored run, which is data, is printed with its causes", async () => {
  const data = { code: "ERROR", message: "The node failed.", cause: { code: "ERROR", message: "disk full" } }
  expect((await printed(data)).text).toBe("superstep: The node failed.\n  caused by: disk full\n")
})
