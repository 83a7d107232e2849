/** What went wrong with a server, as errors that say what to do. */
import { SseError } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { McpError } from "@modelcontextprotocol/sdk/types.js"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import type { Masking } from "@superstep/engine/tools"
import { OUR_CODE } from "./guarded-fetch.ts"

export interface Told {
  readonly server: string
  readonly hidden: Masking
  /** Without what is hidden. */
  readonly stderr: string
  readonly badLine: string | undefined
}

const MAX_TEXT = 1_000

export function disconnected(told: Told): SuperstepError {
  const text = `The MCP server "${told.server}" went away. What it was asked for may have happened all the same.${said(told)}`
  return new SuperstepError("MCP_DISCONNECTED", text)
}

export function timedOut(server: string, what: string, milliseconds: number, complaint = ""): SuperstepError {
  const text = `The MCP server "${server}" did not answer ${what} within ${milliseconds} ms; it was told to stop, and what it did until then may have happened.${complaint}`
  return new SuperstepError("MCP_TIMEOUT", text)
}

/** It did not even get to greet us. */
export function notReady(server: string, milliseconds: number, complaint = ""): SuperstepError {
  const text = `The MCP server "${server}" was not ready within ${milliseconds} ms.${complaint}`
  return new SuperstepError("MCP_UNREACHABLE", text)
}

/** The request was never with the server. */
export function isUndelivered(error: unknown): boolean {
  return isSuperstepError(error, "MCP_UNREACHABLE")
}

/** The connection is of no more use, whatever the transport says. */
export function isLost(error: unknown): boolean {
  return isUndelivered(error) || isSuperstepError(error, "MCP_DISCONNECTED")
}

/** The connection was lost before the request was made. */
export function notSent(told: Told): SuperstepError {
  return failed("MCP_UNREACHABLE", "went away before it could be asked", told)
}

export function explain(error: unknown, told: Told): SuperstepError {
  if (isSuperstepError(error)) return error
  const status = httpStatus(error)
  if (status !== undefined) return httpError(status, (error as Error).message, told)
  if (error instanceof McpError) return answered(error, told)
  const misfit = misfitIn(error)
  if (misfit !== undefined) {
    const text = "gave an answer that does not follow the protocol"
    return failed("MCP_ANSWER_INVALID", `${text}: ${misfit}`, told, false)
  }
  if (!(error instanceof Error)) return failed("MCP_FAILED", `failed: ${String(error)}`, told)
  const code = systemCode(error)
  if (code === "ENOENT" || code === "EACCES") {
    const text = `could not be started: ${code === "ENOENT" ? "there is no such program or folder" : "it may not be run"} (${error.message}). Install it, or correct command and cwd`
    return failed("MCP_COMMAND_MISSING", text, told, false)
  }
  if (code !== undefined && NOT_REACHED.has(code)) {
    return failed(
      "MCP_UNREACHABLE",
      `cannot be reached (${code}). Is it running, and is the address right?`,
      told,
    )
  }
  if (error instanceof SseError) return failed("MCP_UNREACHABLE", `cannot be reached: ${error.message}`, told)
  if (error.message === "fetch failed") {
    return failed(
      "MCP_DISCONNECTED",
      `broke the connection off${code === undefined ? "" : ` (${code})`}`,
      told,
    )
  }
  return failed("MCP_FAILED", `failed: ${error.message}`, told)
}

/** What zod says, whose errors are not always of class Error. */
export function misfitIn(error: unknown): string | undefined {
  const { issues } = (error ?? {}) as { issues?: unknown }
  if (!Array.isArray(issues)) return undefined
  const [first] = issues as { path?: readonly PropertyKey[]; message?: string }[]
  const place = (first?.path ?? []).map(String).join(".")
  return `${place === "" ? "" : `${place}: `}${first?.message ?? "it does not fit"}`
}

const NOT_REACHED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

/** fetch says "failed", and its cause why; for several addresses the cause has several. */
function systemCode(error: Error): string | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code, errors } = one as { code?: unknown; errors?: readonly { code?: unknown }[] }
    if (typeof code === "string") return code
    if (typeof errors?.[0]?.code === "string") return errors[0].code
  }
  return undefined
}

/** What the server answered, whichever transport says it. */
function httpStatus(error: unknown): number | undefined {
  if (error instanceof StreamableHTTPError || error instanceof SseError) return error.code
  const said = error instanceof Error ? /^Error POSTing to endpoint \(HTTP (\d+)\)/.exec(error.message) : null
  return said === null ? undefined : Number(said[1])
}

function httpError(status: number, message: string, told: Told): SuperstepError {
  if (status === 401 || status === 403) {
    const text = `refused us (HTTP ${status}). Give it credentials in headers, such as { authorization: "Bearer …" }`
    return failed("MCP_UNAUTHORIZED", text, told, false)
  }
  if (status === 404) {
    return failed("MCP_UNREACHABLE", "does not know us, or the address is wrong (HTTP 404)", told)
  }
  const isTheirs = status >= 500 || status === 429
  return failed("MCP_FAILED", `answered with an error: ${message}`, told, isTheirs)
}

function answered(error: McpError, told: Told): SuperstepError {
  const text = error.message.replace(/^MCP error -?\d+: /, "")
  const { [OUR_CODE]: ours } = (error.data ?? {}) as { readonly [OUR_CODE]?: unknown }
  if (ours === "MCP_MESSAGE_TOO_LARGE") return new SuperstepError(ours, text, { retryable: false })
  if (ours === "MCP_DISCONNECTED" || text === "Connection closed") return disconnected(told)
  return failed("MCP_REFUSED", `refused: ${text}`, told, false)
}

function failed(code: string, text: string, told: Told, retryable?: boolean): SuperstepError {
  // Hidden before it is cut: half a secret would not be found.
  const shown = told.hidden.text(text)
  const clipped = shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown
  const sentence = /[.?!…]$/.test(clipped) ? clipped : `${clipped}.`
  // Not the cause: it may hold the request, with its headers.
  return new SuperstepError(
    code,
    `The MCP server "${told.server}" ${sentence}${said(told)}`,
    retryable === undefined ? {} : { retryable },
  )
}

function said({ stderr }: Told): string {
  return stderr === "" ? "" : ` It said: ${stderr}`
}
