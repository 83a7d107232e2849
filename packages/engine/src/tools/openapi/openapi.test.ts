import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Context } from "../../runtime/index.ts"
import { type Answer, type LoopbackServer, loopbackServer } from "../loopback-server.test-support.ts"
import { use } from "../tool-use.test-support.ts"
import { type OpenApiOptions, openapi } from "./openapi.ts"
import { openApiDocument, plainSchema } from "./operations.ts"

const yaml = `
openapi: 3.0.3
servers: [{ url: "https://api.example.com/v1" }]
security: [{ key: [] }]
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Api-Key }
    token: { type: http, scheme: bearer }
    login: { type: http, scheme: basic }
    inQuery: { type: apiKey, in: query, name: key }
  parameters:
    Id: { name: id, in: path, required: true, schema: { type: string } }
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, minLength: 1, pattern: "^([A-Za-z]+)+$" }
        code: { type: string, pattern: "(?<=x)y" }
        age: { type: integer, minimum: 0, exclusiveMinimum: true, nullable: true }
        parent: { $ref: "#/components/schemas/Pet" }
paths:
  /pets/{id}:
    parameters: [{ $ref: "#/components/parameters/Id" }]
    get:
      operationId: getPet
      summary: Gets a pet.
      parameters:
        - { name: tags, in: query, schema: { type: array, items: { type: string } } }
        - { name: filter, in: query, style: deepObject, schema: { type: object } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: X-Api-Key, in: header, schema: { type: string } }
        - { name: Host, in: header, schema: { type: string } }
        - { name: Authorization, in: header, schema: { type: string } }
  /pets:
    post:
      operationId: add pet!
      security: [{ token: [] }]
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
    get: { security: [{ inQuery: [] }], parameters: [{ name: key, in: query, schema: { type: string } }] }
  /login: { get: { operationId: login, security: [{ login: [] }] } }
  /open: { get: { operationId: open, security: [] } }
  /form: { post: { operationId: form, security: [{}], requestBody: { content: { application/x-www-form-urlencoded: { schema: { type: object } } } } } }
  /upload: { post: { operationId: upload, requestBody: { required: true, content: { multipart/form-data: {} } } } }
`
const env = { KEY: "key-123456789", TOKEN: "tok-123456789\n", LOGIN: "ann:pass-123456" }
const auth = {
  key: { env: "KEY" },
  token: { env: "TOKEN" },
  login: { env: "LOGIN" },
  inQuery: { env: "KEY" },
}

let server: LoopbackServer
let answer: Answer
beforeEach(async () => {
  answer = (_, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(`{"ok":true}`)
  server = await loopbackServer((request, response) => answer(request, response))
})
afterEach(() => server.close())

const pets = (options: Partial<OpenApiOptions> = {}) =>
  openapi({
    document: { text: yaml },
    server: `http://127.0.0.1:${server.port}/v1/`,
    allowPrivate: ["127.0.0.1"],
    auth,
    env,
    ...options,
  })

describe("the tools of a document", () => {
  test("are its operations, with valid names; reading needs no approval; operations that no tool can send are left out", async () => {
    const tools = await pets().tools({} as Context)
    expect(tools.map((tool) => [tool.name, tool.approval])).toEqual([
      ["getPet", "never"],
      ["get_pets", "never"],
      ["add_pet", "always"],
      ["login", "never"],
      ["open", "never"],
      ["form", "always"],
    ])
  })

  test("are selected by include and exclude, exclude first, and named with a prefix", async () => {
    const tools = await pets({ include: ["*et*"], exclude: ["add_*"], prefix: "pets_" }).tools({} as Context)
    expect(tools.map((tool) => tool.name)).toEqual(["pets_getPet", "pets_get_pets"])
  })

  test("have a schema without references and read-only fields", async () => {
    const [add] = await pets({ include: ["add_pet"] }).tools({} as Context)
    expect(add?.parameters).toMatchObject({
      required: ["body"],
      properties: {
        body: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string", minLength: 1, pattern: "^([A-Za-z]+)+$" },
            code: { type: "string", description: "Pattern: (?<=x)y" },
            age: { type: ["integer", "null"], exclusiveMinimum: 0 },
            parent: {},
          },
        },
      },
    })
    expect(JSON.stringify(add?.parameters)).not.toMatch(/\$ref|readOnly|"pattern":"\(\?<=/)
    await expect(use(pets(), "add_pet", { body: { name: "" } })).rejects.toThrow("name")
    const hostile = `${"a".repeat(50_000)}!`
    await expect(use(pets(), "add_pet", { body: { name: hostile } })).rejects.toThrow("pattern")
    await expect(use(pets(), "add_pet", {})).rejects.toThrow("body")
  })
})

