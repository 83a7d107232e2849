/**
 * Logins at remote servers (OAuth 2.1): tokens that a person obtained in a browser, or that the client gets with its own
 * secret. Discovery, PKCE, registration and refresh are the SDK's.
 *
 * O1 Tokens are in one file that only its owner can read, and in no journal, log or error: they are masked like headers.
 * O2 Requests to an authorization server, whose address the MCP server chooses, keep to the network rules of that server
 *    (F0), and never carry its headers (F4). Tokens and secrets go to https or loopback addresses only, and a configured
 *    secret to its `issuer` only.
 * O3 A token that expired is refreshed once for all pending requests: a refresh token may be valid only once.
 * O4 A run never waits for a browser: without a valid token it fails, and the error says how to log in.
 */
import { randomBytes } from "node:crypto"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import {
  type AuthProvider,
  auth,
  ClientCredentialsProvider,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  UnauthorizedError,
} from "@modelcontextprotocol/client"
import { SuperstepError } from "@superstep/engine"
import { namedPrivate } from "@superstep/engine/tools"
import { explain, guardedFetch } from "./connection-errors.ts"
import { TokenFile } from "./oauth-tokens.ts"
import {
  checkAddress,
  filledAddress,
  type McpUrl,
  type OAuthOptions,
  ServerSecrets,
  serverName,
} from "./server-address.ts"

type OAuthUrl = McpUrl & { readonly oauth: OAuthOptions }

/** The tokens for the requests of a connection. `address` is complete: its variables are filled in. */
export function authProvider(address: OAuthUrl, secrets: ServerSecrets): AuthProvider {
  const provider = masked(providerFor(address), secrets)
  let used: string | undefined
  let refreshing: Promise<void> | undefined
  return {
    async token() {
      used = (await provider.tokens())?.access_token
      return used
    },
    onUnauthorized({ response, serverUrl, fetchFn }) {
      const refused = used
      refreshing ??= (async () => {
        // Another process may have refreshed it.
        const { access_token: stored } = (await provider.tokens()) ?? {}
        if (stored !== undefined && stored !== refused) return
        const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
        const result = await auth(provider, {
          serverUrl,
          fetchFn,
          ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
          ...(scope !== undefined && { scope }),
        })
        if (result !== "AUTHORIZED") throw new UnauthorizedError()
      })().finally(() => {
        refreshing = undefined
      })
      return refreshing
    },
  }
}

function providerFor(address: OAuthUrl): OAuthClientProvider {
  const { grant, clientId, clientSecret, issuer, scopes } = address.oauth
  if (grant !== "client_credentials") return new StoredLogin(address)
  return new ClientCredentialsProvider({
    // `checkAddress` requires all of them.
    clientId: clientId ?? "",
    clientSecret: clientSecret ?? "",
    ...(issuer !== undefined && { expectedIssuer: issuer }),
    clientName: "Superstep",
    ...(scopes !== undefined && { scope: scopes.join(" ") }),
  })
}

/** O1 Every token that passes is masked from then on. */
function masked(provider: OAuthClientProvider, secrets: ServerSecrets): OAuthClientProvider {
  const tokens = provider.tokens.bind(provider)
  const saveTokens = provider.saveTokens.bind(provider)
  const hide = (known: StoredOAuthTokens | undefined) => {
    const { access_token, refresh_token, id_token } = known ?? {}
    secrets.add([access_token, refresh_token, id_token])
    return known
  }
  provider.tokens = async (context) => hide(await tokens(context))
  provider.saveTokens = async (saved, context) => {
    hide(saved)
    await saveTokens(saved, context)
  }
  return provider
}

/** A login that is kept in a file. Without `onLogin` it cannot be renewed but by its refresh token. */
class StoredLogin implements OAuthClientProvider {
  readonly #address: OAuthUrl
  readonly #file: TokenFile
  readonly #onLogin: ((url: URL) => void) | undefined
  #verifier = ""
  #discovery: OAuthDiscoveryState | undefined
  readonly #state = randomBytes(32).toString("base64url")
  readonly redirectUrl: string

  constructor(
    address: OAuthUrl,
    login?: { readonly redirectUrl: string; readonly onLogin: (url: URL) => void },
  ) {
    this.#address = address
    this.#file = new TokenFile(address.oauth.tokenFile, String(address.url))
    this.#onLogin = login?.onLogin
    this.redirectUrl = login?.redirectUrl ?? "http://127.0.0.1/callback"
  }

  get clientMetadata(): OAuthClientMetadata {
    const { scopes, clientSecret } = this.#address.oauth
    return {
      client_name: "Superstep",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: clientSecret === undefined ? "none" : "client_secret_basic",
      ...(scopes !== undefined && { scope: scopes.join(" ") }),
    }
  }

  state(): string {
    return this.#state
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret, issuer } = this.#address.oauth
    if (clientId !== undefined) {
      return {
        client_id: clientId,
        ...(clientSecret !== undefined && { client_secret: clientSecret }),
        ...(issuer !== undefined && { issuer }),
      }
    }
    const { client } = this.#file.read()
    // A client is registered for its redirect address, whose port is another one each time.
    const registered = (client as { redirect_uris?: readonly string[] } | undefined)?.redirect_uris
    const isCurrent =
      this.#onLogin === undefined || registered === undefined || registered.includes(this.redirectUrl)
    return isCurrent ? client : undefined
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    if (this.#address.oauth.clientId === undefined) this.#file.write({ client })
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#file.read().tokens
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#file.write({ tokens })
  }

