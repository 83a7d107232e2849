/** Workers and callers of a deployment on Restate, for processes that know its address only (tests/stores.ts). */
import { connect } from "node:net"
import { type RestateEndpointOptions, RestateRuntime, restateEndpoint } from "@superstep/restate"
import type { Runtime } from "superstep"
import type { Worker } from "../runtimes.ts"
import type { ClusterAddress } from "../stores.ts"

type Options = Omit<RestateEndpointOptions, "restate" | "service">

/** Starts a worker, and joins the balancer of its deployment for as long as this process lives. */
export async function joinedWorker(
  { ingress, service, front }: ClusterAddress,
  options: Options,
): Promise<Worker> {
  const endpoint = restateEndpoint({ ...options, restate: ingress, service })
  const port = await endpoint.listen({ host: "127.0.0.1" })
  const joined = connect(front, "127.0.0.1", () => joined.write(`${port}\n`))
  await new Promise<void>((resolve, reject) => {
    joined.once("data", () => resolve()).once("error", reject)
  })
  return {
    runtime: endpoint.runtime,
    async close() {
      joined.destroy()
      await endpoint.close()
    },
  }
}

export function callerOf({ ingress, service }: ClusterAddress, options: Options): Runtime {
  return new RestateRuntime({ ...options, restate: ingress, service })
}
