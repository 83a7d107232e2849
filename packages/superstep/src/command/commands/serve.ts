/**
 * `superstep serve`: workflows over HTTP, their queued runs and their schedules. `superstep dev` also reloads them when they
 * change, and serves the studio. `superstep studio` serves the studio over any store.
 */
import { writeFile } from "node:fs/promises"
import { isIP } from "node:net"
import type { Runtime, RuntimeOptions } from "@superstep/engine"
import type { Listening, RequestLog, Server, ServerOptions } from "@superstep/server"
import { Command, InvalidArgumentError, Option } from "commander"
import type { Cli } from "../cli.ts"
import { collect, complete, definitionFlags, modelFlag, outputFlags, storeFlags } from "../flags.ts"
import { servedIndexes } from "../open/served-indexes.ts"
import { storeFlagOf } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { parseUrl } from "../run/restate-worker.ts"
import { allowOption, type TrustCapability } from "../run/submitted-flags.ts"
import {
  type Front,
  type HostedFile,
  type HostFlags,
  hostFlags,
  hostWorkflows,
  messageOf,
  parsePort,
  type WorkflowHost,
} from "../run/workflow-host.ts"
import { openInBrowser } from "../terminal/open-browser.ts"
import { sanitizeLine } from "../terminal/terminal.ts"
import { serveMcpCommand } from "./serve-mcp.ts"

interface ServeFlags extends HostFlags {
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly insecure?: true | undefined
  readonly auth?: "keys" | undefined
  readonly allow?: readonly TrustCapability[] | undefined
  readonly index?: readonly string[] | undefined
  /** Published definitions are written to their files. */
  readonly saves?: boolean | undefined
  readonly studio?: true | undefined
  readonly open?: true | undefined
  readonly publicUrl?: string | undefined
  readonly allowPrivate?: readonly string[] | undefined
}

type ServerModule = typeof import("@superstep/server")
type Loaded = Pick<ServerOptions, "runtime" | "workflows" | "definitions">

const OPEN = "open the studio in the browser"
/** Most runs wait for models, and so do the requests that started them. */
const CONCURRENCY = 100

function serveCommand(cli: Cli): Command {
  const command = servingCommand(
    cli,
    "Serve these workflows over HTTP, and execute their queued runs and schedules.",
    {},
  )
  return complete(
    command
      .option("--studio", "serve the studio, a web UI, under /studio/")
      .option("--watch", "load the workflows again when their files change")
      // Flags after `mcp` are its own.
      .enablePositionalOptions()
      .addCommand(serveMcpCommand(cli)),
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    "superstep serve story.yaml",
    "The API is described at /docs and /openapi.json. When it is stopped, the server ends its streams, finishes requests, and releases the runs that do not finish within --grace.",
  )
}

function devCommand(cli: Cli): Command {
  const description = "Serve these workflows and the studio, and load them again when their files change."
  return complete(
    servingCommand(cli, description, { watch: true, saves: true, studio: true }).option("--open", OPEN),
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    "superstep dev",
  )
}

function studioCommand(cli: Cli): Command {
  const description = "Open the studio, a web UI, over the runs of a store."
  return complete(
    servingCommand(cli, description, { studio: true }, []).option("--open", OPEN),
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    "superstep studio",
    "Without files it shows what the store has, and brings one example workflow, which runs offline.",
  )
}

export const commands = { serve: serveCommand, dev: devCommand, studio: studioCommand }

function servingCommand(
  cli: Cli,
  description: string,
  preset: Pick<ServeFlags, "watch" | "saves" | "studio">,
  sources: readonly string[] = ["."],
): Command {
  const isStudio = sources.length === 0
  const otherwise = isStudio ? "only the example" : "this folder"
  return hostFlags(CONCURRENCY)(
    new Command()
      .description(description)
      .argument("[files...]", `definitions, modules, or folders with them (default: ${otherwise})`)
      .option("--port <port>", "listen on this port; 0 chooses a free one (default: 4111)", parsePort)
      .option("--host <address>", "listen on this address (default: 127.0.0.1, this machine only)")
      .option(
        "--public-url <url>",
        "use this address for hooks and links (default: the one of the request)",
        parseUrl,
      )
      .option(
        "--allow-private <address>",
        "let webhooks reach this private address or network; repeatable",
        parsePrivate,
      )
      .option("--insecure", "listen to other machines without authentication")
      .addOption(
        new Option(
          "--auth <kind>",
          "require an API key (default: from the moment that the store has one)",
        ).choices(["keys"]),
      )
      .addOption(allowOption())
      .option("--index <file>", "offer this document index too; repeatable", collect),
  ).action(async (named: readonly string[], flags: ServeFlags) => {
    const files = named.length === 0 ? sources : named
    const server = await import("@superstep/server")
    const options = { ...flags, ...preset, concurrency: flags.concurrency ?? CONCURRENCY }
    const studio = options.studio === true ? await loadedStudio(cli, preset.watch === true) : undefined
    const all = isStudio && studio !== undefined ? [...files, studio.exampleFile] : files
    await hostWorkflows(cli, all, options, (host) => new Api(cli, host, server, options, studio?.files))
  })
}

