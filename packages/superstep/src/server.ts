/** Serves workflows over HTTP. */
export {
  createServer,
  type Listening,
  type ListenOptions,
  listen,
  nodeHandler,
  type Principal,
  type RequestLog,
  type Role,
  type Server,
  type ServerOptions,
} from "@superstep/server"
