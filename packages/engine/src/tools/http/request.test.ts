/** Attacks on requests: against a real server on the loopback address, which the rules allow only if a test does. */
import { gzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { manualClock } from "../../testing/index.ts"
import { type Answer, type LoopbackServer, loopbackServer } from "../loopback-server.test-support.ts"
import { guardedRequests, type RequestLimits } from "./request.ts"

let server: LoopbackServer
let other: LoopbackServer
let answer: Answer
const { signal } = new AbortController()

beforeEach(async () => {
  answer = (_, response) => void response.end("hello")
  server = await loopbackServer((request, response) => answer(request, response))
  other = await loopbackServer((_, response) => void response.end("other"))
})
afterEach(async () => {
  await server.close()
  await other.close()
})

/** By default all names resolve to the loopback address. */
const get = (url: string, limits: RequestLimits = {}, headers: Record<string, string> = {}) =>
  guardedRequests({ allowPrivate: ["127.0.0.1"], resolve: async () => ["127.0.0.1"], ...limits })(
    { url, headers },
    { signal },
  )
const at = (host: string, path = "/") => `http://${host}:${server.port}${path}`

describe("what is refused before anything is sent", () => {
  test.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://10.0.0.1/",
    "http://user:pass@example.com/",
    "http://example.com@127.0.0.1/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "data:text/plain,x",
    "javascript:1",
  ])("%s", async (url) => {
    const resolve = () => Promise.reject(new Error("must not be asked"))
    await expect(get(url, { allowPrivate: false, resolve })).rejects.toMatchObject({
      code: "ADDRESS_REFUSED",
    })
  })

  test.each(["localhost", "innocent.example", "metadata.google.internal", "LOCALHOST", "localhost."])(
    "a name that resolves to a private address: %s",
    async (host) => {
      await expect(get(at(host), { allowPrivate: undefined })).rejects.toMatchObject({
        code: "ADDRESS_REFUSED",
      })
      expect(server.asked).toEqual([])
    },
  )

  test.each([
    [["93.184.216.34", "127.0.0.1"]],
    [["93.184.216.34", "::ffff:10.0.0.1"]],
    [["fe80::1%eth0"]],
    [[]],
  ])("a name with the addresses %j, one of which is not allowed", async (addresses) => {
    await expect(
      get(at("mixed.example"), { allowPrivate: false, resolve: async () => addresses }),
    ).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  })

  test("all private addresses may be allowed, but not metadata services", async () => {
    expect((await get(at("127.0.0.1"), { allowPrivate: true })).status).toBe(200)
    const metadata = { allowPrivate: true, resolve: async () => ["169.254.169.254"] }
    await expect(get(at("evil.example"), metadata)).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  })

  test("hosts on lists, deny first, in any case", async () => {
    const lists = { allowHosts: ["*.example.com"], denyHosts: ["bad.example.com"] }
    expect((await get(at("API.example.com"), lists)).status).toBe(200)
    for (const host of ["bad.example.com", "BAD.example.com.", "example.org", "example.com.evil.org"]) {
      await expect(get(at(host), lists)).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
    }
  })

  test("invalid rules are rejected when they are set", () => {
    expect(() => guardedRequests({ allowPrivate: ["localhost"] })).toThrow(
      expect.objectContaining({ code: "NETWORK_RULES_INVALID" }),
    )
  })

  test("a string that is not a URL", async () => {
    await expect(get("not an address")).rejects.toMatchObject({ code: "ADDRESS_INVALID" })
  })
})

describe("a name is looked up once", () => {
  test("and the connection is made to the checked address, not to that of a second answer", async () => {
    const answers = [["127.0.0.1"], ["10.0.0.1"]]
    let lookups = 0
    const response = await get(at("rebind.example"), {
      resolve: async () => answers[lookups++] ?? [],
    })
    expect(response.body.toString()).toBe("hello")
    expect(lookups).toBe(1)
    expect(server.asked[0]?.headers.host).toBe(`rebind.example:${server.port}`)
  })

  test("again for every hop: a name that resolves to a private address is refused at the redirect", async () => {
    answer = (_, response) => void response.writeHead(302, { location: "/next" }).end()
    const answers = [["127.0.0.1"], ["127.0.0.2"]]
    let lookups = 0
    const rebinding = { resolve: async () => answers[lookups++] ?? [] }
    await expect(get(at("rebind.example"), rebinding)).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
    expect(server.asked).toHaveLength(1)
  })

  test("an unknown name is reported, and a lookup that hangs can be aborted", async () => {
    const missing = () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" }))
    await expect(get(at("none.example"), { resolve: missing })).rejects.toMatchObject({
      code: "HOST_NOT_FOUND",
      retryable: false,
    })
    const clock = manualClock()
    const waiting = get(at("slow.example"), {
      clock,
      timeout: 1_000,
      resolve: () => new Promise(() => undefined),
    })
    const ended = expect(waiting).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" })
    await clock.advance(1_000)
    await ended
  })
})

test("an unrequested protocol switch fails at once", async () => {
  answer = (_, response) => {
    response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
  }
  const clock = manualClock()
  await expect(get(at("odd.example"), { clock })).rejects.toMatchObject({ code: "REQUEST_FAILED" })
  expect(clock.pending).toBe(0)
})

