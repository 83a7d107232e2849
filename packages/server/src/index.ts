/** Superstep workflows over HTTP. */
export type { Access, Authorize, Principal, PrincipalKey, Role } from "./access.ts"
export type { RequestLog } from "./access-log.ts"
export type { AuditOptions } from "./audit-log.ts"
export {
  type ApiKey,
  apiKeys,
  createKey,
  type KeyOptions,
  type KeyStore,
  listKeys,
  type NewApiKey,
  revokeKey,
} from "./auth/api-keys.ts"
export type { Auth } from "./auth/authenticate.ts"
export { type JwtOptions, jwt } from "./auth/jwt.ts"
export { type Listening, type ListenOptions, listen, nodeHandler } from "./listen.ts"
export { createServer, type Server, type ServerOptions } from "./server.ts"
