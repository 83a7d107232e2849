/** Where an MCP server is: a program to start, or a URL to call. */
import { SuperstepError } from "@superstep/engine"
import { fillTemplate, headerSecrets, isSecretName, Masking } from "@superstep/engine/tools"

export interface McpProgram {
  /** Its name in errors and logs. Default: the command, without its folder. */
  readonly name?: string | undefined
  /** `${env.NAME}` in it, in `args`, `cwd` and `env` is replaced from the environment. */
  readonly command: string
  readonly args?: readonly string[] | undefined
  /** Its environment variables. It inherits PATH and HOME only. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
}

export interface McpUrl {
  /** Its name in errors and logs. Default: the host. */
  readonly name?: string | undefined
  /** `${env.NAME}` in it is replaced from the environment. */
  readonly url: string | URL
  /** Default `streamable-http`. */
  readonly transport?: "streamable-http" | "sse" | undefined
  /** Sent with every request to that origin, and to no other; `${env.NAME}` is replaced from the environment. Never logged. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Allowed addresses outside the public internet: addresses or networks (`10.1.0.0/16`), or true for all but the metadata
   * services of clouds. Default: the one that `url` itself names, as an IP address or `localhost`.
   */
  readonly allowPrivate?: boolean | readonly string[] | undefined
  /** Logs in with OAuth. `{}` is enough for a server that registers its clients. */
  readonly oauth?: OAuthOptions | undefined
}

export interface OAuthOptions {
  /**
   * `authorization_code`, the default: with the tokens of a person, who logs in with `superstep mcp login`.
   * `client_credentials`: as a client, with its own secret.
   */
  readonly grant?: "authorization_code" | "client_credentials" | undefined
  /** Default: the client is registered at the first login. `${env.NAME}` is replaced from the environment. */
  readonly clientId?: string | undefined
  /** `${env.NAME}` is replaced from the environment. Never logged. Needs `issuer`. */
  readonly clientSecret?: string | undefined
  /** The authorization server that gets the secret: its address, as in its metadata. The MCP server cannot choose another. */
  readonly issuer?: string | undefined
  /** Default: what the server asks for. */
  readonly scopes?: readonly string[] | undefined
  /** The port of the redirect to this machine, for authorization servers that know only one. Default: any that is free. */
  readonly callbackPort?: number | undefined
  /** Default `~/.superstep/mcp-tokens.json`. Only its owner can read it. */
  readonly tokenFile?: string | undefined
}

export type McpServerAddress = McpProgram | McpUrl

export function isProgram(address: McpServerAddress): address is McpProgram {
  return "command" in address && address.command !== undefined
}

/** Addresses may come from configuration files: they are checked before anything is started. */
export function checkAddress(address: McpServerAddress): void {
  if (typeof address !== "object" || address === null) throw invalid("write { command, args } or { url }.")
  if (isProgram(address)) {
    if ("url" in address) throw invalid("write a command or a url, not both.")
    if (typeof address.command !== "string" || address.command.trim() === "") {
      throw invalid("command must be the program to start; its arguments belong in args.")
    }
    if (address.args !== undefined && !isStringList(address.args))
      throw invalid("args must be a list of strings.")
    if (address.env !== undefined && !isStringList(Object.values(address.env))) {
      throw invalid("env must be { NAME: string }.")
    }
    return
  }
  checkUrl(address)
}

/** A URL that is complete only with the environment. */
function isTemplate(url: string | URL): boolean {
  return typeof url === "string" && /\$\{env\.\w+\}/.test(url)
}

function checkUrl({ url, transport, headers, oauth }: McpUrl): void {
  if (url === undefined) throw invalid("write { command, args } or { url }.")
  if (!isTemplate(url)) checkHttpUrl(url)
  if (transport !== undefined && transport !== "streamable-http" && transport !== "sse") {
    throw invalid(`transport must be "streamable-http" or "sse", not ${JSON.stringify(transport)}.`)
  }
  checkOAuth(oauth)
  if (headers === undefined) return
  try {
    new Headers(headers)
  } catch {
    // The error may quote the value, which is a secret.
    throw invalid("headers must be { name: string }, with names and values that are valid in HTTP.")
  }
}

