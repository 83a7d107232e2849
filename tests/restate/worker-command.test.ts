/** `superstep worker --restate`. */
import { randomUUID } from "node:crypto"
import { RestateRuntime } from "@superstep/restate"
import { node, workflow } from "superstep"
import { expect, inject, test } from "vitest"
import { superstep, testIo } from "../../packages/superstep/src/command/test-io.test-support.ts"
import { newAddress } from "../postgres/schemas.test-support.ts"
import { openStore } from "../stores.ts"

test("a worker registers itself with Restate, and executes what Restate brings", async () => {
  const { ingress, admin } = inject("restate")
  const address = newAddress()
  const service = `command-${randomUUID()}`
  const io = testIo({
    files: { "ask.yaml": 'name: ask\nworkflow: [{ id: who, type: human, prompt: "Who?" }]\n' },
  })
  const flags = [
    "--restate",
    ingress,
    "--restate-admin",
    admin,
    "--restate-service",
    service,
    "--listen",
    "0",
  ]
  const working = superstep(["worker", "ask.yaml", "--store", address.replace("#", "?schema="), ...flags], io)
  await io.seen(`Registered with Restate at ${admin} as http://localhost:`)
  await io.seen("Ready: ask on postgres://")
  const store = openStore(address)
  // It starts the run by its name alone: the worker has the definition.
  const { stdout } = await superstep(
    ["enqueue", "ask.yaml", "x", "--store", address.replace("#", "?schema=")],
    io,
  )
  const runId = stdout.trim()
  await expect.poll(async () => (await store.run(runId))?.status, { timeout: 10_000 }).toBe("waiting")
  const unrelated = workflow("unrelated")
    .chain(node("unrelated", (n: number) => n))
    .build()
  const runtime = new RestateRuntime({ store, workflows: [unrelated], restate: ingress, service })
  const [request] = await runtime.requests({ runId })
  expect(await runtime.respond(runId, request?.id as string, "Ada")).toBe("taken")
  await expect.poll(async () => (await store.run(runId))?.status, { timeout: 10_000 }).toBe("completed")
  await runtime.close()
  io.interrupt()
  expect((await working).code).toBe(0)
  await store.close()
})

test("addresses that are none are refused", async () => {
  const { code, stderr } = await superstep(["worker", "a.yaml", "--restate", "localhost"], testIo())
  expect(code).toBe(2)
  expect(stderr.replace(/\s+/g, " ")).toContain("Write an address such as http://localhost:8080.")
})
