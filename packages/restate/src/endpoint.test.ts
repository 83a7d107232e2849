/** What a worker says about itself, and options that it refuses; tests/restate has it on a cluster. */
import { memoryStore, node, workflow } from "@superstep/engine"
import { expect, test } from "vitest"
import { RestateRuntime, registerWorker, restateEndpoint } from "./index.ts"

const flow = workflow("flow")
  .chain(node("flow", (n: number) => n))
  .build()
const options = { workflows: [flow], store: memoryStore(), restate: "http://127.0.0.1:1" }

test("a fetch handler describes the service to Restate", async () => {
  const endpoint = restateEndpoint({ ...options, service: "mine" })
  const headers = { accept: "application/vnd.restate.endpointmanifest.v4+json" }
  const response = await endpoint.fetch(new Request("http://worker/discover", { headers }))
  expect(response.status, response.ok ? "" : await response.text()).toBe(200)
  const { services } = (await response.json()) as {
    services: { name: string; handlers: { name: string }[] }[]
  }
  expect(services.map(({ name, handlers }) => [name, handlers.map((one) => one.name).sort()])).toEqual([
    ["mine", ["activate", "deliver", "perform", "start"]],
    // Runs of this version come here for as long as it is registered.
    [expect.stringMatching(/^mine\.[0-9a-f]+$/), ["activate", "deliver", "perform", "start"]],
  ])
  await endpoint.close()
})

test.each([
  [{ restate: [] }, "restate needs at least one address"],
  [{ restate: "localhost:8080" }, "restate must be an http address such as http://localhost:8080"],
  [{ service: "a b" }, "service must be a name"],
])("%j is refused", (wrong, message) => {
  expect(() => new RestateRuntime({ ...options, ...wrong })).toThrow(message)
})

test("a time that no run can keep is refused", () => {
  expect(() => restateEndpoint({ ...options, longestRun: 1 })).toThrow("longestRun must be milliseconds")
})

test("a cluster that does not answer is named, with the worker", async () => {
  const registering = registerWorker({ admin: "http://127.0.0.1:1", url: "http://worker:9080", patience: 0 })
  await expect(registering).rejects.toMatchObject({
    code: "RESTATE_REGISTRATION",
    message: expect.stringContaining("http://127.0.0.1:1 did not register the worker http://worker:9080"),
  })
})
