/**
 * Sends requests to a Restate cluster through its ingress. A request that a node does not answer goes to the next one: a repeated
 * activation changes nothing, and a call is repeated under its idempotency key.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import {
  type BroughtMail,
  type MailReply,
  type RunId,
  type RunStart,
  type StartReply,
  SuperstepError,
} from "@superstep/engine"

export interface IngressOptions {
  /** The ingress of the cluster, or of each of its nodes: `http://restate:8080`. */
  readonly restate: string | readonly string[]
  /** The name under which workers and callers of one application meet on the cluster. Default `superstep`. */
  readonly service?: string | undefined
  /** Headers of every request, for example `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const DEFAULT_SERVICE = "superstep"

/** Bytes of a message: Restate takes 32 MiB, and JSON in JSON needs room. */
export const MAX_MESSAGE = 24 * 1_048_576
/** Connections are used again, unless they have been idle for so many milliseconds. */
const KEPT = { keepAlive: true, timeout: 10_000 }
/** How many calls are in progress at most: each has a connection. */
const MAX_CALLS = 256
const MAX_PAUSE = 5_000

/** Rounds over all nodes until a request is given up. */
const ROUNDS = 4
const FIRST_PAUSE = 100
/** Milliseconds until a node that accepts no send is left for the next one. */
const SEND_PATIENCE = 5_000
/** Milliseconds that the end of an activation is waited for, and how many of them at most: each has a connection. */
const EXECUTE_PATIENCE = 15_000
const MAX_EXECUTED = 128
/** Milliseconds until mail that no worker has taken is delivered through the store. */
const DELIVER_PATIENCE = 5_000

export interface Activation {
  readonly run: RunId
  /** The time of the timer that is due. */
  readonly at?: number | undefined
}

export class Ingress {
  readonly service: string
  readonly #nodes: readonly string[]
  readonly #headers: Readonly<Record<string, string>>
  /** The node that answered last. */
  #current = 0
  #calls = 0
  #executed = 0
  readonly #waiting: (() => void)[] = []
  readonly #closed = new AbortController()
  readonly #agents = { http: new HttpAgent(KEPT), https: new HttpsAgent(KEPT) }

