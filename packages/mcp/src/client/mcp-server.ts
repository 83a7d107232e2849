/** A server as a toolset uses it: requests with timeouts, on a connection that all tasks share. */
import { basename, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Root } from "@modelcontextprotocol/client"
import { type Clock, isSuperstepError, SuperstepError, systemClock } from "@superstep/engine"
import { cutText } from "@superstep/engine/text"
import { type Masking, pause, type Resolve, untilAborted, withTimeLimit } from "@superstep/engine/tools"
import { Connection, type Era, type Offers } from "./connection.ts"
import { isUndelivered, notReady, timedOut } from "./connection-errors.ts"
import { filledAddress, type McpServerAddress, ServerSecrets, serverName } from "./server-address.ts"

export interface McpServerOptions {
  /** Timeout of a call in milliseconds, including the wait for a reconnect. Default 60,000. */
  readonly timeout?: number | undefined
  /** Timeout of the handshake in milliseconds. Default 30,000. */
  readonly connectTimeout?: number | undefined
  /** Maximum bytes of one message of the server. A program that sends more is ended. Default 10,000,000. */
  readonly maxMessage?: number | undefined
  readonly reconnect?: ReconnectPolicy | undefined
  /** Folders that the server may know about: it gets their paths, and decides what to do there. Default: none. */
  readonly roots?: readonly string[] | undefined
  /**
   * The revision of the protocol. Default `auto`: the server is asked; one that does not know the question speaks 2025-11-25
   * or an earlier one.
   */
  readonly revision?: "auto" | "2025-11-25" | "2026-07-28" | undefined
  /** Resolves host names. Default: the system's resolver. */
  readonly resolve?: Resolve | undefined
  readonly clock?: Clock | undefined
}

/** Milliseconds that a program has to say which revision it speaks. */
const MAX_PROBE = 5_000

/** Characters of a server's instructions that an agent reads. */
const MAX_INSTRUCTIONS = 20_000

type LimitedWork<T> = (met: (connection: Connection) => void, signal: AbortSignal) => Promise<T>

export class McpServer {
  readonly name: string
  readonly roots: readonly Root[]
  readonly #secrets: ServerSecrets
  readonly #shared: SharedConnection
  readonly #clock: Clock
  readonly #timeout: number
  #instructions: string | undefined

  constructor(address: McpServerAddress, options: McpServerOptions, asks: Omit<Offers, "roots">) {
    const { timeout = 60_000, connectTimeout = 30_000, maxMessage = 10_000_000 } = options
    const { reconnect = {}, resolve, clock = systemClock, roots = [], revision = "auto" } = options
    this.name = serverName(address)
    this.roots = roots.map(rootOf)
    this.#clock = clock
    this.#timeout = timeout
    const offers = { ...asks, roots: this.roots }
    const era = revision === "auto" ? revision : revision === "2026-07-28" ? "modern" : "legacy"
    const limits = { maxMessage, connectTimeout, reconnect }
    this.#secrets = new ServerSecrets(address)
    const secrets = this.#secrets
    this.#shared = new SharedConnection(address, { ...limits, clock, resolve, offers, era, secrets })
  }

  get hidden(): Masking {
    return this.#secrets.masking
  }

  /** The server's instructions, once it is connected. */
  get instructions(): string | undefined {
    return this.#instructions
  }

  /** One request, within the time limit. */
  request<T>(
    what: string,
    ask: (connection: Connection, signal: AbortSignal) => Promise<T>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const work: LimitedWork<T> = (met, limited) =>
      this.connected((connection) => {
        met(connection)
        return ask(connection, limited)
      }, limited)
    return this.limited(what, work, signal)
  }

  /** Work within the time limit. It reports the connection, which may know why the server does not answer. */
  limited<T>(what: string, work: LimitedWork<T>, signal?: AbortSignal): Promise<T> {
    let met: Connection | undefined
    const limit = {
      clock: this.#clock,
      milliseconds: this.#timeout,
      signal,
      timedOut: () =>
        met === undefined
          ? notReady(this.name, this.#timeout)
          : timedOut(this.name, what, this.#timeout, met.complaint),
    }
    return withTimeLimit(limit, (limited) =>
      work((connection) => {
        met = connection
      }, limited),
    )
  }

  /** Work on the shared connection. It has no time limit. */
  connected<T>(work: (connection: Connection) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#shared.use((connection) => {
      const { instructions } = connection
      this.#instructions = instructions && cutText(this.hidden.text(instructions), MAX_INSTRUCTIONS)
      return work(connection)
    }, signal)
  }

  pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return pause(this.#clock, milliseconds, signal)
  }

  close(): Promise<void> {
    return this.#shared.close()
  }
}

