/**
 * The connection that all tasks share: made when the first needs it, made again when the server has gone away.
 *
 * S1 There is one at a time. A task that stops waiting for it does not stop the others.
 * S2 After each failure the next try waits longer, up to a bound; an answer sets that back. A server that dies at every
 *    call is not started again and again without a pause.
 * S3 What cannot help (no such program, wrong credentials) is not tried again.
 * S4 A request that never reached the server is made again on a new connection, once. One that may have reached it is
 *    not: its failure is for the caller.
 */
import { type Clock, isSuperstepError, SuperstepError } from "@superstep/engine"
import { pause, type Resolve, untilAborted, withTimeLimit } from "@superstep/engine/tools"
import { Connection } from "./connection.ts"
import { isUndelivered, notReady } from "./connection-errors.ts"
import { filledAddress } from "./filled-address.ts"
import { type McpServerAddress, nameOf } from "./server-address.ts"

export interface ReconnectPolicy {
  /** How often a server is tried before whoever needs it is told that it cannot be reached. Default 3. */
  readonly attempts?: number | undefined
  /** Milliseconds before the second attempt; each further one waits twice as long. Default 500. */
  readonly delay?: number | undefined
  /** The longest wait. Default 30,000. */
  readonly maxDelay?: number | undefined
}

export interface SharedConnectionOptions {
  readonly clock: Clock
  readonly maxMessage: number
  readonly connectTimeout: number
  readonly resolve?: Resolve | undefined
  readonly reconnect: ReconnectPolicy
}

export class SharedConnection {
  readonly #address: McpServerAddress
  readonly #options: SharedConnectionOptions
  #current: Promise<Connection> | undefined
  #life = new AbortController()
  #failures = 0
  #notBefore = 0

  constructor(address: McpServerAddress, options: SharedConnectionOptions) {
    this.#address = address
    this.#options = options
  }

  /** Does something with the connection. */
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
    const { clock, maxMessage, resolve, connectTimeout: milliseconds } = this.#options
    const connection = new Connection(filledAddress(this.#address), { maxMessage, resolve })
    const timedOut = () => notReady(nameOf(this.#address), milliseconds, connection.complaint)
    try {
      await withTimeLimit({ clock, milliseconds, signal: life, timedOut }, () => connection.open())
      return connection
    } catch (error) {
      connection.close().catch(() => undefined)
      throw error
    }
  }

  #failed(): void {
    const { clock, reconnect } = this.#options
    const { delay = 500, maxDelay = 30_000 } = reconnect
    this.#notBefore = clock.now() + Math.min(delay * 2 ** this.#failures, maxDelay)
    this.#failures += 1
  }

  /** Ends the connection, and calls under way with it. The next use makes another one. */
  async close(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    const life = this.#life
    this.#life = new AbortController()
    this.#failures = 0
    this.#notBefore = 0
    const text = `The connection to the MCP server "${nameOf(this.#address)}" was closed.`
    life.abort(new SuperstepError("MCP_CLOSED", text))
    const connection = await current?.catch(() => undefined)
    await connection?.close()
  }
}
