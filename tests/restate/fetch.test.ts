/** A worker behind HTTP/1.1, as platforms that call a function have it: Restate gets one response for each request. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { node, workflow } from "@superstep/engine"
import type { RestateEndpoint } from "@superstep/restate"
import { expect, onTestFinished, test } from "vitest"
import { application } from "./workers.test-support.ts"

/** Serves the fetch handler, and returns its address and the versions of HTTP that it was called with. */
async function served(endpoint: RestateEndpoint) {
  const versions = new Set<string>()
  const server = createServer(async (request, response) => {
    versions.add(request.httpVersion)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = "GET", url = "/", headers } = request
    const body = method === "GET" ? {} : { body: Buffer.concat(chunks) }
    const init = { method, headers: headers as Record<string, string>, ...body }
    const answer = await endpoint.fetch(new Request(`http://worker${url}`, init))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, versions }
}

test("the fetch handler executes whole runs: questions, timers, spread tasks and retries", async () => {
  const list = node("list", async (n: number, ctx) => {
    const by = await ctx.ask<string>("Who?")
    await ctx.sleep(1_200)
    return Array.from({ length: n }, (_, i) => `${by} ${i}`)
  })
  const shout = node({
    id: "shout",
    placement: "spread",
    retry: { attempts: 2, delay: 1 },
    run: async (text: string, ctx) => {
      const loud = await ctx.step("shout", () => text.toUpperCase())
      if (ctx.attempt === 1) throw new Error("once")
      return loud
    },
  })
  const all = node("all", (texts: readonly string[]) => texts.join())
  const flow = workflow("fetched").start(list).map(list, shout, all).build()
  const app = application([flow])
  const { versions } = await app.fetched([flow], served)
  const runId = await app.runtime.enqueue(flow, 3)
  await expect.poll(async () => (await app.store.run(runId))?.status).toBe("waiting")
  const [request] = await app.runtime.requests({ runId })
  expect(await app.runtime.respond(runId, request?.id as string, "Ada")).toBe("taken")
  expect((await app.runtime.get(runId)).outputs).toEqual(["ADA 0,ADA 1,ADA 2"])
  expect([...versions]).toEqual(["1.1"])
  expect(app.problems).toEqual([])
})
