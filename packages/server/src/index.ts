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
export { useDefinitions } from "./definitions/stored-definitions.ts"
export { type Listening, type ListenLimits, type ListenOptions, listen, nodeHandler } from "./listen.ts"
export type { ServedIndex, ServedIndexes } from "./served-indexes.ts"
export { createServer, type DefinitionFiles, type Server, type ServerOptions } from "./server.ts"
export type { StudioFiles } from "./studio.ts"
export type { WebhooksOptions } from "./webhooks/webhooks.ts"