describe("redirects", () => {
  const redirect =
    (location: string, status = 302): Answer =>
    (request, response) =>
      request.url === "/" ? void response.writeHead(status, { location }).end() : void response.end("end")

  test("are followed where the rules allow", async () => {
    answer = redirect("/end?x=1")
    expect(await get(at("a.example"))).toMatchObject({ status: 200, url: at("a.example", "/end?x=1") })
  })

  test.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.2/",
    "http://[::1]/",
    "//10.0.0.1/",
    "file:///etc/passwd",
    "http://user:pass@a.example/",
    "gopher://127.0.0.1:6379/_x",
  ])("to %s are refused", async (location) => {
    answer = redirect(location)
    await expect(get(at("a.example"))).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  })

  test("in endless chains are abandoned", async () => {
    answer = (_, response) => void response.writeHead(302, { location: "/" }).end()
    await expect(get(at("a.example"))).rejects.toMatchObject({ code: "TOO_MANY_REDIRECTS" })
    expect(server.asked).toHaveLength(6)
  })

  test("to another origin drop the caller's headers, in any case (2)", async () => {
    answer = redirect(`http://b.example:${other.port}/`)
    await get(at("a.example"), {}, { Authorization: "Bearer k", "X-Key": "k", Cookie: "k=1" })
    expect(server.asked[0]?.headers).toMatchObject({ authorization: "Bearer k", "x-key": "k", cookie: "k=1" })
    expect(JSON.stringify(other.asked[0]?.headers)).not.toMatch(/authorization|x-key|cookie/i)
  })

  test("of a POST become a GET without a body, or are refused if another origin would receive the body (2)", async () => {
    const post = (status: number, location: string) => {
      answer = redirect(location, status)
      const request = guardedRequests({ allowPrivate: ["127.0.0.1"], resolve: async () => ["127.0.0.1"] })
      return request({ url: at("a.example"), method: "POST", body: "secret" }, { signal })
    }
    await post(303, `http://b.example:${other.port}/`)
    expect(other.asked[0]).toMatchObject({ method: "GET", body: "" })
    await post(307, "/same")
    expect(server.asked.at(-1)).toMatchObject({ method: "POST", body: "secret" })
    await expect(post(307, `http://b.example:${other.port}/`)).rejects.toMatchObject({
      code: "REDIRECT_REFUSED",
    })
    expect(other.asked).toHaveLength(1)
  })
})

describe("limits", () => {
  test("a body is read up to the limit, and the socket is closed (3)", async () => {
    answer = (_, response) => {
      const more = () => {
        while (response.write("x".repeat(10_000)));
        response.once("drain", more)
      }
      more()
    }
    const response = await get(at("endless.example"), { maxBytes: 50_000 })
    expect(response.truncated).toBe(true)
    expect(response.body).toHaveLength(50_000)
    await server.closed()
  })

  test("a small body that decompresses to a large one is cut too", async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000))
    answer = (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb)
    const response = await get(at("bomb.example"), { maxBytes: 1_000 })
    expect(response).toMatchObject({ truncated: true })
    expect(response.body).toHaveLength(1_000)
  })

  test("an interrupted or corrupt body is an error, not a partial answer", async () => {
    answer = (_, response) => {
      response.writeHead(200, { "content-length": "100" })
      response.write("half", () => response.destroy())
    }
    await expect(get(at("a.example"))).rejects.toMatchObject({ code: "RESPONSE_BROKEN", retryable: true })
    answer = (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("not gzip")
    await expect(get(at("a.example"))).rejects.toMatchObject({ code: "RESPONSE_BROKEN" })
    const half = gzipSync("x".repeat(1_000)).subarray(0, 20)
    answer = (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(half)
    await expect(get(at("a.example"))).rejects.toMatchObject({ code: "RESPONSE_BROKEN" })
    answer = (_, response) => void response.writeHead(200, { "content-encoding": "zstd" }).end("x")
    await expect(get(at("a.example"))).rejects.toMatchObject({ code: "RESPONSE_BROKEN" })
  })

  test("a server that never answers, or never ends, is abandoned when the time is up (3)", async () => {
    for (const start of [
      () => undefined,
      (response: { write(text: string): void }) => response.write("start"),
    ]) {
      const clock = manualClock()
      let reached: () => void = () => undefined
      const there = new Promise<void>((resolve) => {
        reached = resolve
      })
      answer = (_, response) => {
        start(response)
        reached()
      }
      const ended = expect(get(at("slow.example"), { clock, timeout: 2_000 })).rejects.toMatchObject({
        code: "REQUEST_TIMEOUT",
      })
      await there
      await clock.advance(2_000)
      await ended
      await server.closed()
      expect(clock.pending).toBe(0)
    }
  })

  test("an abort reaches the socket (3)", async () => {
    const stop = new AbortController()
    answer = () => stop.abort(new Error("stopped"))
    const request = guardedRequests({ allowPrivate: ["127.0.0.1"] })
    await expect(request({ url: at("127.0.0.1") }, { signal: stop.signal })).rejects.toThrow("stopped")
    await server.closed()
  })

  test("an unreachable server is an error that names it", async () => {
    const { port } = other
    await other.close()
    await expect(get(`http://gone.example:${port}/`)).rejects.toMatchObject({
      code: "REQUEST_FAILED",
      message: expect.stringContaining("gone.example"),
    })
    other = await loopbackServer((_, response) => void response.end())
  })
})
