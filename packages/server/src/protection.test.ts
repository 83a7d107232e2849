/** What protects browsers, what is logged, and what never leaves the server. */
import { expect, test, vi } from "vitest"
import { served } from "./serve.test-support.ts"

const START = "/v1/workflows/greet/runs"
const ORIGIN = "https://app.example.com"

test("no page of another origin reads a response, unless its origin is allowed by name", async () => {
  const preflight = { "access-control-request-method": "POST", origin: ORIGIN }
  const strict = served()
  const key = await strict.key({})
  expect((await strict.ask("OPTIONS", START, { headers: preflight })).status).toBe(401)
  const plain = await strict.ask("GET", "/v1/runs", { key, headers: { origin: ORIGIN } })
  expect(plain.headers.get("access-control-allow-origin")).toBeNull()

  const { ask, key: create } = served({ cors: [ORIGIN] })
  const own = await create({})
  const allowed = await ask("OPTIONS", START, { headers: preflight })
  expect(allowed.headers.get("access-control-allow-origin")).toBe(ORIGIN)
  expect(allowed.headers.get("access-control-allow-credentials")).toBeNull()
  for (const origin of ["https://evil.example.com", `${ORIGIN}.evil.com`, "null"]) {
    const response = await ask("GET", "/v1/runs", { key: own, headers: { origin } })
    expect(response.headers.get("access-control-allow-origin")).toBeNull()
  }
  expect(() => served({ cors: ["*"] })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }))
})

test("a page of another site starts nothing on a server without authentication", async () => {
  const { ask, server, store } = served({ auth: undefined })
  const forged: (RequestInit & { headers?: Record<string, string> })[] = [
    { body: JSON.stringify({ input: "x" }), headers: { "content-type": "text/plain" } },
    { body: "input=x", headers: { "content-type": "application/x-www-form-urlencoded" } },
    {
      body: new Uint8Array(
        JSON.stringify({ input: "x" })
          .split("")
          .map((one) => one.charCodeAt(0)),
      ),
    },
    {},
  ]
  for (const request of forged) {
    const response = await server.fetch(new Request(`http://local${START}`, { method: "POST", ...request }))
    expect(response.status).toBe(415)
  }
  expect(await store.runs({})).toEqual([])
  expect((await ask("POST", START, { body: { input: "x" } })).status).toBe(200)
})

test("a cookie proves nothing", async () => {
  const { ask, key } = served()
  const secret = await key({})
  for (const cookie of [secret, `authorization=Bearer ${secret}`, `key=${secret}`]) {
    expect((await ask("GET", "/v1/runs", { headers: { cookie } })).status).toBe(401)
  }
})

test("every response forbids to load anything, to be framed and to be cached", async () => {
  const { ask } = served()
  for (const path of ["/healthz", "/v1/runs", "/none"]) {
    const { headers } = await ask("GET", path)
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("cache-control")).toBe("no-store")
  }
})

test("your own check decides after the role, and gets the route and its parameters", async () => {
  const seen: unknown[] = []
  const { ask, key } = served({
    authorize: ({ id }, access) => {
      seen.push(access)
      return id.startsWith("key:") && access.params.run !== "secret"
    },
  })
  const viewer = await key({ role: "viewer" })
  expect((await ask("GET", "/v1/runs/secret", { key: viewer })).status).toBe(403)
  expect((await ask("GET", "/v1/runs/other", { key: viewer })).status).toBe(404)
  expect((await ask("POST", START, { key: viewer, body: { input: "x" } })).status).toBe(403)
  expect(seen).toEqual([
    { method: "GET", route: "/v1/runs/:run", params: { run: "secret" } },
    { method: "GET", route: "/v1/runs/:run", params: { run: "other" } },
  ])
})

test("entries of the audit log are deleted by age", async () => {
  const { ask, key, store } = served({ audit: { days: 30 } })
  const admin = await key({})
  const now = Date.now()
  const at = async (days: number) => {
    vi.useFakeTimers({ toFake: ["Date"], now: now - days * 86_400_000 })
    await ask("POST", "/v1/runs/none/cancel", { key: admin, body: {} }).finally(() => vi.useRealTimers())
    const entries = (await store.records.list("audit")).map(({ value }) => (value as { at: number }).at)
    return entries.map((one) => Math.round((now - one) / 86_400_000))
  }
  expect(await at(31)).toEqual([31])
  expect(await at(29)).toEqual([29, 31])
  expect(await at(0)).toEqual([0, 29])
})

