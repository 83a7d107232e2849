/** Superstep workflows over HTTP. */
export { createServer, type Principal, type Server, type ServerOptions } from "./server.ts"