  constructor({ restate, service = DEFAULT_SERVICE, headers = {} }: IngressOptions) {
    if (!/^[A-Za-z][\w.-]*$/.test(service))
      throw optionInvalid(`service must be a name, not ${JSON.stringify(service)}`)
    this.service = service
    this.#nodes = (typeof restate === "string" ? [restate] : restate).map(checkedUrl)
    if (this.#nodes.length === 0) throw optionInvalid("restate needs at least one address")
    this.#headers = headers
  }

  /** The service of the workers that have a graph, whichever version was registered last. */
  serviceOf(graph: string): string {
    return `${this.service}.${graph}`
  }

  /** Resolves when Restate has stored the activation. `graph`: it goes to workers that have it; if there are none, nowhere. */
  async activate(activation: Activation, now: number, graph?: string): Promise<void> {
    const { at } = activation
    const delay = at === undefined ? 0 : Math.max(0, Math.ceil(at - now))
    const path = `/activate/send${delay > 0 ? `?delay=${delay}ms` : ""}`
    const service = graph === undefined ? this.service : this.serviceOf(graph)
    await this.#post(`/${service}${path}`, JSON.stringify(activation), { patience: SEND_PATIENCE })
  }

  /** Resolves when the activation is over; when Restate has stored it, if that takes long or there are many. */
  async execute(activation: Activation, now: number): Promise<void> {
    if (this.#executed >= MAX_EXECUTED) return await this.activate(activation, now)
    await this.#watch("activate", JSON.stringify(activation), {})
  }

  /** The reply of the worker that creates and executes the run. Undefined if there is none: it has to be created otherwise. */
  async start(run: RunStart): Promise<StartReply | undefined> {
    const text = JSON.stringify(run)
    if (this.#executed >= MAX_EXECUTED || Buffer.byteLength(text) > MAX_MESSAGE) return undefined
    // Workers of an earlier version do not have the handler.
    return (await this.#watch("start", text, { rounds: 1, isOptional: true })) as StartReply | undefined
  }

  /** The reply of a call that lasts as long as a run executes. Undefined if that takes long. */
  async #watch(handler: string, text: string, how: Sending): Promise<unknown> {
    this.#executed++
    const signal = AbortSignal.any([AbortSignal.timeout(EXECUTE_PATIENCE), this.#closed.signal])
    try {
      return await this.#post(`/${this.service}/${handler}`, text, { ...how, signal })
    } catch (error) {
      if (!signal.aborted) throw error
      return undefined
    } finally {
      this.#executed--
    }
  }

  /** The outcome. Undefined if no worker takes the mail in time: it goes through the store. */
  async deliver(mail: BroughtMail): Promise<MailReply | undefined> {
    const text = JSON.stringify(mail)
    if (Buffer.byteLength(text) > MAX_MESSAGE) return undefined
    const signal = AbortSignal.any([AbortSignal.timeout(DELIVER_PATIENCE), this.#closed.signal])
    try {
      const found = await this.#post(`/${this.service}/deliver`, text, { signal, rounds: 1 })
      return (found as { outcome?: MailReply } | undefined)?.outcome
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }

  /**
   * Calls a handler, and resolves with its result. Under the same key, within a day, the handler runs once: a call that breaks is
   * made again, for as long as it takes. `graph`: it goes to workers that have it,
   * if there are any.
   */
  async call(handler: string, key: string, text: string, graph?: string): Promise<unknown> {
    while (this.#calls >= MAX_CALLS) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#calls++
    try {
      const headers = { "idempotency-key": key }
      const found = graph && (await this.#post(`/${this.serviceOf(graph)}/${handler}`, text, { headers }))
      return found ?? (await this.#post(`/${this.service}/${handler}`, text, { headers }))
    } finally {
      this.#calls--
      this.#waiting.shift()?.()
    }
  }

  /** Ends requests in progress: their results are there for the next caller. */
  close(): void {
    this.#closed.abort()
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  /** Undefined if no worker has the graph that the service is for, or an optional handler. */
  async #post(path: string, text: string, how: Sending): Promise<unknown> {
    const { headers = {}, patience, signal: end = this.#closed.signal } = how
    const isEndless = patience === undefined && how.signal === undefined
    const rounds = isEndless ? Number.POSITIVE_INFINITY : (how.rounds ?? ROUNDS) * this.#nodes.length
    let problem: unknown
    for (let round = 0; round < rounds && !this.#closed.signal.aborted && !end.aborted; round++) {
      const node = this.#current % this.#nodes.length
      const url = `${this.#nodes[node]}${path}`
      try {
        const all = { "content-type": "application/json", ...this.#headers, ...headers }
        const signal = patience === undefined ? end : AbortSignal.timeout(patience)
        const { status, body } = await this.#request(url, text, all, signal)
        if (status >= 200 && status < 300) return parsed(body)
        const mayMiss = how.isOptional || !path.startsWith(`/${this.service}/`)
        if (status === 404 && mayMiss) return undefined
        problem = new Error(`${status} ${body.slice(0, 500)}`)
        if (status < 500 && status !== 404 && status !== 429) break
      } catch (error) {
        problem = error
      }
      if (this.#current % this.#nodes.length === node) this.#current++
      if (round < rounds - 1 && round % this.#nodes.length === this.#nodes.length - 1) {
        await pause(Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** Math.floor(round / this.#nodes.length)))
      }
    }
    const why = problem instanceof Error ? `: ${causeOf(problem)}` : ""
    const message = `Restate at ${this.#nodes.join(", ")} did not take a request${why}. Runs continue when it answers again.`
    throw new SuperstepError("RESTATE_UNREACHABLE", message, { cause: problem })
  }

  /** Not by `fetch`, which takes half a millisecond longer: a tenth of an answer. */
  async #request(
    url: string,
    text: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Reply> {
    const { http, https } = this.#agents
    const all = { ...headers, "content-length": Buffer.byteLength(text) }
    const how = { method: "POST", headers: all, signal }
    for (;;) {
      const request = url.startsWith("https:")
        ? httpsRequest(url, { ...how, agent: https })
        : httpRequest(url, { ...how, agent: http })
      try {
        return await replied(request, text)
      } catch (error) {
        // The server closed an idle connection just when it was used again.
        const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === "ECONNRESET"
        if (!isStale || signal.aborted) throw error
      }
    }
  }
}

interface Reply {
  readonly status: number
  readonly body: string
}

function replied(request: ClientRequest, text: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    request.once("error", reject)
    request.once("response", (response) => {
      let body = ""
      response.setEncoding("utf8")
      response.on("data", (part: string) => {
        body += part
      })
      response.once("error", reject)
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body }))
    })
    request.end(text)
  })
}

interface Sending {
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for each attempt; absent: any time. */
  readonly patience?: number
  /** Ends the attempts. */
  readonly signal?: AbortSignal
  /** Over all nodes. */
  readonly rounds?: number
  readonly isOptional?: boolean
}

/** A handler that returns nothing has an empty reply. */
function parsed(text: string): unknown {
  return text === "" ? undefined : JSON.parse(text)
}

/** A connection that was tried at several addresses fails without a message of its own. */
function causeOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return first instanceof Error ? first.message : error.message
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function checkedUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw optionInvalid(
      `restate must be an http address such as http://localhost:8080, not ${JSON.stringify(text)}`,
    )
  return text.replace(/\/+$/, "")
}

export function optionInvalid(message: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad Restate option: ${message}.`)
}
