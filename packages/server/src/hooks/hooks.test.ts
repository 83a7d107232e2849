/** Hooks: what others send starts a run once, if it is signed, and nothing otherwise. */
import { createHmac } from "node:crypto"
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { Webhook as Signer } from "standardwebhooks"
import { expect, onTestFinished, test } from "vitest"
import { createServer } from "../server.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const order = workflow("order")
  .start(node("order", async (_: string, ctx) => await ctx.waitFor<unknown>("paid")))
  .build()

const SECRET = "a secret of the sender"
const hmac = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex")

function serve() {
  const runtime = new Runtime({ store: memoryStore(), workflows: [greet, order] })
  onTestFinished(() => runtime.close())
  const server = createServer({
    runtime,
    workflows: [greet, order] as never,
    publicUrl: "https://api.example/",
  })
  onTestFinished(() => server.drain())
  const ask = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const sent = body === undefined ? {} : { body }
    const response = await server.fetch(new Request(`http://local${path}`, { method, headers, ...sent }))
    // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
    return { status: response.status, data: (await response.json().catch(() => undefined)) as any }
  }
  return {
    runtime,
    ask,
    create: async (options: object) => {
      const all = { name: "test", workflow: "greet", input: "$body.name", ...options }
      const created = await ask("POST", "/v1/hooks", JSON.stringify(all), {
        "content-type": "application/json",
      })
      expect(created.status).toBe(201)
      return created.data as { id: string; url: string; secret: string }
    },
    /** The inputs of all runs, oldest first. */
    async inputs() {
      const runs = [...(await runtime.runs())].reverse()
      return await Promise.all(
        runs.map(async ({ runId }) => {
          const [first] = await runtime.store.read(runId, 0, 1)
          return first?.entry.type === "run.started" ? first.entry.input : undefined
        }),
      )
    },
  }
}

const now = () => Math.floor(Date.now() / 1_000)
const BODY = '{"name":"Ada","id":"evt_1","event_id":"Ev1"}'

/** Signatures of each sender, and what repeats a delivery. */
const SENDERS: Readonly<Record<string, (body: string, time: number) => Record<string, string>>> = {
  github: (body) => ({ "x-hub-signature-256": `sha256=${hmac(body)}`, "x-github-delivery": "d1" }),
  stripe: (body, time) => ({
    "stripe-signature": `t=${time},v1=${"0".repeat(64)},v1=${hmac(`${time}.${body}`)}`,
  }),
  slack: (body, time) => ({
    "x-slack-request-timestamp": `${time}`,
    "x-slack-signature": `v0=${hmac(`v0:${time}:${body}`)}`,
  }),
}

test.each(Object.entries(SENDERS))(
  "a delivery of %s starts one run, however often it is sent",
  async (type, sign) => {
    const { ask, create, inputs } = serve()
    const { id } = await create({ verify: { type, secret: SECRET } })
    for (let i = 0; i < 3; i++) {
      const sent = await ask("POST", `/hooks/${id}`, BODY, sign(BODY, now()))
      expect(sent).toEqual({ status: 202, data: { accepted: true } })
    }
    expect(await inputs()).toEqual(["Ada"])
  },
)

test("a Standard Webhook is verified by the rules of its reference implementation, and starts one run for its id", async () => {
  const { ask, create, inputs } = serve()
  const { id, secret, url } = await create({ verify: { type: "standard" } })
  expect(url).toBe(`https://api.example/hooks/${id}`)
  const signer = new Signer(secret)
  for (const message of ["msg_1", "msg_1", "msg_2"]) {
    const time = new Date()
    const headers = {
      "webhook-id": message,
      "webhook-timestamp": `${Math.floor(time.getTime() / 1_000)}`,
      "webhook-signature": `v1,AAAA ${signer.sign(message, time, BODY)}`,
    }
    expect((await ask("POST", `/hooks/${id}`, BODY, headers)).status).toBe(202)
  }
  expect(await inputs()).toEqual(["Ada", "Ada"])
})

test("what is not genuine gets the same answer as an address that does not exist, and starts nothing", async () => {
  const { ask, create, inputs } = serve()
  const refusals = new Set<string>()
  const refuse = async (path: string, body: string, headers: Record<string, string>) => {
    const { status, data } = await ask("POST", path, body, headers)
    expect(status).toBe(401)
    refusals.add(JSON.stringify(data))
  }
  await refuse("/hooks/0000000000000000", BODY, {})
  for (const [type, sign] of Object.entries(SENDERS)) {
    const { id } = await create({ verify: { type, secret: SECRET } })
    await refuse(`/hooks/${id}`, BODY, {})
    await refuse(`/hooks/${id}`, `${BODY} `, sign(BODY, now()))
    if (type !== "github") await refuse(`/hooks/${id}`, BODY, sign(BODY, now() - 301))
  }
  const header = await create({ verify: { type: "header", name: "x-token", secret: SECRET } })
  await refuse(`/hooks/${header.id}`, BODY, { "x-token": `${SECRET}!` })
  const standard = await create({ verify: { type: "standard" }, enabled: false })
  const time = new Date()
  await refuse(`/hooks/${standard.id}`, BODY, {
    "webhook-id": "m",
    "webhook-timestamp": `${Math.floor(time.getTime() / 1_000)}`,
    "webhook-signature": new Signer(standard.secret).sign("m", time, BODY),
  })
  expect(refusals.size).toBe(1)
  expect(await inputs()).toEqual([])
})

