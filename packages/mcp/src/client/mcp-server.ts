/** A server as a toolset uses it: every request on the shared connection, within its time, with errors that tell. */
import { type Clock, systemClock } from "@superstep/engine"
import { type Masking, type Resolve, withTimeLimit } from "@superstep/engine/tools"
import type { Connection } from "./connection.ts"
import { notReady, timedOut } from "./connection-errors.ts"
import { filledAddress } from "./filled-address.ts"
import { hiddenValues } from "./hidden-values.ts"
import { type McpServerAddress, nameOf } from "./server-address.ts"
import { type ReconnectPolicy, SharedConnection } from "./shared-connection.ts"

export interface McpServerOptions {
  /** Milliseconds a call may take, waiting for the server to come back included. Default 60,000. */
  readonly timeout?: number | undefined
  /** Milliseconds from its start until it has greeted us. Default 30,000. */
  readonly connectTimeout?: number | undefined
  /** Bytes of one message of the server. A program that sends more is ended. Default 10,000,000. */
  readonly maxMessage?: number | undefined
  readonly reconnect?: ReconnectPolicy | undefined
  /** Looks the name of a server up. Default: as the system does. */
  readonly resolve?: Resolve | undefined
  readonly clock?: Clock | undefined
}

/** Characters of what a server says about itself that an agent gets to read. */
const MAX_INSTRUCTIONS = 20_000

export class McpServer {
  readonly name: string
  readonly #address: McpServerAddress
  readonly #shared: SharedConnection
  readonly #clock: Clock
  readonly #timeout: number
  #hidden: Masking | undefined
  #instructions: string | undefined

  constructor(address: McpServerAddress, options: McpServerOptions) {
    const { timeout = 60_000, connectTimeout = 30_000, maxMessage = 10_000_000 } = options
    const { reconnect = {}, resolve, clock = systemClock } = options
    this.name = nameOf(address)
    this.#address = address
    this.#clock = clock
    this.#timeout = timeout
    this.#shared = new SharedConnection(address, { clock, maxMessage, connectTimeout, resolve, reconnect })
  }

  /** Only read of a server that has answered, so what its address asks of the environment is there. */
  get hidden(): Masking {
    this.#hidden ??= hiddenValues(filledAddress(this.#address))
    return this.#hidden
  }

  /** What the server says about its use, once it has been met. */
  get instructions(): string | undefined {
    return this.#instructions
  }

  async request<T>(
    what: string,
    ask: (connection: Connection, signal: AbortSignal) => Promise<T>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    let met: Connection | undefined
    const limit = {
      clock: this.#clock,
      milliseconds: this.#timeout,
      signal: options.signal,
      timedOut: () =>
        met === undefined
          ? notReady(this.name, this.#timeout)
          : timedOut(this.name, what, this.#timeout, met.complaint),
    }
    return await withTimeLimit(limit, (signal) =>
      this.#shared.use((connection) => {
        met = connection
        const { instructions } = connection
        this.#instructions = instructions && this.hidden.text(instructions).slice(0, MAX_INSTRUCTIONS)
        return ask(connection, signal)
      }, signal),
    )
  }

  close(): Promise<void> {
    return this.#shared.close()
  }
}