  redirectToAuthorization(url: URL): void {
    if (this.#onLogin === undefined) throw new UnauthorizedError()
    this.#onLogin(url)
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#discovery = discovery
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery
  }

  invalidateCredentials(what: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (what === "all" || what === "discovery") this.#discovery = undefined
    if (what === "all" || what === "verifier") this.#verifier = ""
    if (what === "all" || what === "client") this.#file.write({ client: undefined })
    if (what === "all" || what === "tokens") this.#file.write({ tokens: undefined })
  }
}

export interface McpLoginOptions {
  /** Shows the address of the login page to the person, or opens it in a browser. */
  readonly open: (url: URL) => void
  readonly signal?: AbortSignal | undefined
  /** Milliseconds to wait for the person. Default 300,000. */
  readonly timeout?: number | undefined
}

/** Logs in at a remote server in a browser: authorization code with PKCE, and a redirect to this machine. */
export async function mcpLogin(address: McpUrl, options: McpLoginOptions): Promise<void> {
  checkAddress(address)
  const filled = filledAddress({ ...address, oauth: address.oauth ?? {} }) as OAuthUrl
  const callback = await Callback.listening(filled.oauth.callbackPort ?? 0)
  try {
    await login(filled, callback, options)
  } finally {
    callback.close()
  }
}

async function login(address: OAuthUrl, callback: Callback, options: McpLoginOptions): Promise<void> {
  const { open, signal, timeout = 300_000 } = options
  const url = new URL(address.url)
  const server = serverName(address)
  const secrets = new ServerSecrets(address)
  let refused: SuperstepError | undefined
  const fetchFn = guardedFetch({
    server,
    own: { url, headers: address.headers ?? {} },
    maxMessage: 1_000_000,
    network: { allowPrivate: address.allowPrivate ?? namedPrivate(url) },
    onRefused: (error) => {
      refused = error
    },
  })
  const stop = AbortSignal.any([AbortSignal.timeout(timeout), ...(signal === undefined ? [] : [signal])])
  const onLogin = (page: URL) => open(loginPage(server, page))
  const stored = new StoredLogin(address, { redirectUrl: callback.url, onLogin })
  const provider = masked(stored, secrets)
  try {
    const flow = { serverUrl: url, fetchFn, ...(await challenge(url, fetchFn)) }
    if ((await auth(provider, { ...flow, forceReauthorization: true })) === "AUTHORIZED") return
    const { code, iss } = await callback.code(stored.state(), stop)
    await auth(provider, { ...flow, authorizationCode: code, ...(iss !== undefined && { iss }) })
  } catch (error) {
    throw refused ?? explain(error, { server, hidden: secrets.masking, stderr: "" })
  }
}

/** What the server says to a request without a token. */
async function challenge(
  url: URL,
  fetchFn: FetchLike,
): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const response = await fetchFn(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
  })
  await response.body?.cancel()
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
  return {
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    ...(scope !== undefined && { scope }),
  }
}

/** The server chooses the address that a browser opens. */
function loginPage(server: string, page: URL): URL {
  const isLocal = page.protocol === "http:" && namedPrivate(page).length > 0
  if (page.protocol === "https:" || isLocal) return page
  const text = `The login page of the MCP server "${server}" has an address that is neither https nor on this machine.`
  throw new SuperstepError("MCP_ADDRESS_REFUSED", text, { retryable: false })
}

/** The page on this machine that the browser returns to. */
class Callback {
  readonly url: string
  readonly #server: Server
  readonly #arrived: Promise<URLSearchParams>

  static async listening(port: number): Promise<Callback> {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, "127.0.0.1", resolve)
    })
    return new Callback(server)
  }

  constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
    this.#arrived = new Promise((resolve) => {
      server.on("request", (request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? "/", this.url)
        const isReturn = pathname === "/callback" && (searchParams.has("code") || searchParams.has("error"))
        response.writeHead(isReturn ? 200 : 404, { "content-type": "text/plain; charset=utf-8" })
        response.end(isReturn ? "You can close this page and return to the terminal.\n" : "Not found.\n")
        if (isReturn) resolve(searchParams)
      })
    })
  }

  async code(state: string, signal: AbortSignal): Promise<{ code: string; iss?: string }> {
    const stopped = new Promise<never>((_, reject) => {
      const onAbort = () =>
        reject(new SuperstepError("MCP_UNAUTHORIZED", "Nobody logged in.", { retryable: false }))
      if (signal.aborted) onAbort()
      else signal.addEventListener("abort", onAbort, { once: true })
    })
    const params = await Promise.race([this.#arrived, stopped])
    const code = params.get("code")
    const iss = params.get("iss")
    if (params.get("state") !== state) throw loginFailed("the answer does not belong to this login")
    if (code === null) throw loginFailed(`${params.get("error_description") ?? params.get("error")}`)
    return { code, ...(iss !== null && { iss }) }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function loginFailed(why: string): SuperstepError {
  return new SuperstepError("MCP_UNAUTHORIZED", `The login failed: ${why.slice(0, 300)}.`, {
    retryable: false,
  })
}
