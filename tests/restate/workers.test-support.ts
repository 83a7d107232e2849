/** Workers in this process, and a runtime that calls them, on the shared Restate and PostgreSQL servers. */
import { randomUUID } from "node:crypto"
import type { RuntimeOptions } from "@superstep/engine"
import {
  type RestateEndpoint,
  type RestateEndpointOptions,
  RestateRuntime,
  registerWorker,
  restateEndpoint,
} from "@superstep/restate"
import { postgresStore } from "@superstep/store-postgres"
import { afterAll, inject, onTestFinished } from "vitest"
import { problemsTo } from "../fleet/problems.ts"
import { balancer } from "./balancer.ts"

type Workflows = RuntimeOptions["workflows"]
type Store = ReturnType<typeof postgresStore>

export interface Application {
  readonly runtime: RestateRuntime
  readonly store: Store
  /** What workers and the runtime reported. */
  readonly problems: readonly string[]
  /** Another runtime that starts and answers runs, with other versions of workflows. */
  caller(workflows: Workflows): RestateRuntime
  /** Starts a worker, and has Restate send it all activations from now on. */
  worker(workflows: Workflows, options?: Partial<RestateEndpointOptions>): Promise<RestateEndpoint>
  /** Serves the fetch handler of a worker by HTTP/1.1, and has Restate send it all activations from now on. */
  fetched<T extends { readonly url: string }>(
    workflows: Workflows,
    serve: (endpoint: RestateEndpoint) => Promise<T>,
  ): Promise<T>
  /** Starts workers behind one address, which Restate sends all activations to from now on. */
  fleet(
    workflows: Workflows,
    count: number,
    optionsOf?: (worker: number) => Partial<RestateEndpointOptions>,
  ): Promise<RestateEndpoint[]>
}

/** An application of its own: nobody else has its service name and its schema. It ends with the test, or with the file. */
export function application(
  workflows: Workflows,
  lasts: "test" | "file" = "test",
  other: Partial<RestateEndpointOptions> = {},
): Application {
  const atEnd = lasts === "test" ? onTestFinished : afterAll
  const { ingress, admin } = inject("restate")
  const service = `app-${randomUUID()}`
  const schema = `restate_${randomUUID().replaceAll("-", "")}`
  const open = () => postgresStore({ url: inject("postgres"), schema, connections: 4 })
  const store = open()
  const problems: string[] = []
  const common = { restate: ingress, service, onProblem: problemsTo((line) => problems.push(line)) }
  const callers: RestateRuntime[] = []
  const caller = (own: Workflows) => {
    const made = new RestateRuntime({ ...common, store, workflows: own, ...other })
    callers.push(made)
    return made
  }
  const runtime = caller(workflows)
  atEnd(async () => {
    await Promise.all(callers.map((one) => one.close()))
    await store.close()
  })
  const made = (own: Workflows, options: Partial<RestateEndpointOptions>) => {
    const store = open()
    const endpoint = restateEndpoint({ ...common, store, workflows: own, ...options })
    atEnd(async () => {
      await endpoint.close()
      await store.close()
    })
    return endpoint
  }
  const started = async (own: Workflows, options: Partial<RestateEndpointOptions>) => {
    const endpoint = made(own, options)
    return { endpoint, port: await endpoint.listen({ host: "127.0.0.1" }) }
  }
  return {
    runtime,
    store,
    problems,
    caller,
    async worker(own, options = {}) {
      const { endpoint, port } = await started(own, options)
      await registerWorker({ admin, url: `http://127.0.0.1:${port}` })
      return endpoint
    },
    async fetched(own, serve) {
      const served = await serve(made(own, {}))
      await registerWorker({ admin, url: served.url, http1: true })
      return served
    },
    async fleet(own, count, optionsOf = () => ({})) {
      const workers = await Promise.all(Array.from({ length: count }, (_, i) => started(own, optionsOf(i))))
      const front = await balancer(workers.map(({ port }) => port))
      atEnd(() => front.close())
      await registerWorker({ admin, url: `http://127.0.0.1:${front.port}` })
      return workers.map(({ endpoint }) => endpoint)
    },
  }
}
