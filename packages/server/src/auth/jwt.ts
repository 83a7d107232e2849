/**
 * Tokens of an identity provider (JWT, OpenID Connect). Signature, issuer, audience and expiry are checked before a claim is
 * read; the algorithm must be one of those allowed, which never include `none`, nor HMAC together with public keys.
 */
import { SuperstepError } from "@superstep/engine"
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose"
import { type Principal, ROLES } from "../access.ts"
import { type Auth, bearerOf } from "./authenticate.ts"

export interface JwtOptions {
  readonly issuer: string
  readonly audience: string | readonly string[]
  /** Public keys: their address, or the keys. Without them and without `secret`, the issuer's discovery document names them. */
  readonly jwks?: string | JSONWebKeySet | undefined
  /** A shared secret for HMAC, at least 32 bytes. */
  readonly secret?: string | Uint8Array | undefined
  /** Default: HS256 with a secret; else RS256, PS256, ES256 and EdDSA. */
  readonly algorithms?: readonly string[] | undefined
  /** Seconds by which clocks may differ. Default: 30. */
  readonly clockTolerance?: number | undefined
  /** What the owner of these claims may do; undefined: nothing. Without a tenant, it sees everything. */
  readonly claims: (claims: JWTPayload) => Omit<Principal, "id" | "key"> | undefined
  /** Default: the global one. */
  readonly fetch?: typeof fetch | undefined
}

const PUBLIC = ["RS256", "PS256", "ES256", "EdDSA"]
const ALLOWED_PUBLIC = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/
const ALLOWED_SECRET = /^HS(?:256|384|512)$/
const MIN_SECRET = 32
const DISCOVERY_TIMEOUT = 5_000
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

type Key = Uint8Array | JWTVerifyGetKey

/** Throws OPTION_INVALID. */
export function jwt(options: JwtOptions): Auth {
  const { issuer, audience, secret, claims, clockTolerance = 30 } = options
  const algorithms = checkedAlgorithms(options)
  const keyOf = keyFrom(options)
  const checks = {
    issuer,
    audience: [audience].flat() as string[],
    algorithms,
    clockTolerance,
    requiredClaims: ["exp", "sub"],
  }
  return async (request) => {
    const token = bearerOf(request)
    if (token === undefined || !TOKEN.test(token)) return undefined
    const payload = await verified(async () => {
      const key = await keyOf()
      // The two calls differ in their types only.
      return typeof key === "function"
        ? await jwtVerify(token, key, checks)
        : await jwtVerify(token, key, checks)
    }, secret === undefined)
    const principal = payload && claims(payload)
    if (payload === undefined || principal === undefined || !ROLES.includes(principal.role)) return undefined
    return { ...principal, id: `user:${payload.sub}` }
  }
}

/** The claims of a valid token. A token that is not valid is nobody's; keys that cannot be fetched are a failure. */
async function verified(
  verify: () => Promise<{ readonly payload: JWTPayload }>,
  isRemote: boolean,
): Promise<JWTPayload | undefined> {
  try {
    return (await verify()).payload
  } catch (error) {
    // The class itself, and the timeout, are of keys that could not be fetched.
    const isOfKeys = error instanceof errors.JWKSTimeout || (error as Error).constructor === errors.JOSEError
    if (error instanceof errors.JOSEError && !isOfKeys) return undefined
    if (!isRemote) throw error
    const text = "The keys of the identity provider cannot be fetched: try again later."
    throw new SuperstepError("AUTH_UNAVAILABLE", text, { cause: error })
  }
}

function keyFrom(options: JwtOptions): () => Key | Promise<Key> {
  const { issuer, jwks, secret } = options
  if (secret !== undefined) {
    const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret
    if (bytes.length < MIN_SECRET) throw invalid(`secret must have at least ${MIN_SECRET} bytes`)
    return () => bytes
  }
  if (typeof jwks === "object") {
    const set = createLocalJWKSet(jwks)
    return () => set
  }
  if (jwks !== undefined) {
    const set = createRemoteJWKSet(secureUrl(jwks))
    return () => set
  }
  secureUrl(issuer)
  let discovered: Promise<Key> | undefined
  return () => {
    discovered ??= discover(options).catch((error: unknown) => {
      // The next request tries again.
      discovered = undefined
      throw error
    })
    return discovered
  }
}

/** OpenID Connect Discovery 1.0. */
async function discover({ issuer, fetch: ask = fetch }: JwtOptions): Promise<Key> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
  const response = await ask(url, { redirect: "error", signal: AbortSignal.timeout(DISCOVERY_TIMEOUT) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}.`)
  const found = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown }
  if (found.issuer !== issuer) throw new Error(`${url} is the document of another issuer.`)
  return createRemoteJWKSet(secureUrl(String(found.jwks_uri)))
}

function checkedAlgorithms({ algorithms, secret, jwks }: JwtOptions): string[] {
  if (secret !== undefined && jwks !== undefined) throw invalid("give either secret or jwks")
  const chosen = algorithms ?? (secret === undefined ? PUBLIC : ["HS256"])
  const allowed = secret === undefined ? ALLOWED_PUBLIC : ALLOWED_SECRET
  const refused = chosen.find((one) => !allowed.test(one))
  if (refused !== undefined) throw invalid(`algorithm "${refused}" is not allowed with these keys`)
  if (chosen.length === 0) throw invalid("algorithms must not be empty")
  return [...chosen]
}

/** Keys that come over a connection that others can change prove nothing. */
function secureUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = ["127.0.0.1", "[::1]", "localhost"].includes(url?.hostname ?? "")
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return url
  throw invalid(`"${text}" is not an https address`)
}

function invalid(what: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `jwt: ${what}.`)
}
