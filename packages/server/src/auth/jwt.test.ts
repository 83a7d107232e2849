/** Tokens of an identity provider: which are accepted, and as whom. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from "jose"
import { expect, test } from "vitest"
import { served } from "../serve.test-support.ts"
import { apiKeys } from "./api-keys.ts"
import { type JwtOptions, jwt } from "./jwt.ts"

const SECRET = "0123456789abcdef0123456789abcdef"
const base = { issuer: "https://id.example.com", audience: "superstep" }
const claims: JwtOptions["claims"] = ({ role, tenant }) =>
  typeof tenant === "string" ? { role: role as "viewer", tenant } : undefined

function token(payload: JWTPayload = {}): SignJWT {
  return new SignJWT({ role: "operator", tenant: "a", ...payload })
    .setIssuer(base.issuer)
    .setAudience(base.audience)
    .setSubject("ada")
    .setExpirationTime("5m")
}
const bytes = (text: string) => new TextEncoder().encode(text)
const hmac = (made: SignJWT, secret = SECRET) => made.setProtectedHeader({ alg: "HS256" }).sign(bytes(secret))

const who = async (options: JwtOptions, text: string) =>
  await jwt(options)(new Request("http://local/", { headers: { authorization: `Bearer ${text}` } }))

test("a valid token is its subject, with the role and the tenant of its claims", async () => {
  const options = { ...base, secret: SECRET, claims }
  expect(await who(options, await hmac(token()))).toEqual({ id: "user:ada", role: "operator", tenant: "a" })
  const { server } = served()
  expect(server.isOpen).toBe(false)
})

test("every other token is nobody's", async () => {
  const options = { ...base, secret: SECRET, claims }
  const { privateKey } = await generateKeyPair("RS256")
  const unsigned = new UnsecuredJWT({ role: "admin", tenant: "a" })
    .setIssuer(base.issuer)
    .setAudience(base.audience)
    .setSubject("ada")
    .setExpirationTime("5m")
    .encode()
  const wrong = {
    "another secret": await hmac(token(), `${SECRET}x`),
    "another issuer": await hmac(token().setIssuer("https://other.example.com")),
    "another audience": await hmac(token().setAudience("other")),
    expired: await hmac(token().setExpirationTime("-5m")),
    "not yet valid": await hmac(token().setNotBefore("5m")),
    "without an end": await hmac(
      new SignJWT({ role: "admin", tenant: "a" })
        .setIssuer(base.issuer)
        .setAudience(base.audience)
        .setSubject("x"),
    ),
    "without a tenant": await hmac(token({ tenant: undefined })),
    "with a role that does not exist": await hmac(token({ role: "root" })),
    "of another algorithm": await token().setProtectedHeader({ alg: "RS256" }).sign(privateKey),
    "of an algorithm that is not allowed": await token()
      .setProtectedHeader({ alg: "HS512" })
      .sign(bytes(SECRET.repeat(2))),
    unsigned: `${unsigned}x`,
    "unsigned, without a signature": unsigned,
    changed: (await hmac(token())).replace(/^[^.]+\.[^.]+/, "eyJhbGciOiJIUzI1NiJ9.e30"),
    "no token": "a.b.c",
  }
  for (const [name, text] of Object.entries(wrong)) expect(await who(options, text), name).toBeUndefined()
  expect(await who(options, await hmac(token().setExpirationTime("-10s")))).toMatchObject({ id: "user:ada" })
})

test("a public key is no secret: a token that is signed with it as one is refused", async () => {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true })
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: "one", alg: "RS256" }
  const options = { ...base, jwks: { keys: [jwk] }, claims }
  const signed = await token().setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey)
  expect(await who(options, signed)).toMatchObject({ id: "user:ada" })
  const confused = await token()
    .setProtectedHeader({ alg: "HS256", kid: "one" })
    .sign(bytes(JSON.stringify(jwk)))
  expect(await who(options, confused)).toBeUndefined()
})

test("keys are found by the issuer's discovery document; while it is away, that is no verdict", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" }
  let isAway = true
  const provider = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    response.statusCode = isAway ? 500 : 200
    const isDocument = request.url === "/.well-known/openid-configuration"
    response.end(JSON.stringify(isDocument ? { issuer, jwks_uri: `${issuer}/keys` } : { keys: [jwk] }))
  })
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
  try {
    const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    const signed = await token()
      .setIssuer(issuer)
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .sign(privateKey)
    const auth = jwt({ ...base, issuer, claims })
    const { ask } = served({ auth: [auth] })
    expect((await ask("GET", "/v1/runs", { key: signed })).status).toBe(503)
    isAway = false
    expect((await ask("GET", "/v1/runs", { key: signed })).status).toBe(200)
  } finally {
    await new Promise((resolve) => provider.close(resolve))
  }
})

test("keys and tokens work side by side", async () => {
  const { store } = served()
  const { ask, key } = served({ auth: [apiKeys(store), jwt({ ...base, secret: SECRET, claims })] })
  expect((await ask("GET", "/v1/runs", { key: await hmac(token()) })).status).toBe(200)
  // A key of another store.
  expect((await ask("GET", "/v1/runs", { key: await key({}) })).status).toBe(401)
})

test.each([
  ["none", { secret: SECRET, algorithms: ["none"] }],
  ["HMAC with public keys", { jwks: { keys: [] }, algorithms: ["RS256", "HS256"] }],
  ["a short secret", { secret: "short" }],
  ["keys over plain HTTP", { jwks: "http://id.example.com/keys" }],
  ["an issuer over plain HTTP", { issuer: "http://id.example.com" }],
  ["secret and keys", { secret: SECRET, jwks: { keys: [] } }],
  ["no algorithm", { secret: SECRET, algorithms: [] }],
])("%s is refused when the server is created", (_, more) => {
  expect(() => jwt({ ...base, claims, ...more })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }))
})
