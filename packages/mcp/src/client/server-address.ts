/** Where an MCP server is: a program to start, or an address to call. */
import { SuperstepError } from "@superstep/engine"

export interface McpProgram {
  /** How it is called in errors and logs. Default: the command, without its folder. */
  readonly name?: string | undefined
  readonly command: string
  readonly args?: readonly string[] | undefined
  /** Its variables; `${env.NAME}` in them is filled from ours. Of our own it gets PATH and HOME alone. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
}

export interface McpUrl {
  /** How it is called in errors and logs. Default: the host. */
  readonly name?: string | undefined
  readonly url: string | URL
  /** Default `streamable-http`. */
  readonly transport?: "streamable-http" | "sse" | undefined
  /** Sent with every request to that origin, and to no other; `${env.NAME}` is filled from our environment. Never logged. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Addresses that are not of the public internet: those or networks (`10.1.0.0/16`), or true for all but the metadata
   * services of clouds. Default: the one that `url` itself names, as an IP address or `localhost`.
   */
  readonly allowPrivate?: boolean | readonly string[] | undefined
}

export type McpServerAddress = McpProgram | McpUrl

export function isProgram(address: McpServerAddress): address is McpProgram {
  return "command" in address && address.command !== undefined
}

/** Addresses come from configuration files too: they are checked before anything is started. */
export function checkAddress(address: McpServerAddress): void {
  if (typeof address !== "object" || address === null) throw invalid("give { command, args } or { url }.")
  if (isProgram(address)) {
    if ("url" in address) throw invalid("give a command or a url, not both.")
    if (typeof address.command !== "string" || address.command.trim() === "") {
      throw invalid("command is the program to start; its arguments go in args.")
    }
    if (address.args !== undefined && !isTextList(address.args)) throw invalid("args is a list of texts.")
    if (address.env !== undefined && !isTextList(Object.values(address.env))) {
      throw invalid("env is { NAME: text }.")
    }
    return
  }
  checkUrl(address)
}

function checkUrl({ url, transport, headers }: McpUrl): void {
  if (url === undefined) throw invalid("give { command, args } or { url }.")
  if (!URL.canParse(String(url)) || !/^https?:$/.test(new URL(url).protocol)) {
    throw invalid("url is an address that begins with http:// or https://.")
  }
  const { username, password } = new URL(url)
  if (username !== "" || password !== "") {
    throw invalid("url has a user name or password in it; put them in headers, as { authorization: … }.")
  }
  if (transport !== undefined && transport !== "streamable-http" && transport !== "sse") {
    throw invalid(`transport is "streamable-http" or "sse", not ${JSON.stringify(transport)}.`)
  }
  if (headers === undefined) return
  try {
    new Headers(headers)
  } catch {
    // What is wrong with a header may be said by its value, which is a secret.
    throw invalid("headers is { name: text }, with names and values that HTTP takes.")
  }
}

function isTextList(values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => typeof value === "string")
}

export function nameOf(address: McpServerAddress): string {
  if (address.name !== undefined && address.name !== "") return address.name
  if (isProgram(address)) return address.command.split(/[/\\]/).at(-1) ?? address.command
  return new URL(address.url).host
}

function invalid(reason: string): SuperstepError {
  return new SuperstepError("MCP_SERVER_INVALID", `An MCP server: ${reason}`, { retryable: false })
}
