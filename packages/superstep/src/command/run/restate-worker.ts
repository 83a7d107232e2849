/** `superstep worker --restate`: the worker serves a Restate cluster, and registers itself with it. */
import type { Runtime, RuntimeOptions } from "@superstep/engine"
import { importOptional } from "@superstep/engine/packages"
import { InvalidArgumentError } from "commander"
import { usageError } from "../print/errors.ts"
import { messageOf, type WorkflowHost } from "./workflow-host.ts"

export interface RestateFlags {
  /** The ingress of each node. */
  readonly restate?: readonly string[] | undefined
  readonly restateAdmin?: string | undefined
  readonly restateService?: string | undefined
  readonly listen?: number | undefined
  readonly advertise?: string | undefined
}

type RestatePackage = typeof import("@superstep/restate")

const PACKAGE = { name: "@superstep/restate", neededBy: "--restate" }
const ADMIN_PORT = "9070"
/** Where Restate's documentation expects services. */
const PORT = 9_080

export function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, "")
  throw new InvalidArgumentError("Write an address such as http://localhost:8080.")
}

export function parseUrls(text: string): readonly string[] {
  return text.split(",").map((one) => parseUrl(one.trim()))
}

export class RestateWorker {
  readonly #host: WorkflowHost
  readonly #flags: RestateFlags & { readonly restate: readonly string[] }
  #endpoint: ReturnType<RestatePackage["restateEndpoint"]> | undefined

  constructor(host: WorkflowHost, flags: RestateFlags & { readonly restate: readonly string[] }) {
    this.#host = host
    this.#flags = flags
  }

  async runtime(options: RuntimeOptions): Promise<Runtime> {
    const { restateEndpoint } = await load()
    const { restate, restateService: service } = this.#flags
    this.#endpoint = restateEndpoint({ ...options, restate, service })
    return this.#endpoint.runtime
  }

  /** Listens, and has Restate send runs here. */
  async listen(): Promise<void> {
    const { registerWorker } = await load()
    const {
      restate,
      listen = PORT,
      advertise,
      restateAdmin: admin = adminOf(restate[0] as string),
    } = this.#flags
    const port = await this.#endpoint?.listen({ port: listen }).catch((error: unknown) => {
      throw usageError(`Cannot listen on port ${listen}: ${messageOf(error)}`)
    })
    const url = advertise ?? `http://localhost:${port}`
    await registerWorker({ admin, url })
    this.#host.log("restate", `Registered with Restate at ${admin} as ${url}.`, { admin, url })
  }

  async close(): Promise<void> {
    await this.#endpoint?.close()
    this.#endpoint = undefined
  }
}

async function load(): Promise<RestatePackage> {
  return await importOptional<RestatePackage>(
    PACKAGE,
    (name) => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name),
  )
}

/** The host of the first ingress. */
function adminOf(ingress: string): string {
  const url = new URL(ingress)
  url.port = ADMIN_PORT
  return url.origin
}
