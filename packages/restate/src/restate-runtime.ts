/** Runtimes whose runs are brought to workers by Restate. */
import { type Dispatcher, Runtime, type RuntimeOptions, systemClock } from "@superstep/engine"
import { Ingress, type IngressOptions } from "./ingress.ts"
import { Spreader } from "./spreader.ts"

export interface RestateRuntimeOptions extends Omit<RuntimeOptions, "dispatcher">, IngressOptions {}

/**
 * A runtime for programs that start, watch and answer runs, and leave their execution to workers (`restateEndpoint`). It has
 * everything that a `Runtime` has, and is one: servers and consumers take it as they are.
 */
export class RestateRuntime extends Runtime {
  readonly #ingress: Ingress

  constructor({ restate, service, headers, ...options }: RestateRuntimeOptions) {
    const ingress = new Ingress({ restate, service, headers })
    super({ recover: false, ...options, dispatcher: restateDispatcher(ingress, options.clock) })
    this.#ingress = ingress
  }

  override async close(options?: { readonly grace?: number | undefined }): Promise<void> {
    await super.close(options)
    this.#ingress.close()
  }
}

export function restateDispatcher(ingress: Ingress, clock = systemClock): Dispatcher {
  const spreader = new Spreader(ingress)
  return {
    activate: (run, at, graph) => ingress.activate({ run, at }, clock.now(), graph),
    execute: (run) => ingress.execute({ run }, clock.now()),
    start: (run) => ingress.start(run),
    deliver: (mail) => ingress.deliver(mail),
    perform: (task, state) => spreader.perform(task, state),
  }
}
