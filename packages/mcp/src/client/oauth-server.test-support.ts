/** An MCP server that needs a login, and its authorization server, on loopback. */
import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { toNodeHandler } from "@modelcontextprotocol/node"
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server"
import { onTestFinished } from "vitest"

export interface AuthorizationServer {
  readonly url: string
  /** Every request to it: method and path, headers, form. */
  readonly seen: {
    readonly what: string
    readonly headers: IncomingMessage["headers"]
    readonly form: URLSearchParams
  }[]
  /** Access tokens that are valid. */
  readonly valid: Set<string>
  /** Overrides its metadata. */
  metadata: Record<string, unknown>
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
}

/** Authorization code with PKCE, refresh tokens that are valid once, client credentials. */
export async function authorizationServer(): Promise<AuthorizationServer> {
  const codes = new Map<string, { challenge: string; redirect: string }>()
  const refreshes = new Set<string>()
  const made: AuthorizationServer = { url: "", seen: [], valid: new Set(), metadata: {} }
  const grant = (response: ServerResponse, canRefresh: boolean) => {
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`]
    made.valid.add(access_token)
    if (canRefresh) refreshes.add(refresh_token)
    json(response, {
      access_token,
      token_type: "Bearer",
      expires_in: 60,
      ...(canRefresh && { refresh_token }),
    })
  }
  const token = (form: URLSearchParams, request: IncomingMessage, response: ServerResponse) => {
    const type = form.get("grant_type")
    if (type === "client_credentials") {
      const basic = Buffer.from("machine:s3cret-s3cret").toString("base64")
      if (request.headers.authorization === `Basic ${basic}`) return grant(response, false)
    } else if (type === "refresh_token") {
      if (refreshes.delete(form.get("refresh_token") ?? "")) return grant(response, true)
    } else if (type === "authorization_code") {
      const known = codes.get(form.get("code") ?? "")
      const proof = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url")
      if (known?.challenge === proof && known.redirect === form.get("redirect_uri"))
        return grant(response, true)
    }
    json(response, { error: "invalid_grant", error_description: "It is not valid." }, 400)
  }
  const url = await listening(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://x")
    const body = await bodyOf(request)
    const form = new URLSearchParams(body)
    made.seen.push({ what: `${request.method} ${pathname}`, headers: request.headers, form })
    if (pathname === "/.well-known/oauth-authorization-server") {
      return json(response, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        registration_endpoint: `${url}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        ...made.metadata,
      })
    }
    if (pathname === "/register") return json(response, { ...JSON.parse(body), client_id: "registered" }, 201)
    if (pathname === "/token") return token(form, request, response)
    if (pathname !== "/authorize") return json(response, {}, 404)
    const [code, redirect] = [randomUUID(), searchParams.get("redirect_uri") ?? ""]
    codes.set(code, { challenge: searchParams.get("code_challenge") ?? "", redirect })
    const back = new URL(redirect)
    back.search = new URLSearchParams({ code, state: searchParams.get("state") ?? "" }).toString()
    response.writeHead(302, { location: back.href }).end()
  })
  return Object.assign(made, { url })
}

/** An MCP server that accepts the tokens of `by`. `whoami` repeats the token that it got. */
export async function protectedServer(
  by: AuthorizationServer,
  resource: { authorization?: string } = {},
): Promise<string> {
  const handlers = new Map<string, ReturnType<typeof toNodeHandler>>()
  const url = await listening(async (request, response) => {
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
      return json(response, {
        resource: `${url}/mcp`,
        authorization_servers: [resource.authorization ?? by.url],
      })
    }
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? ""
    if (!by.valid.has(token)) {
      const metadata = `${url}/.well-known/oauth-protected-resource/mcp`
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` })
      return void response.end(`${token} is not welcome`)
    }
    let handle = handlers.get(token)
    if (handle === undefined) {
      handle = toNodeHandler(createMcpHandler(() => whoami(token)))
      handlers.set(token, handle)
    }
    await handle(request as never, response)
  })
  return `${url}/mcp`
}

function whoami(token: string): McpServer {
  const server = new McpServer({ name: "members", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.registerTool("whoami", { inputSchema: fromJsonSchema({ type: "object" }) }, () => ({
    content: [{ type: "text", text: `you are ${token}` }],
  }))
  return server
}
