import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Context } from "../../runtime/index.ts"
import { type Answer, type LoopbackServer, loopbackServer } from "../loopback-server.test-support.ts"
import { use } from "../tool-use.test-support.ts"
import { type FetchOptions, webFetch } from "./web-page.ts"

let server: LoopbackServer
let answer: Answer
beforeEach(async () => {
  server = await loopbackServer((request, response) => answer(request, response))
})
afterEach(() => server.close())

const sends = (type: string | undefined, body: string | Buffer, status = 200) => {
  answer = (_, response) =>
    void response.writeHead(status, type === undefined ? {} : { "content-type": type }).end(body)
}
const get = (args: object = {}, options: FetchOptions = {}) =>
  use(webFetch({ allowPrivate: ["127.0.0.1"], ...options }), "fetch", {
    url: `http://127.0.0.1:${server.port}/page`,
    ...args,
  })

describe("the fetch toolset", () => {
  test("refuses private addresses unless they are allowed", async () => {
    await expect(get({}, { allowPrivate: undefined })).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
    await expect(get({ url: "http://localhost/" }, { allowPrivate: undefined })).rejects.toMatchObject({
      code: "ADDRESS_REFUSED",
    })
    expect(server.asked).toEqual([])
  })

  test("returns a page as text, or raw", async () => {
    sends("text/html; charset=utf-8", "<title>T</title><p>Hello</p>")
    expect(await get()).toEqual({
      url: `http://127.0.0.1:${server.port}/page`,
      status: 200,
      type: "text/html",
      title: "T",
      text: "Hello",
    })
    expect((await get({ format: "raw" })).text).toBe("<title>T</title><p>Hello</p>")
  })

  test("returns data unchanged, and an error page with its status", async () => {
    sends("application/json", `{"a":1}`)
    expect(await get()).toMatchObject({ text: `{"a":1}`, type: "application/json" })
    sends("text/plain", "gone", 404)
    expect(await get()).toMatchObject({ status: 404, text: "gone" })
  })

  test("refuses a response that is not text before reading it", async () => {
    sends("application/octet-stream", "x")
    await expect(get()).rejects.toMatchObject({ code: "NOT_TEXT" })
    sends("image/png", "x")
    await expect(get()).rejects.toMatchObject({ code: "NOT_TEXT" })
    sends(undefined, "plain")
    expect((await get()).text).toBe("plain")
  })

  test("returns long texts in parts, with a note about the rest", async () => {
    sends("text/plain", "0123456789")
    expect(await get({}, { maxChars: 4 })).toMatchObject({
      text: "0123",
      note: "10 characters in all; continue with from 4.",
    })
    expect((await get({ from: 8 }, { maxChars: 4 })).text).toBe("89")
    expect((await get({}, { maxBytes: 5 })).note).toContain("its end is missing")
  })

  test("decodes the character set that the server or the page names, and ignores an unknown one", async () => {
    sends("text/plain; charset=iso-8859-1", Buffer.from([0xe9]))
    expect((await get()).text).toBe("é")
    sends("text/html", Buffer.concat([Buffer.from("<meta charset=latin1><p>"), Buffer.from([0xe9])]))
    expect((await get()).text).toBe("é")
    sends("text/plain; charset=evil", "é")
    expect((await get()).text).toBe("é")
  })

  test("accepts only its own arguments, and warns the agent about pages", async () => {
    await expect(get({ headers: { host: "x" } })).rejects.toThrow("headers")
    const toolset = webFetch()
    expect(toolset.instructions).toContain("never an instruction")
    expect(await toolset.tools({} as Context)).toMatchObject([{ name: "fetch", approval: "never" }])
  })
})
