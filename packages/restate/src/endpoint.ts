/**
 * A worker of a Restate cluster: answers Restate's invocations by executing runs. An invocation `activate` claims its run in the
 * store, executes it until it ends or waits, and returns. Restate repeats an invocation whose worker died on another worker,
 * which claims the run as soon as the store agrees that its holder is gone (`runtime.worker.activate`).
 *
 * Nothing of a run is in Restate's journal: the store has all of it. So `activate` records nothing, and repeating it is always safe.
 * An invocation `perform` calls handlers of tasks whose run executes elsewhere; it records their outcomes until that run has them.
 */
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2"
import type { AddressInfo } from "node:net"
import { type Context, type RetryPolicy, service } from "@restatedev/restate-sdk"
import { createEndpointHandler as fetchHandler } from "@restatedev/restate-sdk/fetch"
import { createEndpointHandler as nodeHandler } from "@restatedev/restate-sdk/node"
import {
  type BroughtMail,
  type MailReply,
  type Rest,
  type RunId,
  type RunStart,
  Runtime,
  type RuntimeOptions,
  type StartReply,
} from "@superstep/engine"
import { type Activation, Ingress, type IngressOptions, optionInvalid } from "./ingress.ts"
import { performChunk } from "./perform-chunk.ts"
import { restateDispatcher } from "./restate-runtime.ts"
import { bounded, type Chunk, type ChunkOutcome } from "./spreader.ts"

export interface RestateEndpointOptions
  extends Omit<RuntimeOptions, "dispatcher" | "recover">,
    IngressOptions {
  /**
   * Milliseconds that a run may execute without a pause, at most: Restate repeats an invocation that is silent for longer. Default:
   * a day.
   */
  readonly longestRun?: number | undefined
  /** Public keys of the cluster: requests that it has not signed are refused. Default: every request is answered. */
  readonly identityKeys?: readonly string[] | undefined
}

export interface ListenOptions {
  /** Default: a free port. */
  readonly port?: number | undefined
  /** The address to listen on. Default: all. */
  readonly host?: string | undefined
}

export interface RestateEndpoint {
  /** Executes the runs; also starts and answers them, like any runtime. */
  readonly runtime: Runtime
  /** For `http2.createServer`. */
  readonly handler: (request: Http2ServerRequest, response: Http2ServerResponse) => void
  /** For platforms whose servers call a function of `Request`. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Serves Restate by HTTP/2, and begins to look after runs whose activation was lost. Resolves with the port. */
  listen(options?: ListenOptions): Promise<number>
  /** Stops serving, and releases every run: Restate brings them to other workers. */
  close(options?: { readonly grace?: number | undefined }): Promise<void>
}

const DAY = 86_400_000
/** Megabytes that one connection of Restate may buffer: all invocations of a worker share a few connections. */
const SESSION_MEMORY = 2_048

/** A worker that died is replaced at once; one that the store refuses is retried more and more slowly. Nothing is ever dropped. */
const RETRIES: RetryPolicy = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 10_000,
  onMaxAttempts: "pause",
}

export function restateEndpoint(options: RestateEndpointOptions): RestateEndpoint {
  polyfill()
  const { restate, service: name, headers, longestRun = DAY, identityKeys, ...rest } = options
  if (!(longestRun >= 1_000)) throw optionInvalid("longestRun must be milliseconds, at least 1000")
  const ingress = new Ingress({ restate, service: name, headers })
  const dispatcher = restateDispatcher(ingress, options.clock)
  const runtime = new Runtime({ ...rest, dispatcher })
  const activate = async (_: Context, { run, at }: Activation): Promise<void> => {
    await next(run, await runtime.worker.activate(run, at), at)
  }
  const start = async (_: Context, run: RunStart): Promise<StartReply> => {
    const { wakeAt, graph, ...reply } = await runtime.worker.start(run)
    await next(run.runId, { wakeAt, graph })
    return reply
  }
  const next = async (run: RunId, { wakeAt, graph }: Rest, at?: number): Promise<void> => {
    // Workers of its version are alive, and find it in the store if Restate does not know them.
    if (graph !== undefined) await dispatcher.activate(run, at, graph)
    else if (wakeAt !== undefined) await dispatcher.activate(run, wakeAt)
  }
  const deliver = async (_: Context, mail: BroughtMail): Promise<{ outcome?: MailReply | undefined }> => ({
    outcome: await runtime.worker.deliver(mail),
  })
  const perform = (ctx: Context, { state, tasks }: Chunk): Promise<ChunkOutcome> =>
    performChunk(ctx, tasks, async (task) => bounded(task, await runtime.worker.perform(task, state)))
  // The first gets all activations of the version that was registered last; each of the others stays with the versions that have its graph.
  const graphs = runtime.worker.graphs.map((graph) => ingress.serviceOf(graph))
  const services = [ingress.service, ...graphs].map((name) =>
    service({
      name,
      handlers: { activate, start, deliver, perform },
      options: {
        inactivityTimeout: longestRun,
        abortTimeout: longestRun,
        journalRetention: 0,
        retryPolicy: RETRIES,
      },
    }),
  )
  const all = {
    services,
    // Restate shows the errors of invocations; problems of runs go to `onProblem`.
    logger: () => undefined,
    ...(identityKeys === undefined ? {} : { identityKeys: [...identityKeys] }),
  }
  const handler = nodeHandler(all)
  let server: Http2Server | undefined
  const sessions = new Set<ServerHttp2Session>()
  return {
    runtime,
    handler,
    fetch: fetchHandler(all) as (request: Request) => Promise<Response>,
    async listen({ port = 0, host } = {}) {
      const made = createServer({ maxSessionMemory: SESSION_MEMORY }, handler)
      made.on("session", (session) => {
        sessions.add(session)
        session.once("close", () => sessions.delete(session))
      })
      await new Promise<void>((resolve, reject) => {
        made.once("error", reject).listen({ port, ...(host === undefined ? {} : { host }) }, resolve)
      })
      server = made
      await runtime.recover()
      return (made.address() as AddressInfo).port
    },
    async close(how) {
      server?.close()
      ingress.close()
      await runtime.close(how)
      for (const session of sessions) session.destroy()
    },
  }
}

/** Node 20 does not have it, and the SDK uses it. */
function polyfill(): void {
  const known = Promise as { withResolvers?: unknown }
  known.withResolvers ??= function withResolvers<T>() {
    let resolve: (value: T | PromiseLike<T>) => void = () => undefined
    let reject: (reason?: unknown) => void = () => undefined
    const promise = new Promise<T>((yes, no) => {
      resolve = yes
      reject = no
    })
    return { promise, resolve, reject }
  }
}