describe("a call", () => {
  test("sends arguments in path, query, headers and body, and the key in its header", async () => {
    const args = { id: "a/b?c", tags: ["x", "y"], filter: { a: 1 }, "X-Trace": "t" }
    expect(await use(pets(), "getPet", args)).toEqual({ status: 200, body: { ok: true } })
    expect(server.asked[0]?.url).toBe("/v1/pets/a%2Fb%3Fc?tags=x&tags=y&filter%5Ba%5D=1")
    expect(server.asked[0]?.headers).toMatchObject({ "x-trace": "t", "x-api-key": "key-123456789" })
    await use(pets(), "add_pet", { body: { name: "Rex", parent: { name: "Max" } } })
    expect(server.asked[1]).toMatchObject({ method: "POST", body: `{"name":"Rex","parent":{"name":"Max"}}` })
    expect(server.asked[1]?.headers).toMatchObject({
      authorization: "Bearer tok-123456789",
      "content-type": "application/json",
      "idempotency-key": "key-1",
    })
    await use(pets(), "form", { body: { a: "1 2", b: "&" } })
    expect(server.asked[2]).toMatchObject({ body: "a=1+2&b=%26" })
    await use(pets(), "login", {})
    expect(server.asked[3]?.headers.authorization).toBe(
      `Basic ${Buffer.from("ann:pass-123456").toString("base64")}`,
    )
  })

  test.each(["..", ".", ""])("cannot leave its part of the path with %j (3)", async (id) => {
    await expect(use(pets(), "getPet", { id })).rejects.toMatchObject({ code: "TOOL_ARGS_INVALID" })
    expect(server.asked).toEqual([])
  })

  test.each([
    "../../admin",
    "%2e%2e/admin",
    "x/../../admin",
    "//evil.example/",
    "@evil.example",
    "\\..\\admin",
  ])("keeps %j within its part of the path (3)", async (id) => {
    await use(pets(), "getPet", { id })
    const [path = ""] = (server.asked[0]?.url ?? "").split("?")
    expect(path.split("/")).toHaveLength(4)
    expect(path.startsWith("/v1/pets/")).toBe(true)
    expect(decodeURIComponent(path.split("/")[3] ?? "")).toBe(id)
  })

  test("cannot replace a key, nor one of our headers (3)", async () => {
    await use(pets(), "getPet", { id: "1", "X-Api-Key": "stolen" })
    expect(server.asked[0]?.headers["x-api-key"]).toBe("key-123456789")
    for (const name of ["Host", "Authorization"]) {
      await expect(use(pets(), "getPet", { id: "1", [name]: "evil" })).rejects.toThrow(name)
    }
    await use(pets(), "get_pets", { key: "stolen" })
    expect(server.asked[1]?.url).toBe("/v1/pets?key=key-123456789")
  })

  test("cannot split a header", async () => {
    await expect(use(pets(), "getPet", { id: "1", "X-Trace": "a\r\nX-Evil: 1" })).rejects.toMatchObject({
      code: "HEADER_INVALID",
    })
    expect(server.asked).toEqual([])
  })

  test("never returns a key, however the server repeats it", async () => {
    answer = (request, response) =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ headers: request.headers, url: request.url, tail: "pass-123456" }))
    const answers = await Promise.all([
      use(pets(), "getPet", { id: "1" }),
      use(pets(), "login", {}),
      use(pets(), "get_pets", {}),
      use(pets({ headers: { "X-Other": `v1 \${env.TOKEN}` } }), "open", {}),
    ])
    const text = JSON.stringify(answers.slice(0, 1).concat(answers.slice(2)))
    for (const secret of ["key-123456789", "tok-123456789"]) expect(text).not.toContain(secret)
    const login = JSON.stringify(answers[1])
    expect(login).not.toContain("pass-123456")
    expect(login).not.toContain(Buffer.from("ann:pass-123456").toString("base64"))
    expect(server.asked.map(({ headers }) => headers["x-other"])).toContain("v1 tok-123456789")
  })

  test("needs the keys that the document requires, and reports a missing one", async () => {
    await expect(use(pets({ auth: {} }), "getPet", { id: "1" })).rejects.toMatchObject({
      code: "KEY_MISSING",
    })
    await expect(use(pets({ env: {} }), "getPet", { id: "1" })).rejects.toMatchObject({
      code: "KEY_MISSING",
      message: expect.stringContaining("KEY"),
    })
    expect(await use(pets({ auth: undefined, env: {} }), "open", {})).toMatchObject({ status: 200 })
  })

  test("obeys the network rules", async () => {
    await expect(use(pets({ allowPrivate: undefined }), "open", {})).rejects.toMatchObject({
      code: "ADDRESS_REFUSED",
    })
    answer = (_, response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end()
    await expect(use(pets(), "open", {})).rejects.toMatchObject({ code: "ADDRESS_REFUSED" })
  })

  test("returns server errors, text and cut answers as results", async () => {
    answer = (_, response) =>
      void response.writeHead(422, { "content-type": "text/plain" }).end("no such pet")
    expect(await use(pets(), "open", {})).toEqual({ status: 422, body: "no such pet" })
    answer = (_, response) =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify("x".repeat(100)))
    const cut = await use(pets({ maxChars: 10 }), "open", {})
    expect(cut.body).toBe(`"${"x".repeat(9)}`)
    expect(cut.note).toContain("longer")
  })
})

