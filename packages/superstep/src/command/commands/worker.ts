/** `superstep worker`: claims queued runs of definitions and modules, and executes them until it is stopped. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Runtime, RuntimeOptions } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { complete, definitionFlags, modelFlag, outputFlags, storeFlags } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import { parseUrl, parseUrls, type RestateFlags, RestateWorker } from "../run/restate-worker.ts"
import { allowOption, type TrustCapability } from "../run/submitted-flags.ts"
import {
  type Front,
  type HostFlags,
  hostFlags,
  hostWorkflows,
  messageOf,
  parsePort,
  type WorkflowHost,
} from "../run/workflow-host.ts"
import { sanitizeLine } from "../terminal/terminal.ts"

interface WorkerFlags extends HostFlags, RestateFlags {
  readonly health?: number | undefined
  readonly published?: true | undefined
  readonly allow?: readonly TrustCapability[] | undefined
}

type ServerModule = typeof import("@superstep/server")

const CONCURRENCY = 10

function workerCommand(cli: Cli): Command {
  const command = hostFlags(CONCURRENCY)(
    new Command()
      .description("Execute queued runs and schedules of these workflows, until Ctrl-C or SIGTERM.")
      .argument("[files...]", "definitions, modules, or folders with them"),
  )
    .option("--published", "also execute the definitions that servers of the store have published")
    .addOption(allowOption())
    .option("--health <port>", "serve /healthz and /readyz on this port", parsePort)
    .option("--restate <urls>", "serve the Restate cluster with these ingresses: http://a:8080,…", parseUrls)
    .option(
      "--restate-admin <url>",
      "use this admin API of the cluster (default: port 9070 of the first ingress)",
      parseUrl,
    )
    .option("--restate-service <name>", "register the worker under this name (default: superstep)")
    .option("--listen <port>", "listen to Restate on this port (default: 9080)", parsePort)
    .option("--advertise <url>", "give Restate this address of the worker, or of its load balancer", parseUrl)
    .option("--watch", "load the workflows again when their files change")
    .action(async (files: readonly string[], { health, published, allow, ...flags }: WorkerFlags) => {
      const { restate } = flags
      if (files.length === 0 && published !== true)
        throw usageError("Name the files of the workflows, or add --published for those of the store.")
      const server = published === true ? await import("@superstep/server") : undefined
      const frontOf = (host: WorkflowHost) => {
        const worker = restate === undefined ? undefined : new RestateWorker(host, { ...flags, restate })
        return new WorkerFront(host, { health, server, allow, worker })
      }
      await hostWorkflows(cli, files, { ...flags, concurrency: flags.concurrency ?? CONCURRENCY }, frontOf)
    })
  return complete(
    command,
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    "superstep worker flows/ --concurrency 20 --queues default,mail",
    "Runs are queued with superstep enqueue or runtime.enqueue, or by the schedules of the files. When it is stopped, the worker claims nothing more, waits for --grace, and releases what is left: another worker continues it.",
  )
}

export const commands = { worker: workerCommand }

interface FrontOptions extends Pick<WorkerFlags, "health" | "allow"> {
  /** Undefined: published definitions are not executed. */
  readonly server: ServerModule | undefined
  /** Serves a Restate cluster. */
  readonly worker: RestateWorker | undefined
}

/** `/healthz`: the process answers. `/readyz`: it claims runs, and the store answers. */
class WorkerFront implements Front {
  readonly #host: WorkflowHost
  readonly #options: FrontOptions
  #health: Server | undefined

  constructor(host: WorkflowHost, options: FrontOptions) {
    this.#host = host
    this.#options = options
  }

  attach(runtime: Runtime): void {
    const { server, allow } = this.#options
    const onProblem = (error: unknown) => {
      const message = messageOf(error)
      this.#host.log("problem", sanitizeLine(message), { message })
    }
    server?.useDefinitions(runtime, { allow, onProblem })
  }

  runtime(options: RuntimeOptions): Promise<Runtime> | undefined {
    return this.#options.worker?.runtime(options)
  }

  async ready(): Promise<void> {
    await this.#options.worker?.listen()
  }

  async detach(): Promise<void> {
    await this.#options.worker?.close()
  }

  async listen(): Promise<void> {
    const { health } = this.#options
    if (health === undefined) return
    const server = createServer(async ({ url }, response) => {
      const isReady = url === "/readyz" && !this.#host.isStopping && (await this.#answers())
      const isKnown = url === "/healthz" || url === "/readyz"
      const code = !isKnown ? 404 : url === "/healthz" || isReady ? 200 : 503
      response.writeHead(code, { "content-type": "text/plain" }).end(code === 200 ? "ok\n" : "not ready\n")
    })
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(health, resolve)
    }).catch((error: unknown) => {
      throw usageError(`Cannot listen on port ${health}: ${messageOf(error)}`)
    })
    this.#health = server
    const { port } = server.address() as AddressInfo
    this.#host.log("health", `Health on port ${port}.`, { port })
  }

  /** Answers until the runtime has closed: it is alive, and not ready. */
  async drain(): Promise<void> {}

  close(): void {
    void this.#options.worker?.close()
    this.#health?.close()
    this.#health?.closeAllConnections()
  }

  async #answers(): Promise<boolean> {
    try {
      // Nothing is claimed before the workflows are loaded.
      await this.#host.settled
      await this.#host.store.holders()
      return true
    } catch {
      return false
    }
  }
}
