/** What of a request is checked before the handler of its route runs. */
import { expect, test } from "vitest"
import { served } from "./serve.test-support.ts"

const START = "/v1/workflows/greet/runs"

interface Sent {
  readonly body?: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

async function sending() {
  const { server, key, store } = served()
  const secret = await key({})
  const post = async (path: string, { body, type, headers = {} }: Sent) => {
    const all = new Headers({ authorization: `Bearer ${secret}`, ...headers })
    // A body of bytes gets no content type of its own.
    if (type !== undefined) all.set("content-type", type)
    const sent = body === undefined ? {} : { body: new TextEncoder().encode(body) }
    const request = { method: "POST", headers: all, ...sent }
    const response = await server.fetch(new Request(`http://local${path}`, request))
    const { code, detail, problems } = (await response.json()) as Record<string, unknown>
    return { status: response.status, code, detail, problems }
  }
  return { post, store }
}

test.each([
  "application/json",
  "Application/JSON; charset=UTF-8",
  "application/vnd.acme+json",
  "application/json;v=1; charset=utf-8",
])("a body of the type %j is JSON", async (type) => {
  const { post } = await sending()
  expect(await post(START, { body: '{"input":"Ada"}', type })).toMatchObject({ status: 200 })
})

test.each([
  { body: '{"input":"Ada"}', type: "text/plain" },
  { body: '{"input":"Ada"}', type: "application/jsonx" },
  { body: '{"input":"Ada"}', type: "multipart/form-data" },
  { type: "text/plain" },
  { body: '{"input":"Ada"}' },
])("a request that is not declared as JSON is refused: %j", async (sent) => {
  const { post, store } = await sending()
  expect(await post(START, sent)).toMatchObject({ status: 415, code: "REQUEST_INVALID" })
  expect(await store.runs({})).toEqual([])
})

test("without a body and a type, what is required is missing", async () => {
  const { post } = await sending()
  const missing = { status: 422, code: "REQUEST_INVALID", detail: "body.input: Required." }
  expect(await post(START, {})).toMatchObject(missing)
  expect(await post(START, { body: "" })).toMatchObject(missing)
})

test.each(["", "{", "nul"])("the text %j is not JSON", async (body) => {
  const { post } = await sending()
  const refused = { status: 400, code: "REQUEST_INVALID", detail: "Malformed JSON in request body." }
  expect(await post(START, { body, type: "application/json" })).toMatchObject(refused)
})

test("a body that is optional is checked if there is one", async () => {
  const { post } = await sending()
  const rotate = "/v1/keys/none/rotate"
  expect(await post(rotate, {})).toMatchObject({ status: 404 })
  expect(await post(rotate, { body: '{"overlap":1}', type: "application/json" })).toMatchObject({
    status: 404,
  })
  expect(await post(rotate, { body: '{"overlap":"x"}', type: "application/json" })).toMatchObject({
    status: 422,
    problems: [{ in: "body.overlap" }],
  })
  expect(await post(rotate, { body: '{"overlap":1}' })).toMatchObject({ status: 415 })
})

test("a header that a route declares is checked before the body, and under any spelling", async () => {
  const { post } = await sending()
  const long = { "Idempotency-Key": "k".repeat(201) }
  const refused = {
    status: 422,
    code: "REQUEST_INVALID",
    detail: "header.idempotency-key: must have at most 200 characters",
    problems: [{ in: "header.idempotency-key", message: "must have at most 200 characters" }],
  }
  for (const body of ['{"input":"Ada"}', "{"])
    expect(await post(START, { body, type: "application/json", headers: long })).toEqual(refused)
  const empty = { "idempotency-key": "" }
  expect(
    await post(START, { body: '{"input":"Ada"}', type: "application/json", headers: empty }),
  ).toMatchObject({ status: 422, detail: "header.idempotency-key: must not be empty" })
})

test("a parameter of the path is decoded, and one of the query that comes twice is not one value", async () => {
  const { post } = await sending()
  const unknown = await post("/v1/workflows/a%2Fb%20c/runs", {
    body: '{"input":1}',
    type: "application/json",
  })
  expect(unknown.detail).toContain('"a/b c"')
  const { ask, key } = served()
  const viewer = await key({ role: "viewer" })
  expect((await ask("GET", "/v1/runs?limit=1", { key: viewer })).status).toBe(200)
  expect((await ask("GET", "/v1/runs?limit=1&limit=2", { key: viewer })).status).toBe(422)
})
