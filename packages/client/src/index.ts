/** A client of a Superstep server, for browsers and Node. */
export {
  type Client,
  createClient,
  type RequestFilter,
  type Route,
  type RouteInput,
  type RouteOutput,
  type RunFilter,
  type RunHandle,
  type StartOptions,
} from "./client.ts"
export { ApiError } from "./error.ts"
export type { EventOptions } from "./events.ts"
export type * from "./generated/events.ts"
export type * from "./generated/routes.ts"
export type { ClientOptions } from "./transport.ts"