function checkOAuth(oauth: OAuthOptions | undefined): void {
  if (oauth === undefined) return
  const { grant = "authorization_code", clientId, clientSecret, issuer, scopes, callbackPort } = oauth
  if (grant !== "authorization_code" && grant !== "client_credentials") {
    throw invalid(
      `oauth.grant must be "authorization_code" or "client_credentials", not ${JSON.stringify(grant)}.`,
    )
  }
  if (grant === "client_credentials" && (clientId === undefined || clientSecret === undefined)) {
    throw invalid("oauth with the grant client_credentials needs clientId and clientSecret.")
  }
  if (clientSecret !== undefined && (issuer === undefined || !URL.canParse(issuer))) {
    throw invalid(
      "oauth.clientSecret needs oauth.issuer, the address of the authorization server that gets it.",
    )
  }
  if (scopes !== undefined && !isStringList(scopes)) throw invalid("oauth.scopes must be a list of strings.")
  if (
    callbackPort !== undefined &&
    !(Number.isInteger(callbackPort) && callbackPort > 0 && callbackPort < 65_536)
  ) {
    throw invalid("oauth.callbackPort must be a port.")
  }
}

function checkHttpUrl(url: string | URL): void {
  if (!URL.canParse(String(url)) || !/^https?:$/.test(new URL(url).protocol)) {
    throw invalid("url must start with http:// or https://.")
  }
  const { username, password } = new URL(url)
  if (username !== "" || password !== "") {
    throw invalid(
      "url must not contain a user name or password; write them into headers, as { authorization: … }.",
    )
  }
}

function isStringList(values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => typeof value === "string")
}

export function serverName(address: McpServerAddress): string {
  if (address.name !== undefined && address.name !== "") return address.name
  if (isProgram(address)) return address.command.split(/[/\\]/).at(-1) ?? address.command
  return isTemplate(address.url) ? String(address.url) : new URL(address.url).host
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("MCP_SERVER_INVALID", `MCP server: ${reason}`, { retryable: false })
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Replaces `${env.NAME}`: keys stay in the environment until the server is started or called. Throws if a variable is
 * missing.
 */
export function filledAddress(address: McpServerAddress, env: Environment = process.env): McpServerAddress {
  const fill = (text: string) => fillTemplate(text, env)
  const filled = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text)]))
  if (!isProgram(address)) {
    const { url, headers, oauth } = address
    const complete = typeof url === "string" ? fill(url) : url
    checkHttpUrl(complete)
    return {
      ...address,
      url: complete,
      ...(headers !== undefined && { headers: filled(headers) }),
      ...(oauth !== undefined && { oauth: filledOAuth(oauth, fill) }),
    }
  }
  const { command, args, cwd, env: own } = address
  return {
    ...address,
    command: fill(command),
    ...(args !== undefined && { args: args.map(fill) }),
    ...(cwd !== undefined && { cwd: fill(cwd) }),
    ...(own !== undefined && { env: filled(own) }),
  }
}

function filledOAuth(oauth: OAuthOptions, fill: (text: string) => string): OAuthOptions {
  const { clientId, clientSecret } = oauth
  return {
    ...oauth,
    ...(clientId !== undefined && { clientId: fill(clientId) }),
    ...(clientSecret !== undefined && { clientSecret: fill(clientSecret) }),
  }
}

/** What must not be shown: the secrets of an address, and tokens that were obtained since. */
export class ServerSecrets {
  readonly #address: McpServerAddress
  readonly #more = new Set<string>()
  #masking: Masking | undefined

  constructor(address: McpServerAddress) {
    this.#address = address
  }

  /** Only read when the server is used, so that the variables of its address are set. */
  get masking(): Masking {
    this.#masking ??= Masking.of([...secretsOf(filledAddress(this.#address)), ...this.#more])
    return this.#masking
  }

  add(texts: readonly (string | undefined)[]): void {
    for (const text of texts) {
      if (text === undefined || this.#more.has(text)) continue
      this.#more.add(text)
      this.#masking = undefined
    }
  }
}

/** The secrets in an address: header values, and variables and parameters whose name looks like a secret. */
function secretsOf(address: McpServerAddress): readonly string[] {
  if (isProgram(address)) return secretValues(Object.entries(address.env ?? {}))
  const { url, headers = {}, oauth } = address
  const parameters = secretValues([...new URL(url).searchParams])
  return [
    ...parameters,
    ...headerSecrets(headers),
    ...(oauth?.clientSecret === undefined ? [] : [oauth.clientSecret]),
  ]
}

function secretValues(named: readonly (readonly [name: string, value: string])[]): string[] {
  // Google's services take their key in a parameter `key`.
  return named.flatMap(([name, value]) => (isSecretName(name) || /^key$/i.test(name) ? [value] : []))
}
