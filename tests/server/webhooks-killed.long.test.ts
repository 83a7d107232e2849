/** Servers that are killed in the middle of a webhook: its event arrives all the same, under the same id. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../bundled.ts"
import { Process } from "../crash/processes.ts"
import type { WebhookAnswer, WebhookJob } from "./webhook-server.ts"

/** Holds the response to each request until the test answers it. */
async function receiver() {
  const arrived: { readonly id: string; readonly body: string; readonly response: ServerResponse }[] = []
  let notify = () => {}
  const http = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      arrived.push({ id: String(request.headers["webhook-id"]), body, response })
      notify()
    })
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    arrived,
    async until(count: number) {
      while (arrived.length < count) {
        await new Promise<void>((resolve) => {
          notify = resolve
        })
      }
    },
  }
}

test("kill -9 before the delivery is created, and again before its outcome is recorded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-webhooks-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const program = await bundled(join(import.meta.dirname, "webhook-server.ts"))
  const { url, arrived, until } = await receiver()
  const begin = async (more: Omit<WebhookJob, "path"> = {}) => {
    const child = new Process<WebhookAnswer>(program, { path: join(folder, "runs.db"), ...more })
    onTestFinished(() => child.signal("SIGKILL"))
    await child.waitFor(({ path }) => path === "ready")
    return child
  }
  let asked = 0
  const ask = async (child: Process<WebhookAnswer>, method: string, path: string, body?: object) => {
    // A fragment is no part of the request: it says which request an answer is for.
    const to = `${path}#${++asked}`
    child.send([method, to, ...(body === undefined ? [] : [JSON.stringify(body)])].join(" "))
    return (await child.waitFor((answer) => answer.path === to)).data
  }

  const first = await begin({ diesOfEvent: true })
  const webhook = await ask(first, "POST", "/v1/webhooks", { url, events: ["run.ended"] })
  const start = { input: "Ada", runId: "r1" }
  first.send(`POST /v1/workflows/greet/runs ${JSON.stringify(start)}`)
  expect((await first.end()).signal).toBe("SIGKILL")
  expect(arrived).toEqual([])

  const second = await begin()
  await until(1)
  second.signal("SIGKILL")
  await second.end()

  const third = await begin()
  await until(2)
  expect(new Set(arrived.map(({ id }) => id)).size).toBe(1)
  expect(new Set(arrived.map(({ body }) => body)).size).toBe(1)
  expect(JSON.parse(arrived[0]?.body ?? "")).toMatchObject({ type: "run.ended", data: { run: "r1" } })
  arrived[1]?.response.writeHead(204).end()
  const path = `/v1/webhooks/${webhook.id}/deliveries`
  let status: unknown
  while (status !== "delivered") {
    const { deliveries } = (await ask(third, "GET", path)) as never as {
      deliveries: { status: string }[]
    }
    expect(deliveries).toHaveLength(1)
    status = deliveries[0]?.status
  }
}, 60_000)
