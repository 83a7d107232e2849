// One Restate server, one PostgreSQL server, and workers behind a balancer of connections.
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { RestateRuntime, registerWorker } from "@superstep/restate"
import { tsImport } from "tsx/esm/api"
import { measuredEnvironment } from "../environment.mjs"
import { flows, openStore } from "./flows.mjs"

const load = (file) => tsImport(`../../../tests/restate/${file}`, import.meta.url)

let count = 0

/** @returns the servers, and `fleet(workers)`: a runtime, the plain service's name, and what the workers report */
export async function benchCluster(postgres) {
  const { startRestate } = await load("start-restate.ts")
  const { balancer } = await load("balancer.ts")
  const server = await startRestate({ partitions: 8 })
  return {
    server,
    async fleet(workers) {
      const service = `bench-${++count}`
      const address = `${postgres}#bench_restate_${count}`
      const reports = new Set()
      const started = []
      // The first one makes the schema.
      for (let i = 0; i < workers; i++)
        started.push(await startWorker([address, server.ingress, service], reports))
      const fronts = []
      for (const kind of ["ours", "plain"]) {
        const front = await balancer(started.map(({ ports }) => ports[kind]))
        fronts.push(front)
        await registerWorker({ admin: server.admin, url: `http://127.0.0.1:${front.port}` })
      }
      const store = await openStore(address)
      const runtime = new RestateRuntime({
        store,
        workflows: Object.values(flows),
        restate: server.ingress,
        service,
      })
      return {
        runtime,
        plain: `${server.ingress}/${service}-plain`,
        ingress: server.ingress,
        reports,
        async stop() {
          await runtime.close()
          await store.close()
          for (const { child } of started) {
            if (child.exitCode !== null || child.signalCode !== null) continue
            const ended = new Promise((resolve) => child.once("exit", resolve))
            child.kill("SIGKILL")
            await ended
          }
          for (const front of fronts) front.close()
        },
      }
    },
    stop: () => server.stop(),
  }
}

function startWorker(args, reports) {
  const file = fileURLToPath(new URL("./worker.mjs", import.meta.url))
  const child = fork(file, args, {
    env: measuredEnvironment,
    execArgv: [...process.execArgv, "--no-warnings"],
  })
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`A worker ended with ${code}.`)))
    child.on("message", (message) => {
      if (message.ours !== undefined) resolve({ child, ports: message })
      else for (const report of reports) report(message)
    })
  })
}
