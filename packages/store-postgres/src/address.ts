/** Where the server is: connection strings, how they are shown, and what the driver gets. */
import { optionInvalid } from "./errors.ts"

/** As Node's `tls.connect` takes them. */
export interface TlsOptions {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly passphrase?: string | undefined
  readonly servername?: string | undefined
  readonly rejectUnauthorized?: boolean | undefined
}

/** As the driver takes it. Its parts can be copied to a thread. */
export interface ConnectionConfig {
  readonly connectionString?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly database?: string | undefined
  readonly ssl?: unknown
}

/** What the driver itself would take for TLS out of the query of a URL. */
const TLS_PARAMETERS = ["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslnegotiation"]

/** Throws OPTION_INVALID, which does not repeat the URL: it has a password. */
export function connectionConfig(
  option: string,
  url: unknown,
  tls: boolean | TlsOptions | undefined,
): ConnectionConfig {
  const parsed = parseUrl(option, url)
  if (tls === undefined) return { connectionString: parsed.href }
  for (const name of TLS_PARAMETERS) parsed.searchParams.delete(name)
  return { connectionString: parsed.href, ssl: tls === true ? {} : tls }
}

function parseUrl(option: string, url: unknown): URL {
  const form = "postgres://user:password@host:5432/database"
  if (typeof url !== "string") throw optionInvalid(`${option} is a string such as ${form}, not ${typeof url}`)
  if (!/^postgres(?:ql)?:\/\//.test(url)) throw optionInvalid(`${option} does not begin with postgres://`)
  try {
    return new URL(url)
  } catch {
    throw optionInvalid(
      `${option} cannot be read; write it as ${form}, with special characters of the password encoded (encodeURIComponent)`,
    )
  }
}

/** For messages: without password and parameters. */
export function shownAddress(config: ConnectionConfig): string {
  if (config.connectionString === undefined) {
    const { user, host = "localhost", port = 5432, database } = config
    return `${user === undefined ? "" : `${user}@`}${host}:${port}/${database ?? ""}`
  }
  try {
    const { username, hostname, port, pathname } = new URL(config.connectionString)
    return `${username === "" ? "" : `${username}@`}${hostname || "localhost"}:${port || 5432}${pathname}`
  } catch {
    return "an address that cannot be shown"
  }
}

/** Throws OPTION_INVALID. */
export function checkTls(tls: unknown): asserts tls is boolean | TlsOptions | undefined {
  if (tls === undefined || typeof tls === "boolean") return
  if (typeof tls !== "object" || tls === null) {
    throw optionInvalid(`tls is true, false or an object such as { ca }, not ${JSON.stringify(tls)}`)
  }
  const known = ["ca", "cert", "key", "passphrase", "servername", "rejectUnauthorized"]
  const unknown = Object.keys(tls).find((name) => !known.includes(name))
  if (unknown !== undefined) throw optionInvalid(`tls has no "${unknown}"; it has ${known.join(", ")}`)
}
