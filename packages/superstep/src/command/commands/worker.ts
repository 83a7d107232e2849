/** `superstep worker`: claims queued runs of definitions and modules, and executes them until it is stopped. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { complete, definitionFlags, modelFlag, outputFlags, storeFlags } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import {
  type Front,
  type HostFlags,
  hostFlags,
  hostWorkflows,
  messageOf,
  parsePort,
  type WorkflowHost,
} from "../run/workflow-host.ts"

interface WorkerFlags extends HostFlags {
  readonly health?: number | undefined
}

const CONCURRENCY = 10

function workerCommand(cli: Cli): Command {
  const command = hostFlags(CONCURRENCY)(
    new Command()
      .description("Execute queued runs and schedules of these workflows, until Ctrl-C or SIGTERM.")
      .argument("<files...>", "definitions, modules, or folders with them"),
  )
    .option("--health <port>", "serve /healthz and /readyz on this port", parsePort)
    .option("--watch", "load the workflows again when their files change")
    .action(async (files: readonly string[], { health, ...flags }: WorkerFlags) => {
      const frontOf = (host: WorkflowHost) => (health === undefined ? undefined : new Health(host, health))
      await hostWorkflows(cli, files, { ...flags, concurrency: flags.concurrency ?? CONCURRENCY }, frontOf)
    })
  return complete(
    command,
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    ["superstep worker flows/ --concurrency 20 --queues default,mail", "superstep worker story.yaml --watch"],
    "Runs are queued with superstep enqueue or runtime.enqueue, or by the schedules of the files. When it is stopped, the worker claims nothing more, waits for --grace, and releases what is left: another worker continues it.",
  )
}

export const commands = { worker: workerCommand }

/** `/healthz`: the process answers. `/readyz`: it claims runs, and the store answers. */
class Health implements Front {
  readonly #host: WorkflowHost
  readonly #port: number
  readonly #server: Server

  constructor(host: WorkflowHost, port: number) {
    this.#host = host
    this.#port = port
    this.#server = createServer(async ({ url }, response) => {
      const isReady = url === "/readyz" && !host.isStopping && (await this.#answers())
      const isKnown = url === "/healthz" || url === "/readyz"
      const code = !isKnown ? 404 : url === "/healthz" || isReady ? 200 : 503
      response.writeHead(code, { "content-type": "text/plain" }).end(code === 200 ? "ok\n" : "not ready\n")
    })
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject).listen(this.#port, resolve)
    }).catch((error: unknown) => {
      throw usageError(`Cannot listen on port ${this.#port}: ${messageOf(error)}`)
    })
    const { port } = this.#server.address() as AddressInfo
    this.#host.log("health", `Health on port ${port}.`, { port })
  }

  /** Answers until the runtime has closed: it is alive, and not ready. */
  async drain(): Promise<void> {}

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answers(): Promise<boolean> {
    try {
      await this.#host.store.holders()
      return true
    } catch {
      return false
    }
  }
}
