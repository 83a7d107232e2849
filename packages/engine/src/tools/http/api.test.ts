import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Context } from "../../runtime/index.ts"
import { type LoopbackServer, loopbackServer } from "../loopback-server.test-support.ts"
import { use } from "../tool-use.test-support.ts"
import { type ApiToolOptions, api } from "./api.ts"

let server: LoopbackServer
beforeEach(async () => {
  server = await loopbackServer(
    (request, response) =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify(request.headers)),
  )
})
afterEach(() => server.close())

const endpoint = (options: Partial<ApiToolOptions> = {}) =>
  api({
    name: "user",
    description: "Gets a user.",
    endpoint: `http://127.0.0.1:${server.port}/users/{id}?v=1`,
    args: { id: { type: "string" }, q: {} },
    required: ["id"],
    allowPrivate: ["127.0.0.1"],
    ...options,
  })

describe("the api toolset", () => {
  test("fills the path, and sends the other arguments in the query of a GET", async () => {
    await use(endpoint(), "user", { id: "a/../b", q: ["x&y=1", 2] })
    expect(server.asked[0]?.url).toBe("/users/a%2F..%2Fb?v=1&q=x%26y%3D1&q=2")
  })

  test("sends the other arguments in the body of a POST, and asks a person", async () => {
    const post = endpoint({ method: "post", endpoint: `http://127.0.0.1:${server.port}/users/\${id}` })
    await use(post, "user", { id: "1", q: { deep: true } })
    expect(server.asked[0]).toMatchObject({ method: "POST", url: "/users/1", body: `{"q":{"deep":true}}` })
    expect(await post.tools({} as Context)).toMatchObject([{ approval: "always", idempotent: false }])
    expect(await endpoint().tools({} as Context)).toMatchObject([{ approval: "never", idempotent: true }])
  })

  test.each(["..", ".", ""])("does not go up with %j", async (id) => {
    await expect(use(endpoint(), "user", { id })).rejects.toMatchObject({ code: "TOOL_ARGS_INVALID" })
  })

  test("fills keys into its headers when it is called, and masks them in the answer", async () => {
    const keyed = (env: Record<string, string>) =>
      endpoint({ headers: { Authorization: `Bearer \${env.TOKEN}` }, env })
    const answer = await use(keyed({ TOKEN: "tok-123456" }), "user", { id: "1" })
    expect(server.asked[0]?.headers.authorization).toBe("Bearer tok-123456")
    expect(answer.body.authorization).toBe("Bearer [secret]")
    await expect(use(keyed({}), "user", { id: "1" })).rejects.toMatchObject({ code: "KEY_MISSING" })
  })

  test("masks a literal key in its headers in the answer too, and no part of it remains", async () => {
    const headers = { "X-Key": "key-abcdefgh", Accept: "application/json" }
    const { body } = await use(endpoint({ headers }), "user", { id: "1" })
    expect(body).toMatchObject({ "x-key": "[secret]", accept: "application/json" })
    for (let most = 1; most < 200; most++) {
      for (const limits of [{ maxChars: most }, { maxBytes: most }]) {
        const cut = await use(endpoint({ headers, ...limits }), "user", { id: "1" })
        expect(JSON.stringify(cut)).not.toContain("key-")
      }
    }
  })

  test("describes the form of its answers, and notes one that has another", async () => {
    const shape = (accept: string) => ({ type: "object", properties: { accept: { type: accept } } })
    const [described] = await endpoint({ output: shape("string") }).tools({} as Context)
    expect(described?.description).toContain(
      'Gets a user.\nThe body of the answer has this JSON Schema: {"type"',
    )
    expect(await use(endpoint({ output: shape("string") }), "user", { id: "1" })).not.toHaveProperty("note")
    const odd = await use(endpoint({ output: shape("number") }), "user", { id: "1" })
    expect(odd).toMatchObject({ status: 200, body: { host: expect.any(String) } })
    expect(odd.note).toMatch(/expected form: .*accept/)
  })

  test("needs no description", async () => {
    const tools = await endpoint({
      description: undefined,
      endpoint: "https://api.example.com/a/{id}",
    }).tools({} as Context)
    expect(tools).toMatchObject([{ description: "GET https://api.example.com/a/{id}" }])
  })

  test("an argument cannot read our environment", async () => {
    await use(endpoint({ env: { TOKEN: "tok-123456" } }), "user", { id: `\${env.TOKEN}` })
    expect(server.asked[0]?.url).toBe("/users/%24%7Benv.TOKEN%7D?v=1")
  })

  test.each([
    "https://{host}/x",
    "{all}",
    "https://api.example.com{x}/",
    "http{s}://api.example.com/",
    "no address",
  ])("rejects the endpoint %j, whose host is not fixed", (one) => {
    expect(() => endpoint({ endpoint: one })).toThrow(expect.objectContaining({ code: "API_INVALID" }))
  })

  test("obeys the network rules", async () => {
    await expect(use(endpoint({ allowPrivate: undefined }), "user", { id: "1" })).rejects.toMatchObject({
      code: "ADDRESS_REFUSED",
    })
  })
})
