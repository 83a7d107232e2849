/** `superstep serve`: workflows over HTTP, their queued runs and their schedules. `superstep dev` also reloads them when they change. */
import type { Runtime, RuntimeOptions } from "@superstep/engine"
import type { Listening, RequestLog, Server, ServerOptions } from "@superstep/server"
import { Command, Option } from "commander"
import type { Cli } from "../cli.ts"
import { complete, definitionFlags, modelFlag, outputFlags, storeFlags } from "../flags.ts"
import { storeFlagOf } from "../open/store.ts"
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
import { sanitizeLine } from "../terminal/terminal.ts"

interface ServeFlags extends HostFlags {
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly insecure?: true | undefined
  readonly auth?: "keys" | undefined
}

type ServerModule = typeof import("@superstep/server")

/** Most runs wait for models, and so do the requests that started them. */
const CONCURRENCY = 100

function serveCommand(cli: Cli): Command {
  const command = servingCommand(
    cli,
    "Serve these workflows over HTTP, and execute their queued runs and schedules.",
    {},
  )
  return complete(
    command.option("--watch", "load the workflows again when their files change"),
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    ["superstep serve story.yaml", "superstep serve flows/ --store postgres://db/runs --port 8080 --json"],
    "The API is described at /docs and /openapi.json. When it is stopped, the server ends its streams, finishes requests, and releases the runs that do not finish within --grace.",
  )
}

function devCommand(cli: Cli): Command {
  const description = "Serve these workflows over HTTP, and load them again when their files change."
  return complete(
    servingCommand(cli, description, { watch: true }),
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    ["superstep dev", "superstep dev story.yaml --model offline"],
  )
}

export const commands = { serve: serveCommand, dev: devCommand }

function servingCommand(cli: Cli, description: string, preset: Pick<HostFlags, "watch">): Command {
  return hostFlags(CONCURRENCY)(
    new Command()
      .description(description)
      .argument("[files...]", "definitions, modules, or folders with them (default: this folder)", ["."])
      .option("--port <port>", "listen on this port; 0 chooses a free one (default: 4111)", parsePort)
      .option("--host <address>", "listen on this address (default: 127.0.0.1, this machine only)")
      .option("--insecure", "listen to other machines although nobody is authenticated")
      .addOption(
        new Option(
          "--auth <kind>",
          "require an API key (default: from the moment that the store has one)",
        ).choices(["keys"]),
      ),
  ).action(async (files: readonly string[], flags: ServeFlags) => {
    const server = await import("@superstep/server")
    const options = { ...flags, ...preset, concurrency: flags.concurrency ?? CONCURRENCY }
    await hostWorkflows(cli, files, options, (host) => new Api(host, server, options))
  })
}

/**
 * The API of a host. A reload replaces the server behind it, and requests wait for the new one. Requests need a key from the
 * moment that the store has one, and then for as long as the process lives.
 */
class Api implements Front {
  readonly #host: WorkflowHost
  readonly #module: ServerModule
  readonly #flags: ServeFlags
  #isOpen: boolean
  #loaded: Pick<ServerOptions, "runtime" | "workflows"> | undefined
  #server: Server | undefined
  #listening: Listening | undefined

  constructor(host: WorkflowHost, module: ServerModule, flags: ServeFlags) {
    this.#host = host
    this.#module = module
    this.#flags = flags
    this.#isOpen = flags.auth === undefined
  }

  attach(runtime: Runtime, workflows: RuntimeOptions["workflows"]): void {
    this.#loaded = { runtime, workflows }
    this.#server = this.#create(this.#loaded)
  }

  #create(loaded: Pick<ServerOptions, "runtime" | "workflows">): Server {
    return this.#module.createServer({
      ...loaded,
      auth: this.#isOpen ? undefined : this.#module.apiKeys(this.#host.store),
      onRequest: (request) => this.#logRequest(request),
      onProblem: (error) => {
        const message = messageOf(error)
        this.#host.log("problem", sanitizeLine(message), { message })
      },
    })
  }

  detach(): void {
    this.#server?.drain()
  }

  async listen(): Promise<void> {
    const { port, host, insecure } = this.#flags
    await this.#requireKeys()
    const isOpen = () => this.#isOpen
    const facade: Server = {
      fetch: (request) => this.#answer(request),
      get isOpen() {
        return isOpen()
      },
      drain: () => this.#server?.drain(),
    }
    try {
      this.#listening = await this.#module.listen(facade, { port, host, insecure })
    } catch (error) {
      throw listenError(error, this.#flags)
    }
    this.#announce(this.#listening)
  }

  async #answer(request: Request): Promise<Response> {
    await this.#host.settled
    await this.#requireKeys()
    return await (this.#server as Server).fetch(request)
  }

  /** If the store has a key now, replaces the open server. Its streams end, because nobody has authenticated them. */
  async #requireKeys(): Promise<void> {
    if (!this.#isOpen) return
    const keys = await this.#module.listKeys(this.#host.store, { limit: 1 })
    if (keys.length === 0 || !this.#isOpen || this.#loaded === undefined) return
    this.#isOpen = false
    this.#server?.drain()
    this.#server = this.#create(this.#loaded)
    if (this.#listening !== undefined)
      this.#host.log("protected", "The store has a key: requests need one now.")
  }

  async drain(grace: number): Promise<void> {
    await this.#listening?.close({ grace })
  }

  close(): void {}

  #announce({ url }: Listening): void {
    const workflows = this.#loaded?.workflows.map(({ name }) => name) ?? []
    const create = `superstep keys create NAME${storeFlagOf(this.#flags)}`
    const lines = [
      `Listening on ${url}`,
      ...workflows.map((name) => `  POST ${url}/v1/workflows/${encodeURIComponent(name)}/runs`),
      `  API: ${url}/docs`,
      this.#isOpen
        ? `  Without a key, everybody who reaches this address may do everything. Create one: ${create}`
        : `  Requests need a key: ${create}`,
    ]
    this.#host.log("listening", lines.join("\n"), { url, workflows, auth: this.#isOpen ? "none" : "keys" })
  }

  #logRequest(request: RequestLog): void {
    const { method, route, status, milliseconds } = request
    if (this.#flags.json || this.#flags.verbose)
      this.#host.log("request", `${method} ${route} ${status} ${milliseconds} ms`, request)
  }
}

function listenError(error: unknown, { host = "127.0.0.1" }: ServeFlags): Error {
  const { code, port } = error as { readonly code?: string; readonly port?: number }
  if (code === "EADDRINUSE") {
    return usageError(`Port ${port} is in use. Choose another with --port, or 0 for a free one.`)
  }
  if (code === "OPTION_INVALID") {
    return usageError(
      `Nobody is authenticated, so the server does not listen on ${host}, where other machines reach it. Create a key with superstep keys create, or allow it with --insecure.`,
    )
  }
  return usageError(`Cannot listen on ${host}: ${messageOf(error)}`)
}
