/** A process dies at any call of its store while it handles a webhook: the event arrives, under one id. */
import { createServer as createHttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type Clock, memoryStore, node, Runtime, type Store, workflow } from "@superstep/engine"
import { manualClock } from "@superstep/engine/testing"
import { expect, onTestFinished, test } from "vitest"
import { createServer } from "../server.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()

interface Death {
  readonly call: number
  /** Whether the store carries the call out. */
  readonly isMade: boolean
}

/** Nothing of it happens once it is dead: no timer fires, no call of the store returns. */
class Mortal {
  isDead = false
  calls = 0
  readonly clock = manualClock(1_000_000)
  readonly runtime: Runtime
  readonly server: ReturnType<typeof createServer>

  constructor(store: Store, machine: string, death?: Death) {
    const own: Clock = {
      now: () => this.clock.now(),
      monotonic: () => this.clock.monotonic?.() ?? this.clock.now(),
      setTimer: (at, callback) => this.clock.setTimer(at, () => (this.isDead ? undefined : callback())),
    }
    const never = new Promise<never>(() => undefined)
    const parts = ["queue", "records", "subscriptions"]
    const guarded = <T extends object>(part: T): T =>
      new Proxy(part, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown
          if (parts.includes(String(name))) return guarded(value as object)
          if (typeof value !== "function") return value
          return (...args: unknown[]) => {
            if (this.isDead) return never
            this.calls++
            if (this.calls !== death?.call) return Reflect.apply(value, target, args)
            this.isDead = true
            if (death.isMade) Reflect.apply(value, target, args)
            return never
          }
        },
      })
    this.runtime = new Runtime({ store: guarded(store), workflows: [greet], clock: own, machine })
    this.server = createServer({
      runtime: this.runtime,
      workflows: [greet] as never,
      webhooks: { allow: ["127.0.0.1"] },
    })
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

test("an event is delivered, with one id, whatever call a process dies in", async () => {
  let ids: string[] = []
  const http = createHttpServer((request, response) => {
    ids.push(String(request.headers["webhook-id"]))
    request.resume().on("end", () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void http.close())
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`

  /** One process handles an event, and may die; another one continues. Returns the calls of the first. */
  async function story(death?: Death): Promise<number> {
    ids = []
    const store = memoryStore()
    const setUp = new Mortal(store, "set-up")
    const created = await setUp.server.fetch(
      new Request("http://local/v1/webhooks", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ url, events: ["run.ended"] }),
      }),
    )
    expect(created.status).toBe(201)
    await setUp.runtime.close()
    // A process without a server ends a run: its event is in the store.
    const worker = new Runtime({
      store,
      workflows: [greet],
      clock: manualClock(1_000_000),
      machine: "worker",
    })
    await worker.start(greet, "Ada")
    await worker.close()
    const first = new Mortal(store, "one", death)
    first.runtime.recover().catch(() => undefined)
    const isOver = () => first.isDead || (death === undefined && ids.length > 0)
    for (let i = 0; i < 300 && !isOver(); i++) {
      await first.clock.advance(100)
      await nextTurn()
    }
    const { calls } = first
    if (death === undefined) {
      first.server.drain()
      await first.runtime.close()
      return calls
    }
    const second = new Mortal(store, "two")
    await second.runtime.recover()
    const isDelivered = async () =>
      (await store.runs({ workflow: "superstep.webhook", status: ["completed"] })).length > 0
    // Without a limit of its own: how many turns a connection takes depends on the machine.
    while (!(await isDelivered())) {
      await second.clock.advance(500)
      await nextTurn()
    }
    expect({ death, ids: new Set(ids).size }).toEqual({ death, ids: 1 })
    expect(await store.runs({ workflow: "superstep.webhook" })).toHaveLength(1)
    second.server.drain()
    await second.runtime.close()
    return calls
  }

  const calls = await story()
  expect(calls).toBeGreaterThan(10)
  for (let call = 1; call <= calls; call++) {
    for (const isMade of [false, true]) await story({ call, isMade })
  }
}, 180_000)
