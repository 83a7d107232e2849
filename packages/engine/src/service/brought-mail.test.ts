/** Mail that a dispatcher brings to a worker, and what its sender sees. */
import { expect, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { type BroughtMail, type Dispatcher, type Mail, Runtime } from "../index.ts"
import { memoryStore } from "../stores/index.ts"

const asks = workflow("asks")
  .chain(node("asks", async (_: number, ctx) => await ctx.ask<string>("Go?")))
  .build()

/** A worker, and a runtime that executes nothing, which reach each other by function calls. */
function application(change: (base: Dispatcher, worker: () => Runtime) => Partial<Dispatcher> = () => ({})) {
  const store = memoryStore()
  const brought: BroughtMail[] = []
  const base: Dispatcher = {
    activate: async (runId, at) => {
      if (at === undefined) await worker.worker.activate(runId)
    },
    execute: async (runId) => {
      await worker.worker.activate(runId)
    },
    deliver: async (mail) => {
      brought.push(mail)
      return await worker.worker.deliver(mail)
    },
  }
  const dispatcher = { ...base, ...change(base, () => worker) }
  const worker: Runtime = new Runtime({ store, workflows: [asks], dispatcher })
  const runtime = new Runtime({ store, workflows: [asks], dispatcher, recover: false })
  const close = () => Promise.all([worker.close(), runtime.close()])
  return { store, runtime, worker, brought, close }
}

async function asked({ runtime }: ReturnType<typeof application>, runId: string): Promise<string> {
  const { requests } = await runtime.start(asks, 1, { runId })
  return requests[0]?.id as string
}

test("an answer is brought to a worker, which continues the run; nothing is posted", async () => {
  const app = application()
  const request = await asked(app, "r")
  let posted = 0
  const { post } = app.store
  app.store.post = (mail) => {
    posted++
    return post(mail)
  }
  expect(await app.runtime.respond("r", request, "yes")).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  expect([app.brought.length, posted]).toEqual([1, 0])
  await app.close()
})

test("the same mail again has the same outcome, also when the run is over; another answer is refused", async () => {
  const app = application()
  const request = await asked(app, "r")
  await app.runtime.respond("r", request, "yes")
  await app.runtime.get("r")
  const [mail] = app.brought as [Mail]
  expect(await app.worker.worker.deliver(mail)).toEqual({ ok: true })
  expect(await app.worker.worker.deliver({ ...mail, id: "another" })).toMatchObject({
    ok: false,
    code: "RUN_OVER",
  })
  await expect(app.runtime.respond("r", request, "no")).rejects.toMatchObject({ code: "RUN_OVER" })
  const answers = (await app.store.read("r", 0)).filter(({ entry }) => entry.type === "request.answered")
  expect(answers).toHaveLength(1)
  await app.close()
})

test("an answer whose reply is lost goes through the store, and is taken once", async () => {
  const app = application((_, worker) => ({
    deliver: async (mail) => {
      await worker().worker.deliver(mail)
      return undefined
    },
  }))
  const request = await asked(app, "r")
  expect(await app.runtime.respond("r", request, "yes")).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  await app.close()
})

test("the reply that comes straight from the worker counts before the dispatcher's", async () => {
  const app = application((_, worker) => ({
    deliver: async (mail) => {
      await worker().worker.deliver(mail)
      return await new Promise<never>(() => undefined)
    },
  }))
  const request = await asked(app, "r")
  expect(await app.runtime.respond("r", request, "yes")).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  await expect(app.runtime.respond("r", request, "no")).rejects.toMatchObject({ code: "RUN_OVER" })
  await app.close()
})

test("a direct reply that is lost, or forged, changes nothing", async () => {
  const app = application((base) => ({
    deliver: async (mail) => {
      const { replyTo = "" } = mail
      const send = app.store.live?.send
      for (const message of [null, "yes", {}, { mail: mail.id }, { mail: mail.id, reply: { ok: "no" } }])
        send?.(replyTo, message)
      send?.(replyTo, { mail: "another", reply: { ok: false, code: "RUN_OVER", message: "" } })
      return await base.deliver?.({ ...mail, replyTo: undefined })
    },
  }))
  const request = await asked(app, "r")
  expect(await app.runtime.respond("r", request, "yes")).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  await app.close()
})

test("a large reply comes through the dispatcher alone", async () => {
  const app = application()
  const { live } = app.store
  const sent: string[] = []
  if (live !== undefined) live.send = (address) => void sent.push(address)
  for (const [runId, answer] of [
    ["small", "yes"],
    ["large", "x".repeat(10_000)],
  ] as const) {
    await app.runtime.respond(runId, await asked(app, runId), answer)
    expect((await app.runtime.get(runId)).outputs).toEqual([answer])
  }
  expect(sent).toEqual([app.brought[0]?.replyTo])
  await app.close()
})

test("an answer that no worker takes is stored, and delivered with the next activation", async () => {
  let isAway = false
  const app = application((base) => ({
    activate: async (runId, at) => (isAway ? undefined : await base.activate(runId, at)),
    execute: async (runId) => (isAway ? undefined : await base.execute?.(runId)),
    deliver: async (mail) => (isAway ? undefined : await base.deliver?.(mail)),
  }))
  const request = await asked(app, "r")
  isAway = true
  const sent = app.runtime.respond("r", request, "yes")
  await expect.poll(async () => (await app.store.mailAmount("r")).count, { timeout: 30_000 }).toBe(1)
  isAway = false
  await app.worker.worker.activate("r")
  expect(await sent).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  await app.close()
})

test("a run that its dead worker left as executing, and that only waits, is loaded once and takes its answer", async () => {
  const app = application()
  const request = await asked(app, "r")
  // As a worker leaves it that died between a record and the next one: it was not at rest.
  const row = await app.store.run("r")
  const lease = await app.store.claim("r" as never, row?.token as number, "dead")
  if (lease === undefined) throw new Error("The run is held.")
  await app.store.setIdle(lease, false)
  await app.store.release(lease, 0)
  expect(await app.store.run("r")).toMatchObject({ executing: true })

  await app.worker.worker.activate("r" as never)
  const rested = await app.store.run("r")
  expect(rested).toMatchObject({ executing: false })
  expect(rested?.wakeAt).toBeUndefined()
  await app.worker.worker.activate("r" as never)
  expect((await app.store.run("r"))?.token).toBe(rested?.token)
  expect(await app.runtime.respond("r", request, "yes")).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  await app.close()
})

const twice = workflow("twice")
  .chain(
    node("twice", async (_: number, ctx) => {
      const first = await ctx.ask<string>("First?")
      return `${first}, ${await ctx.ask<string>("Second?")}`
    }),
  )
  .build()

/** Workers of one application. A run starts at the first of them; mail goes to the one that `next` names. */
function fleet(size: number) {
  const store = memoryStore()
  const next = { worker: 0 }
  const at = (place: number) => workers[place] as Runtime
  const dispatcher: Dispatcher = {
    activate: async (runId) => void (await at(next.worker).worker.activate(runId)),
    execute: async (runId) => void (await at(next.worker).worker.activate(runId)),
    deliver: async (mail) => await at(next.worker).worker.deliver(mail),
  }
  const workers = Array.from({ length: size }, () => new Runtime({ store, workflows: [twice], dispatcher }))
  const runtime = new Runtime({ store, workflows: [twice], dispatcher, recover: false })
  const close = () => Promise.all([runtime, ...workers].map((one) => one.close()))
  return { store, runtime, workers, next, close }
}

const holderOf = async (store: ReturnType<typeof memoryStore>, runId: string) =>
  (await store.run(runId))?.holder

test("a run that waits stays with its worker, and an answer there changes no hands", async () => {
  const { store, runtime, close } = fleet(1)
  const { requests } = await runtime.start(twice, 1, { runId: "r" })
  const before = await store.run("r")
  expect(before).toMatchObject({ status: "waiting", executing: false })
  expect(before?.holder).toBeDefined()
  expect(await runtime.respond("r", requests[0]?.id as string, "a")).toBe("taken")
  await expect.poll(async () => (await store.run("r"))?.status).toBe("waiting")
  expect(await store.run("r")).toMatchObject({ token: before?.token, holder: before?.holder })
  await close()
})

test("an answer that reaches another worker takes the run there, and the next one takes it back", async () => {
  const { store, runtime, next, close } = fleet(2)
  const { requests } = await runtime.start(twice, 1, { runId: "r" })
  const first = await holderOf(store, "r")
  next.worker = 1
  expect(await runtime.respond("r", requests[0]?.id as string, "a")).toBe("taken")
  const second = await holderOf(store, "r")
  expect(second).not.toBe(first)
  await expect.poll(async () => (await runtime.requests({ runId: "r" })).length).toBe(1)
  // The first worker still has the run in memory as it was: the store refuses what it writes.
  next.worker = 0
  const [asked] = await runtime.requests({ runId: "r" })
  expect(await runtime.respond("r", asked?.id as string, "b")).toBe("taken")
  expect((await runtime.get("r")).outputs).toEqual(["a, b"])
  const answers = (await store.read("r", 0)).filter(({ entry }) => entry.type === "request.answered")
  expect(answers).toHaveLength(2)
  await close()
})

test("an activation of a run that another worker took meanwhile is not lost on the worker that had it", async () => {
  const { store, runtime, workers, next, close } = fleet(2)
  const { requests } = await runtime.start(twice, 1, { runId: "r" })
  next.worker = 1
  await runtime.respond("r", requests[0]?.id as string, "a")
  await expect.poll(async () => (await runtime.requests({ runId: "r" })).length).toBe(1)
  const [asked] = await runtime.requests({ runId: "r" })
  const command = { type: "answer", request: asked?.id as string, value: "b" } as const
  await store.post({ id: "mail", runId: "r" as never, at: 0, command })
  await workers[0]?.worker.activate("r" as never)
  expect(await store.run("r")).toMatchObject({ status: "completed" })
  await close()
})

test("the end that comes with a reply is the result once; then the store is read", async () => {
  const app = application((base) => ({
    deliver: async (mail) => {
      const reply = await base.deliver?.({ ...mail, replyTo: undefined })
      if (!reply?.ok || reply.ended === undefined) throw new Error("The reply has no end.")
      expect(await app.store.run("r")).toMatchObject({ status: "completed" })
      return { ...reply, ended: { ...reply.ended, outputs: ["brought"] } }
    },
  }))
  const request = await asked(app, "r")
  expect(await app.runtime.respond("r", request, "yes")).toBe("taken")
  expect((await app.runtime.get("r")).outputs).toEqual(["brought"])
  expect((await app.runtime.get("r")).outputs).toEqual(["yes"])
  await app.close()
})

const naps = workflow("naps")
  .chain(
    node("naps", async (_: number, ctx) => {
      const answer = await ctx.ask<string>("Go?")
      await ctx.sleep(3_600_000)
      return answer
    }),
  )
  .build()

test("a run that sleeps after an answer, and has left its worker at once, is sent for when its timer fires", async () => {
  const store = memoryStore()
  const timers: number[] = []
  const dispatcher: Dispatcher = {
    activate: async (runId, at) => {
      if (at === undefined) await worker.worker.activate(runId)
      else timers.push(at)
    },
    execute: async (runId) => void (await worker.worker.activate(runId)),
    deliver: async (mail) => await worker.worker.deliver(mail),
  }
  const worker: Runtime = new Runtime({ store, workflows: [naps], dispatcher })
  const runtime = new Runtime({ store, workflows: [naps], dispatcher, recover: false })
  const { requests } = await runtime.start(naps, 1, { runId: "r" })
  await runtime.respond("r", requests[0]?.id as string, "yes")
  await expect.poll(() => timers.length).toBe(1)
  const row = await store.run("r")
  expect(row?.wakeAt).toBeDefined()
  expect(timers).toEqual([row?.wakeAt])
  await Promise.all([worker.close(), runtime.close()])
})

test("an activation that finds mail for a run which its worker takes first stays with the run until that rests", async () => {
  const store = memoryStore()
  const at = (place: number) => workers[place] as Runtime
  const dispatcher: Dispatcher = {
    activate: async () => undefined,
    execute: async (runId) => void (await at(0).worker.activate(runId)),
  }
  const workers = [0, 1].map(() => new Runtime({ store, workflows: [naps], dispatcher }))
  const runtime = new Runtime({ store, workflows: [naps], dispatcher, recover: false })
  const { requests } = await runtime.start(naps, 1, { runId: "r" })
  const { claim } = store
  let isFirst = true
  store.claim = async (runId, token, holder, restsAt) => {
    if (restsAt !== undefined && isFirst) {
      isFirst = false
      await expect.poll(async () => (await store.mailAmount("r")).count, { timeout: 10_000 }).toBe(0)
    }
    return await claim(runId, token, holder, restsAt)
  }
  const command = { type: "answer", request: requests[0]?.id as string, value: "yes" } as const
  await store.post({ id: "mail", runId: "r" as never, at: 0, command })
  const { wakeAt } = await at(1).worker.activate("r" as never)
  expect(isFirst).toBe(false)
  expect(wakeAt).toBeDefined()
  expect(wakeAt).toBe((await store.run("r"))?.wakeAt)
  await Promise.all([runtime, ...workers].map((one) => one.close()))
})
