/** Errors of a connection, with what to do about them. */
import { SseError } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { McpError } from "@modelcontextprotocol/sdk/types.js"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { clipped } from "@superstep/engine/text"
import type { Masking } from "@superstep/engine/tools"
import { OUR_CODE } from "./guarded-fetch.ts"

export interface ServerContext {
  readonly server: string
  readonly hidden: Masking
  /** Without secrets. */
  readonly stderr: string
}

const MAX_TEXT = 1_000

export function disconnected(context: ServerContext): SuperstepError {
  const text = `The MCP server "${context.server}" disconnected. The request may have been executed.${stderrText(context)}`
  return new SuperstepError("MCP_DISCONNECTED", text)
}

export function timedOut(server: string, what: string, milliseconds: number, complaint = ""): SuperstepError {
  const text = `The MCP server "${server}" did not answer ${what} within ${milliseconds} ms. The request was cancelled, but may have been executed.${complaint}`
  return new SuperstepError("MCP_TIMEOUT", text)
}

/** The server did not complete the handshake in time. */
export function notReady(server: string, milliseconds: number, complaint = ""): SuperstepError {
  const text = `The MCP server "${server}" was not ready within ${milliseconds} ms.${complaint}`
  return new SuperstepError("MCP_UNREACHABLE", text)
}

/** The request never reached the server. */
export function isUndelivered(error: unknown): boolean {
  return isSuperstepError(error, "MCP_UNREACHABLE")
}

/** The connection is unusable, whatever the transport reports. */
export function isLost(error: unknown): boolean {
  return isUndelivered(error) || isSuperstepError(error, "MCP_DISCONNECTED")
}

/** The connection was lost before the request was sent. */
export function notSent(context: ServerContext): SuperstepError {
  return failed("MCP_UNREACHABLE", "disconnected before the request was sent", context)
}

export function explain(error: unknown, context: ServerContext): SuperstepError {
  if (isSuperstepError(error)) return error
  const status = httpStatus(error)
  if (status !== undefined) return httpError(status, (error as Error).message, context)
  if (error instanceof McpError) return answered(error, context)
  const issue = issueIn(error)
  if (issue !== undefined) {
    return failed("MCP_ANSWER_INVALID", `sent an answer that violates the protocol: ${issue}`, context, false)
  }
  if (!(error instanceof Error)) return failed("MCP_FAILED", `failed: ${String(error)}`, context)
  const code = systemCode(error)
  if (code === "ENOENT" || code === "EACCES") {
    const text = `could not be started: ${code === "ENOENT" ? "no such program or folder" : "it is not executable"} (${error.message}). Install it, or correct command and cwd`
    return failed("MCP_COMMAND_MISSING", text, context, false)
  }
  if (code !== undefined && NOT_REACHED.has(code)) {
    return failed(
      "MCP_UNREACHABLE",
      `is unreachable (${code}). Check that it is running, and that the address is right`,
      context,
    )
  }
  if (error instanceof SseError) return failed("MCP_UNREACHABLE", `is unreachable: ${error.message}`, context)
  if (error.message === "fetch failed") {
    return failed(
      "MCP_DISCONNECTED",
      `closed the connection${code === undefined ? "" : ` (${code})`}`,
      context,
    )
  }
  return failed("MCP_FAILED", `failed: ${error.message}`, context)
}

/** The first issue of a zod error, which is not always of class Error. */
export function issueIn(error: unknown): string | undefined {
  const { issues } = (error ?? {}) as { issues?: unknown }
  if (!Array.isArray(issues)) return undefined
  const [first] = issues as { path?: readonly PropertyKey[]; message?: string }[]
  const place = (first?.path ?? []).map(String).join(".")
  return `${place === "" ? "" : `${place}: `}${first?.message ?? "invalid"}`
}

const NOT_REACHED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

/** The message of fetch is "fetch failed"; the code is in its cause, or in the causes for several addresses. */
function systemCode(error: Error): string | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code, errors } = one as { code?: unknown; errors?: readonly { code?: unknown }[] }
    if (typeof code === "string") return code
    if (typeof errors?.[0]?.code === "string") return errors[0].code
  }
  return undefined
}

/** The HTTP status of the answer, whichever transport reports it. */
function httpStatus(error: unknown): number | undefined {
  if (error instanceof StreamableHTTPError || error instanceof SseError) return error.code
  const match =
    error instanceof Error ? /^Error POSTing to endpoint \(HTTP (\d+)\)/.exec(error.message) : null
  return match === null ? undefined : Number(match[1])
}

function httpError(status: number, message: string, context: ServerContext): SuperstepError {
  if (status === 401 || status === 403) {
    const text = `refused access (HTTP ${status}). Write credentials into headers, for example { authorization: "Bearer …" }`
    return failed("MCP_UNAUTHORIZED", text, context, false)
  }
  if (status === 404) {
    return failed("MCP_UNREACHABLE", "does not know the session, or the address is wrong (HTTP 404)", context)
  }
  const isServerSide = status >= 500 || status === 429
  return failed("MCP_FAILED", `answered with an error: ${message}`, context, isServerSide)
}

function answered(error: McpError, context: ServerContext): SuperstepError {
  const text = error.message.replace(/^MCP error -?\d+: /, "")
  const { [OUR_CODE]: ours } = (error.data ?? {}) as { readonly [OUR_CODE]?: unknown }
  if (ours === "MCP_MESSAGE_TOO_LARGE") return new SuperstepError(ours, text, { retryable: false })
  if (ours === "MCP_DISCONNECTED" || text === "Connection closed") return disconnected(context)
  return failed("MCP_REFUSED", `refused: ${text}`, context, false)
}

function failed(code: string, text: string, context: ServerContext, retryable?: boolean): SuperstepError {
  // Secrets are masked before the text is cut: half a secret would not be found.
  const shown = context.hidden.text(text)
  const cut = clipped(shown, MAX_TEXT)
  const sentence = /[.?!…]$/.test(cut) ? cut : `${cut}.`
  // Without a cause: it may contain the request, with its headers.
  return new SuperstepError(
    code,
    `The MCP server "${context.server}" ${sentence}${stderrText(context)}`,
    retryable === undefined ? {} : { retryable },
  )
}

function stderrText({ stderr }: ServerContext): string {
  return stderr === "" ? "" : ` Its stderr: ${stderr}`
}