describe("a document from the network", () => {
  test("is fetched under the rules, once for all tasks, and again after a failure", async () => {
    let calls = 0
    answer = (_, response) => {
      calls++
      if (calls === 1) return void response.writeHead(500).end()
      response.writeHead(200, { "content-type": "application/yaml" }).end(yaml)
    }
    const options = { document: { url: `http://127.0.0.1:${server.port}/openapi.yaml` } }
    await expect(pets({ ...options, allowPrivate: undefined }).tools({} as Context)).rejects.toMatchObject({
      code: "ADDRESS_REFUSED",
    })
    const toolset = pets(options)
    await expect(toolset.tools({} as Context)).rejects.toMatchObject({ code: "OPENAPI_INVALID" })
    await Promise.all([toolset.tools({} as Context), toolset.tools({} as Context)])
    await toolset.tools({} as Context)
    expect(calls).toBe(2)
  })

  test("cannot send our keys to another server (2)", async () => {
    answer = (_, response) => void response.writeHead(200, { "content-type": "text/yaml" }).end(yaml)
    const document = { url: `http://127.0.0.1:${server.port}/openapi.yaml` }
    await expect(pets({ document, server: undefined }).tools({} as Context)).rejects.toMatchObject({
      code: "OPENAPI_SERVER_UNTRUSTED",
    })
    const keyless = pets({ document, server: undefined, auth: undefined })
    expect(await keyless.tools({} as Context)).not.toEqual([])
  })
})

describe("an invalid or hostile document", () => {
  const schemaOf = (schemas: object) =>
    plainSchema(openApiDocument({ openapi: "3.1.0", paths: {}, components: { schemas } } as never), {
      $ref: "#/components/schemas/A",
    })

  test.each([
    ["swagger: '2.0'\npaths: {}", "Swagger 2.0"],
    ["openapi: 3.0.0", "no paths"],
    ["[1]", "not an object"],
    ["{ not json", "is unreadable"],
    ["a: &a [x]\nb: [*a, *c]", "is unreadable"],
  ])("%j is refused", (text, reason) => {
    expect(() => openApiDocument(text)).toThrow(reason)
  })

  test("aliases that multiply are refused", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for (let i = 1; i < 10; i++) lines.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`)
    expect(() => openApiDocument(`openapi: 3.0.0\npaths: {}\n${lines.join("\n")}`)).toThrow("is unreadable")
  })

  test("external and circular references are refused", () => {
    expect(() => schemaOf({ A: { $ref: "file:///etc/passwd" } })).toThrow("points outside")
    expect(() => schemaOf({ A: { $ref: "http://127.0.0.1/" } })).toThrow("points outside")
    expect(() => schemaOf({ A: { $ref: "#/components/schemas/A" } })).toThrow("circular")
    expect(schemaOf({ A: { properties: { x: { $ref: "#/__proto__/constructor" } } } })).toEqual({
      properties: { x: {} },
    })
  })

  test("schemas that multiply are cut", () => {
    const schemas: Record<string, unknown> = { A: fan("B0") }
    for (let i = 0; i < 10; i++) schemas[`B${i}`] = fan(`B${i + 1}`)
    schemas.B10 = { type: "string" }
    expect(JSON.stringify(schemaOf(schemas)).length).toBeLessThan(500_000)
  })

  test("too many operations are an error that suggests include", async () => {
    const paths = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`/p${i}`, { get: {} }]))
    const document = { json: { openapi: "3.0.0", paths } }
    await expect(pets({ document }).tools({} as Context)).rejects.toThrow("include")
  })
})

function fan(name: string): object {
  const item = { $ref: `#/components/schemas/${name}` }
  return {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, item])),
  }
}