export interface ReconnectPolicy {
  /** Attempts to connect before a request fails. Default 3. */
  readonly attempts?: number | undefined
  /** Milliseconds before the second attempt; each further one waits twice as long. Default 500. */
  readonly delay?: number | undefined
  /** Maximum delay in milliseconds. Default 30,000. */
  readonly maxDelay?: number | undefined
}

interface SharedConnectionOptions {
  readonly clock: Clock
  readonly offers: Offers
  readonly era: Era
  readonly secrets: ServerSecrets
  readonly maxMessage: number
  readonly connectTimeout: number
  readonly resolve?: Resolve | undefined
  readonly reconnect: ReconnectPolicy
}

/**
 * The connection that all tasks share: made when the first task needs it, and again after the server disconnected.
 *
 * S1 There is one at a time. A task that stops waiting for it does not stop the others.
 * S2 After each failure the next attempt waits longer, up to a maximum; an answer resets the delay. A server that dies at
 *    every call is not restarted without a pause.
 * S3 Permanent errors (no such program, wrong credentials) are not retried.
 * S4 A request that never reached the server is repeated once, on a new connection. One that may have reached it is not:
 *    the caller gets the error.
 * S5 A program that ends when it is asked for its revision is started again, and not asked. What is known about the revision
 *    stays known.
 */
class SharedConnection {
  readonly #address: McpServerAddress
  readonly #options: SharedConnectionOptions
  #current: Promise<Connection> | undefined
  #life = new AbortController()
  #failures = 0
  #notBefore = 0
  #era: Era

  constructor(address: McpServerAddress, options: SharedConnectionOptions) {
    this.#address = address
    this.#options = options
    this.#era = options.era
  }

  async use<T>(work: (connection: Connection) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const connection = await untilAborted(this.#get(), signal)
    try {
      return this.#answered(await work(connection))
    } catch (error) {
      if (!isUndelivered(error)) throw error
    }
    const another = await untilAborted(this.#get(), signal)
    return this.#answered(await work(another))
  }

  #answered<T>(result: T): T {
    this.#failures = 0
    this.#notBefore = 0
    return result
  }

  #get(): Promise<Connection> {
    if (this.#current !== undefined) return this.#current
    const made = this.#connect(this.#life.signal)
    this.#current = made
    made.then(
      (connection) =>
        connection.onGone(() => {
          this.#forget(made)
          this.#failed()
        }),
      () => this.#forget(made),
    )
    return made
  }

  #forget(made: Promise<Connection>): void {
    if (this.#current === made) this.#current = undefined
  }

  async #connect(life: AbortSignal): Promise<Connection> {
    const { clock, reconnect } = this.#options
    const { attempts = 3 } = reconnect
    for (let attempt = 1; ; attempt++) {
      const wait = this.#notBefore - clock.now()
      if (wait > 0) await pause(clock, wait, life)
      try {
        return await this.#connectOnce(life)
      } catch (error) {
        life.throwIfAborted()
        this.#failed()
        if (attempt >= attempts || (isSuperstepError(error) && error.retryable === false)) throw error
      }
    }
  }

  async #connectOnce(life: AbortSignal): Promise<Connection> {
    const { clock, maxMessage, resolve, connectTimeout: milliseconds, offers, secrets } = this.#options
    const probeTimeout = Math.min(MAX_PROBE, Math.ceil(milliseconds / 2))
    const options = { maxMessage, resolve, offers, era: this.#era, probeTimeout, secrets }
    const connection = new Connection(filledAddress(this.#address), options)
    const timedOut = () => notReady(serverName(this.#address), milliseconds, connection.complaint)
    try {
      await withTimeLimit({ clock, milliseconds, signal: life, timedOut }, () => connection.open())
    } catch (error) {
      connection.close().catch(() => undefined)
      if (!connection.mayBeLegacy || !isSuperstepError(error, "MCP_DISCONNECTED")) throw error
      // S5
      this.#era = "legacy"
      return await this.#connectOnce(life)
    }
    if (this.#era === "auto" && !connection.isModern) this.#era = "legacy"
    return connection
  }

  #failed(): void {
    const { clock, reconnect } = this.#options
    const { delay = 500, maxDelay = 30_000 } = reconnect
    this.#notBefore = clock.now() + Math.min(delay * 2 ** this.#failures, maxDelay)
    this.#failures += 1
  }

  /** Ends the connection and its pending calls. The next use makes another one. */
  async close(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    const life = this.#life
    this.#life = new AbortController()
    this.#failures = 0
    this.#notBefore = 0
    const text = `The connection to the MCP server "${serverName(this.#address)}" was closed.`
    life.abort(new SuperstepError("MCP_CLOSED", text))
    const connection = await current?.catch(() => undefined)
    await connection?.close()
  }
}

function rootOf(folder: string): Root {
  return { uri: pathToFileURL(resolve(folder)).href, name: basename(resolve(folder)) }
}
