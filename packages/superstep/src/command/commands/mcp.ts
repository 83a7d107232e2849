/** `superstep mcp login`: logs in at remote MCP servers in the browser. */
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { collect, complete } from "../flags.ts"
import { definitionError, usageError } from "../print/errors.ts"
import { openInBrowser } from "../terminal/open-browser.ts"
import { sanitizeLine } from "../terminal/terminal.ts"
import { mcpPackage, type RemoteServer } from "./mcp-package.ts"

interface LoginFlags {
  readonly scope?: readonly string[] | undefined
  readonly clientId?: string | undefined
  /** False with --no-open. */
  readonly open: boolean
}

export const commands = { mcp: mcpCommand }

function mcpCommand(cli: Cli): Command {
  const login = new Command("login")
    .description("log in at a remote MCP server in the browser, and keep the login for runs")
    .argument("<file|url>", "the server's address, or a definition with servers that have oauth")
    .option("--scope <scope>", "ask for this scope; repeatable (default: what the server asks for)", collect)
    .option("--client-id <id>", "log in as this client (default: it is registered)")
    .option("--no-open", "print the address of the login page, and do not open it")
    .action((source: string, flags: LoginFlags) => logIn(cli, source, flags))
  const example = "superstep mcp login https://tracker.example/mcp"
  const notes = "Logins are in ~/.superstep/mcp-tokens.json, which only you can read."
  complete(login, [], example, notes)
  return complete(new Command().description("Log in at remote MCP servers.").addCommand(login), [], example)
}

async function logIn(cli: Cli, source: string, flags: LoginFlags): Promise<void> {
  const mcp = await mcpPackage("superstep mcp login")
  const stop = new AbortController()
  const stopListening = cli.io.onInterrupt(() => stop.abort())
  const open = (url: URL) => {
    cli.err.line(`Log in on this page: ${url.href}`)
    if (flags.open) openInBrowser(url.href)
  }
  try {
    for (const server of await serversOf(cli, source, flags)) {
      await mcp.mcpLogin(server, { open, signal: stop.signal })
      cli.err.line(`Logged in at ${sanitizeLine(server.url)}.`)
    }
  } finally {
    stopListening()
  }
  cli.exit(EXIT.completed)
}

async function serversOf(cli: Cli, source: string, flags: LoginFlags): Promise<readonly RemoteServer[]> {
  const { scope: scopes, clientId } = flags
  if (/^https?:\/\//i.test(source)) return [{ url: source, oauth: { scopes, clientId } }]
  const { loadFile } = await import("../open/load-definition.ts")
  const loaded = await loadFile({ file: source }, cli, {}, { use: "check" })
  if (loaded.definition === undefined) throw await definitionError(loaded)
  const found = remotesIn(loaded.definition.data).filter(({ oauth }) => oauth?.grant !== "client_credentials")
  if (found.length > 0) return found
  throw usageError(`${source} has no MCP server with remote.oauth that a person logs in to.`)
}

/** Every `remote` with `oauth` in a definition. */
function remotesIn(value: unknown): readonly RemoteServer[] {
  if (typeof value !== "object" || value === null) return []
  const { remote } = value as { readonly remote?: unknown }
  const { url, oauth, headers, allow_private } = Object(remote) as Readonly<Record<string, unknown>>
  const isOne = typeof url === "string" && typeof oauth === "object" && oauth !== null
  const own = isOne ? [{ url, oauth, headers, allowPrivate: allow_private } as RemoteServer] : []
  return [...own, ...Object.values(value).flatMap(remotesIn)]
}