/** Where it is optional, workflows are served without it if it is not built, as in a clone of the repository. */
async function loadedStudio({ err }: Cli, isOptional: boolean) {
  const { loadStudio, exampleFile } = await import("@superstep/studio")
  try {
    return { files: loadStudio(), exampleFile }
  } catch (error) {
    if (!isOptional) throw usageError(messageOf(error))
    err.line(messageOf(error))
    return undefined
  }
}

/**
 * The API of a host. A reload replaces the server behind it, and requests wait for the new one. Requests need a key from the
 * moment that the store has one, and then for as long as the process lives.
 */
class Api implements Front {
  readonly #cli: Cli
  readonly #host: WorkflowHost
  readonly #module: ServerModule
  readonly #flags: ServeFlags
  readonly #studio: ServerOptions["studio"]
  #isOpen: boolean
  #loaded: Loaded | undefined
  #server: Server | undefined
  #listening: Listening | undefined

  constructor(
    cli: Cli,
    host: WorkflowHost,
    module: ServerModule,
    flags: ServeFlags,
    studio: ServerOptions["studio"],
  ) {
    this.#cli = cli
    this.#host = host
    this.#module = module
    this.#flags = flags
    this.#studio = studio
    this.#isOpen = flags.auth === undefined
  }

  attach(runtime: Runtime, workflows: RuntimeOptions["workflows"], files: readonly HostedFile[]): void {
    const save = async (name: string, text: string) => {
      const file = files.find((one) => one.name === name)
      if (file !== undefined) await writeFile(file.path, text)
    }
    const definitions = { files, save: this.#flags.saves ? save : undefined }
    this.#loaded = { runtime, workflows, definitions }
    this.#server = this.#create(this.#loaded)
  }

  #create(loaded: Loaded): Server {
    const { allow, index } = this.#flags
    return this.#module.createServer({
      ...loaded,
      allow,
      indexes: servedIndexes(this.#cli, index),
      studio: this.#studio,
      auth: this.#isOpen ? undefined : this.#module.apiKeys(this.#host.store),
      publicUrl: this.#flags.publicUrl,
      webhooks: { allow: this.#flags.allowPrivate },
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
    if (keys.length === 0 || !this.#isOpen) return
    this.#isOpen = false
    if (this.#loaded === undefined) return
    this.#server?.drain()
    this.#server = this.#create(this.#loaded)
    if (this.#listening !== undefined)
      this.#host.log("protected", "The store has a key: requests need one now.")
  }

  async drain(grace: number): Promise<void> {
    await this.#listening?.close({ grace })
  }

  close(): void {}

  announce(): void {
    const { url } = this.#listening as Listening
    const workflows = this.#loaded?.workflows.map(({ name }) => name) ?? []
    const create = `superstep keys create NAME${storeFlagOf(this.#flags)}`
    const lines = [
      `Listening on ${url}`,
      ...workflows.map((name) => `  POST ${url}/v1/workflows/${encodeURIComponent(name)}/runs`),
      ...(this.#studio === undefined ? [] : [`  Studio: ${url}/studio/`]),
      `  API: ${url}/docs`,
      this.#isOpen
        ? `  Anyone who can reach this address can do anything, because there is no key yet. Create one: ${create}`
        : `  Requests need a key: ${create}`,
    ]
    const studio = this.#studio === undefined ? undefined : `${url}/studio/`
    const auth = this.#isOpen ? "none" : "keys"
    this.#host.log("listening", lines.join("\n"), { url, workflows, auth, studio })
    if (this.#flags.open === true && studio !== undefined) openInBrowser(studio)
  }

  #logRequest(request: RequestLog): void {
    const { method, route, status, milliseconds } = request
    if (this.#flags.json || this.#flags.verbose)
      this.#host.log("request", `${method} ${route} ${status} ${milliseconds} ms`, request)
  }
}

function parsePrivate(text: string, before: readonly string[] = []): readonly string[] {
  const [host = "", bits, ...rest] = text.split("/")
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(host)] ?? -1
  const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
  if (most > 0 && isNetwork && rest.length === 0) return [...before, text]
  throw new InvalidArgumentError("Write an address or a network, for example 127.0.0.1 or 10.1.0.0/16.")
}

function listenError(error: unknown, { host = "127.0.0.1" }: ServeFlags): Error {
  const { code, port } = error as { readonly code?: string; readonly port?: number }
  if (code === "EADDRINUSE") {
    return usageError(`Port ${port} is in use. Choose another with --port, or 0 for a free one.`)
  }
  if (code === "OPTION_INVALID") {
    return usageError(
      `The server does not listen on ${host} without authentication, because other machines can reach it there. Create a key: superstep keys create NAME. Or add --insecure.`,
    )
  }
  return usageError(`Cannot listen on ${host}: ${messageOf(error)}`)
}
