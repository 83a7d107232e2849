import { afterEach, expect, test } from "vitest"
import { type Answer, type LoopbackServer, loopbackServer } from "./loopback-server.test-support.ts"
import { pageReader } from "./page-reader.ts"

let server: LoopbackServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function pageAt(answer: Answer): Promise<string> {
  server = await loopbackServer(answer)
  return `http://127.0.0.1:${server.port}/page`
}

test("a page is read as text, with its title and where it came from in the end", async () => {
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

test("what is no text, or an error, is no page; what is long is cut", async () => {
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
