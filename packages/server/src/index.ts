/** Superstep workflows over HTTP. */
export type { Principal, Role } from "./access.ts"
export type { RequestLog } from "./access-log.ts"
export { type Listening, type ListenOptions, listen, nodeHandler } from "./listen.ts"
export { createServer, type Server, type ServerOptions } from "./server.ts"
