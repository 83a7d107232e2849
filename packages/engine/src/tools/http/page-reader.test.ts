import { afterEach, expect, test } from "vitest"
import { manualClock } from "../../testing/index.ts"
import { type Answer, type LoopbackServer, loopbackServer } from "../loopback-server.test-support.ts"
import { pageReader } from "./web-page.ts"

let server: LoopbackServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function pageAt(answer: Answer): Promise<string> {
  server = await loopbackServer(answer)
  return `http://127.0.0.1:${server.port}/page`
}

/** A promise that the test resolves. */
function gate() {
  let open: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

test("a page is read as text, with its title and its final URL", async () => {
  const url = await pageAt(({ url: path }, response) =>
    path === "/page"
      ? response.writeHead(302, { location: "/other" }).end()
      : response
          .writeHead(200, { "content-type": "text/html" })
          .end("<title>Tea</title><script>no()</script><h1>Tea</h1><p>Tea is a drink.</p>"),
  )
  const { title, text, url: end } = await pageReader({ allowPrivate: true }).read(url)
  expect({ title, text, end }).toEqual({
    title: "Tea",
    text: "# Tea\n\nTea is a drink.",
    end: url.replace("/page", "/other"),
  })
})

test("addresses that are not public are refused unless they are allowed", async () => {
  const url = await pageAt((_, response) => response.end("secret"))
  await expect(pageReader().read(url)).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  await expect(pageReader().read("file:///etc/passwd")).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  expect(server?.asked).toEqual([])
})

test("a response that is not text, or an error, is not a page; a long page is cut", async () => {
  const reader = pageReader({ allowPrivate: true, maxChars: 10 })
  const image = await pageAt((_, response) =>
    response.writeHead(200, { "content-type": "image/png" }).end("x"),
  )
  await expect(reader.read(image)).rejects.toMatchObject({ code: "NOT_TEXT" })
  await server?.close()
  const gone = await pageAt((_, response) => response.writeHead(404).end("gone"))
  await expect(reader.read(gone)).rejects.toThrow(/^127\.0\.0\.1:\d+ answered 404\.$/)
  await server?.close()
  const long = await pageAt((_, response) =>
    response.writeHead(200, { "content-type": "text/plain" }).end("x".repeat(99)),
  )
  expect((await reader.read(long)).text).toHaveLength(10)
})

test.each([
  ["that is said to be one", "application/pdf", "%PDF-1.7 \u0001"],
  ["that is said to be a page", "text/html", "%PDF-1.7 \u0001"],
  ["without a content type", "", "%PDF-1.7 \u0001"],
  ["or an image, or an archive", "text/plain", "PK\u0003\u0004\u0000\u0000"],
])("a PDF %s is not a page", async (_, type, body) => {
  const url = await pageAt((__, response) =>
    response.writeHead(200, type === "" ? {} : { "content-type": type }).end(body),
  )
  await expect(pageReader({ allowPrivate: true }).read(url)).rejects.toMatchObject({ code: "NOT_TEXT" })
})

test("a page in UTF-16 is read, and a cut does not split a character", async () => {
  const url = await pageAt((_, response) =>
    response
      .writeHead(200, { "content-type": "text/plain; charset=utf-16le" })
      .end(Buffer.from("Tea 🍵", "utf16le")),
  )
  expect((await pageReader({ allowPrivate: true }).read(url)).text).toBe("Tea 🍵")
  expect((await pageReader({ allowPrivate: true, maxChars: 5 }).read(url)).text).toBe("Tea ")
})

test("only the beginning of a page of 100 MB is read, and the connection is closed", async () => {
  let sent = 0
  const closed = gate()
  const url = await pageAt((_, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-length": 100_000_000 })
    response.on("close", closed.open)
    const more = () => {
      while (sent < 100_000_000 && !response.destroyed) {
        sent += 100_000
        if (!response.write("x".repeat(100_000))) return void response.once("drain", more)
      }
    }
    more()
  })
  const { text } = await pageReader({ allowPrivate: true }).read(url)
  expect(text).toHaveLength(100_000)
  await closed.passed
  expect(sent).toBeLessThan(50_000_000)
})

test("a page that never ends is abandoned when its time is up, and the connection is closed", async () => {
  const clock = manualClock()
  const [begun, closed] = [gate(), gate()]
  const url = await pageAt((_, response) => {
    response.writeHead(200, { "content-type": "text/plain" }).write("tea and ")
    response.on("close", closed.open)
    begun.open()
  })
  const reading = pageReader({ allowPrivate: true, clock }).read(url)
  const ended = expect(reading).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" })
  await begun.passed
  await clock.advance(30_000)
  await ended
  await closed.passed
})

test("an aborted page is abandoned, and the connection is closed", async () => {
  const stop = new AbortController()
  const [begun, closed] = [gate(), gate()]
  const url = await pageAt((_, response) => {
    response.writeHead(200, { "content-type": "text/plain" }).write("tea and ")
    response.on("close", closed.open)
    begun.open()
  })
  const reading = pageReader({ allowPrivate: true }).read(url, { signal: stop.signal })
  const ended = expect(reading).rejects.toThrow("enough")
  await begun.passed
  stop.abort(new Error("enough"))
  await ended
  await closed.passed
})

test.each(["http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "file:///etc/passwd"])(
  "a redirect to %s is not followed",
  async (location) => {
    const url = await pageAt((_, response) => response.writeHead(302, { location }).end())
    await expect(pageReader({ allowPrivate: true }).read(url)).rejects.toMatchObject({
      code: "ADDRESS_REFUSED",
    })
  },
)
