/** Superstep on a Restate cluster: the store has the runs, Restate brings them to workers. */
export {
  type ListenOptions,
  type RestateEndpoint,
  type RestateEndpointOptions,
  restateEndpoint,
} from "./endpoint.ts"
export type { IngressOptions } from "./ingress.ts"
export { type RegisterOptions, registerWorker } from "./register.ts"
export { RestateRuntime, type RestateRuntimeOptions } from "./restate-runtime.ts"