test("expressions map body, headers and query to the input, choose the key, and ignore events", async () => {
  const { ask, create, inputs } = serve()
  const { id } = await create({
    verify: { type: "header", name: "X-Token", secret: SECRET },
    input: '$body.user.name + " " + $headers["x-kind"] + " " + $query.shop',
    idempotencyKey: "$body.id",
    ignore: '$body.action == "ping"',
  })
  const send = async (body: object) =>
    (await ask("POST", `/hooks/${id}?shop=7`, JSON.stringify(body), { "x-token": SECRET, "x-kind": "new" }))
      .status
  const user = { name: "Ada" }
  expect(await send({ user, id: 1, action: "ping" })).toBe(202)
  expect(await send({ user, id: 1 })).toBe(202)
  expect(await send({ user: { name: "Bob" }, id: 1 })).toBe(202)
  expect(await send({ user, id: 2 })).toBe(202)
  expect(await inputs()).toEqual(["Ada new 7", "Ada new 7"])
})

test("a genuine request that cannot be used is refused without a reason, which the author of the hook sees", async () => {
  const { ask, create } = serve()
  const { id } = await create({ verify: { type: "header", name: "x-token", secret: SECRET } })
  const headers = { "x-token": SECRET, "content-type": "application/json" }
  for (const [body, why] of [
    ["not json", "not JSON"],
    ['{"other":1}', "is missing"],
  ] as const) {
    const refused = await ask("POST", `/hooks/${id}`, body, headers)
    expect(refused).toMatchObject({ status: 422, data: { code: "HOOK_UNUSABLE" } })
    expect(JSON.stringify(refused.data)).not.toContain(why)
    expect((await ask("GET", `/v1/hooks/${id}`)).data.failure.message).toContain(why)
  }
})

test("a hook can signal a run by its key, once for each delivery, and runs of its workflow only", async () => {
  const { ask, create, runtime } = serve()
  const run = runtime.start(order, "lamp", { key: "order-7" })
  await run
  const signal = { name: "paid", key: "$body.order" }
  const verify = { type: "github", secret: SECRET }
  const { id } = await create({ workflow: "order", verify, input: "$body", signal })
  const other = await create({ workflow: "greet", verify, input: "$body", signal })
  const body = '{"order":"order-7","usd":40}'
  const headers = SENDERS.github?.(body, 0) as Record<string, string>
  expect((await ask("POST", `/hooks/${other.id}`, body, headers)).status).toBe(422)
  expect((await ask("POST", `/hooks/${id}`, body, headers)).status).toBe(202)
  expect((await ask("POST", `/hooks/${id}`, body, headers)).status).toBe(202)
  expect((await run).outputs).toEqual([{ order: "order-7", usd: 40 }])
})

test("Slack's question whether the address is ours is answered, and its forms are read", async () => {
  const { ask, create, inputs } = serve()
  const { id } = await create({ verify: { type: "slack", secret: SECRET }, input: "$body.payload.name" })
  const sign = SENDERS.slack as (body: string, time: number) => Record<string, string>
  const question = '{"type":"url_verification","challenge":"c1"}'
  const answer = await ask("POST", `/hooks/${id}`, question, sign(question, now()))
  expect(answer).toEqual({ status: 200, data: { challenge: "c1" } })
  const form = `payload=${encodeURIComponent('{"name":"Ada"}')}`
  const headers = { ...sign(form, now()), "content-type": "application/x-www-form-urlencoded" }
  expect((await ask("POST", `/hooks/${id}`, form, headers)).status).toBe(202)
  expect(await inputs()).toEqual(["Ada"])
})

test("an expression that is none, or names something else, is refused when the hook is created or changed", async () => {
  const { ask, create } = serve()
  const json = { "content-type": "application/json" }
  const verify = { type: "github", secret: SECRET }
  for (const bad of [{ input: "$body." }, { input: "$env.HOME" }, { input: "$body", ignore: "1 +" }]) {
    const body = JSON.stringify({ name: "x", workflow: "greet", verify, ...bad })
    expect((await ask("POST", "/v1/hooks", body, json)).status).toBe(422)
  }
  const { id } = await create({ verify })
  expect((await ask("PATCH", `/v1/hooks/${id}`, '{"input":"$nothing"}', json)).status).toBe(422)
  const changed = await ask("PATCH", `/v1/hooks/${id}`, '{"input":"$body.id"}', json)
  expect(changed).toMatchObject({ status: 200, data: { input: "$body.id", verify: { type: "github" } } })
  expect(JSON.stringify(changed.data)).not.toContain(SECRET)
  expect((await ask("DELETE", `/v1/hooks/${id}`)).status).toBe(204)
  expect((await ask("POST", `/hooks/${id}`, BODY, SENDERS.github?.(BODY, 0))).status).toBe(401)
})
