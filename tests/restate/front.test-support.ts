/**
 * A deployment for the workers of a suite: one address on Restate, and a balancer before workers that come and go. A worker joins
 * by a connection to the front, which it writes its port to; it leaves with that connection, so a killed one has left at once.
 */
import { randomUUID } from "node:crypto"
import { type AddressInfo, createServer } from "node:net"
import { registerWorker } from "@superstep/restate"
import { afterAll, beforeAll, inject } from "vitest"
import { newAddress } from "../postgres/schemas.test-support.ts"
import { withCluster } from "../stores.ts"
import { balancer } from "./balancer.ts"

/** Gives the addresses of so many deployments, one with each call. They end with the test file. */
export function deployments(count: number): () => string {
  const closing: (() => void)[] = []
  const fronts: number[] = []
  beforeAll(async () => {
    for (let i = 0; i < count; i++) fronts.push(await newFront(closing))
  })
  afterAll(() => {
    for (const close of closing) close()
  })
  return () => {
    const front = fronts.pop()
    if (front === undefined) throw new Error(`There are ${count} deployments only.`)
    return withCluster(newAddress(), {
      ingress: inject("restate").ingress,
      service: `suite-${randomUUID()}`,
      front,
    })
  }
}

async function newFront(closing: (() => void)[]): Promise<number> {
  const workers = await balancer([])
  const { targets } = workers
  let registered: Promise<void> | undefined
  const front = createServer((worker) => {
    worker.on("error", () => undefined)
    worker.once("data", async (text) => {
      const port = Number(String(text))
      targets.push(port)
      worker.once("close", () => targets.splice(targets.indexOf(port), 1))
      // Restate asks the first worker what it has.
      registered ??= registerWorker({
        admin: inject("restate").admin,
        url: `http://127.0.0.1:${workers.port}`,
      })
      await registered
      worker.write("joined\n")
    })
  })
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve))
  closing.push(() => {
    workers.close()
    front.close()
  })
  return (front.address() as AddressInfo).port
}