test("the audit log has every change by whom and when, for its tenant only", async () => {
  const { ask, key, store } = served()
  const [ada, bob, admin] = [await key({ tenant: "a" }), await key({ tenant: "b" }), await key({})]
  await ask("POST", START, { key: ada, body: { input: "secret input" } })
  await ask("POST", "/v1/runs/none/cancel?token=canary", { key: bob, body: { reason: "secret reason" } })
  await ask("GET", "/v1/runs", { key: ada })
  const entriesOf = async (by: string, query = "") => {
    const response = await ask("GET", `/v1/audit${query}`, { key: by })
    return (await response.json()) as { entries: { route: string; status: number }[]; next?: string }
  }
  expect((await entriesOf(ada)).entries).toEqual([
    {
      at: expect.any(Number),
      who: expect.stringMatching(/^key:[0-9a-f]{16}$/),
      tenant: "a",
      method: "POST",
      route: "/v1/workflows/:workflow/runs",
      params: { workflow: "greet" },
      status: 200,
    },
  ])
  expect((await entriesOf(bob)).entries).toMatchObject([{ params: { run: "none" }, status: 404 }])
  const first = await entriesOf(admin, "?limit=1")
  expect(first.entries).toHaveLength(1)
  const rest = await entriesOf(admin, `?limit=1&cursor=${first.next}`)
  expect([...first.entries, ...rest.entries].map(({ status }) => status).sort()).toEqual([200, 404])
  expect(rest.next).toBeUndefined()
  expect(JSON.stringify(await store.records.list("audit"))).not.toMatch(/secret|canary/)
  for (const refused of [await key({ role: "author" }), await key({ workflows: ["greet"] })])
    expect((await ask("GET", "/v1/audit", { key: refused })).status).toBe(403)
})

test("no error path shows or reports a key, a header or what a handler knew", async () => {
  const CANARY = "canary-5f2d"
  const reported: unknown[] = []
  const { ask, key, store, server, runtime } = served({ onProblem: (error) => reported.push(error) })
  const secret = await key({})
  const texts: string[] = []
  const keep = async (response: Response) => {
    texts.push(await response.text(), JSON.stringify([...response.headers]))
    return response.status
  }
  const withCanary = { key: secret, headers: { "x-api-key": CANARY, cookie: CANARY } }
  expect(await keep(await ask("GET", "/v1/runs", { key: `ss_${CANARY}` }))).toBe(401)
  expect(await keep(await ask("GET", "/v1/none", withCanary))).toBe(404)
  expect(await keep(await ask("GET", "/v1/runs?status=x", withCanary))).toBe(422)
  expect(await keep(await ask("POST", START, { ...withCanary, body: { wrong: 1 } }))).toBe(422)
  const broken = new Request(`http://local${START}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: `{"input": "${CANARY}`,
  })
  expect(await keep(await server.fetch(broken))).toBe(400)
  expect(
    await keep(await ask("POST", START, { ...withCanary, body: { input: "x".repeat(1_100_000) } })),
  ).toBe(413)
  const original = store.runs
  Object.assign(store, {
    runs: () => {
      throw new Error(`password=${CANARY}`)
    },
  })
  expect(await keep(await ask("GET", "/v1/runs", withCanary))).toBe(500)
  Object.assign(store, { runs: original })
  await runtime.close()
  expect(await keep(await ask("POST", START, { ...withCanary, body: { input: "x" } }))).toBe(503)
  for (const text of texts) {
    expect(text).not.toContain(CANARY)
    expect(text).not.toContain(secret)
  }
  // The operator's log has the error itself, and nothing of the request.
  expect(reported.map(String)).toEqual([`Error: password=${CANARY}`])
})

test("responses of every kind have all protective headers: results, streams, refusals, errors", async () => {
  const always = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy":
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  }
  const { ask, key, store } = served({ cors: [ORIGIN], onProblem: () => undefined })
  const secret = await key({ rateLimit: { requests: 8, seconds: 600 } })
  const of = async (status: number, method: string, path: string, more: Parameters<typeof ask>[2] = {}) => {
    const response = await ask(method, path, { key: secret, ...more })
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      status,
      expect.objectContaining({ ...always, "cache-control": expect.stringMatching(/^no-(?:store|cache)/) }),
    ])
    await response.text()
    return response.headers
  }
  const body = { input: "Ada" }
  const started = await of(200, "POST", START, { body, headers: { origin: ORIGIN } })
  expect(started.get("content-type")).toBe("application/json")
  expect(started.get("location")).toMatch(/^\/v1\/runs\//)
  expect(started.get("access-control-allow-origin")).toBe(ORIGIN)
  expect(started.get("ratelimit")).toContain("r=7")
  await of(202, "POST", START, { body, headers: { prefer: "respond-async" } })
  const streamed = await of(200, "POST", START, { body, headers: { accept: "text/event-stream" } })
  expect(streamed.get("location")).toMatch(/^\/v1\/runs\//)
  await of(404, "POST", "/v1/workflows/none/runs", { body })
  await of(422, "POST", "/v1/chat/completions", { body })
  Object.assign(store, { runs: () => Promise.reject(new Error("away")) })
  await of(500, "GET", "/v1/runs")
  await of(200, "HEAD", "/v1/workflows")
  await of(200, "GET", "/v1/workflows")
  await of(429, "GET", "/v1/workflows")
  await of(401, "GET", "/v1/runs", { key: "ss_none" })
  await of(413, "POST", START, { body: { input: "x".repeat(1_100_000) } })
  await of(204, "OPTIONS", START, {
    headers: { origin: ORIGIN, "access-control-request-method": "POST" },
  })
})
