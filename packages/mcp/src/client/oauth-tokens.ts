/** The file of tokens (O1): one entry for each server, in a folder and a file that only their owner can read. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import type { StoredOAuthClientInformation, StoredOAuthTokens } from "@modelcontextprotocol/client"
import { SuperstepError } from "@superstep/engine"

interface Entry {
  readonly client?: StoredOAuthClientInformation | undefined
  readonly tokens?: StoredOAuthTokens | undefined
}

interface Content {
  readonly version: 1
  readonly servers: Readonly<Record<string, Entry>>
}

const DEFAULT_TOKEN_FILE = join(homedir(), ".superstep", "mcp-tokens.json")

export class TokenFile {
  readonly #path: string
  readonly #server: string

  constructor(path: string | undefined, server: string) {
    this.#path = resolve(path ?? DEFAULT_TOKEN_FILE)
    this.#server = server
  }

  read(): Entry {
    const { servers } = this.#content()
    return Object.hasOwn(servers, this.#server) ? (servers[this.#server] as Entry) : {}
  }

  /** Changes the server's entry. The others are read again: other processes write too. */
  write(changed: Entry): void {
    const { servers } = this.#content()
    const entry = JSON.parse(JSON.stringify({ ...this.read(), ...changed })) as Entry
    const { [this.#server]: _, ...others } = servers
    const isEmpty = entry.client === undefined && entry.tokens === undefined
    const content: Content = {
      version: 1,
      servers: isEmpty ? others : { ...others, [this.#server]: entry },
    }
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    // A new file: the mode applies, and no reader sees a half of it.
    const part = `${this.#path}.${process.pid}`
    writeFileSync(part, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(part, this.#path)
  }

  #content(): Content {
    let text: string
    try {
      text = readFileSync(this.#path, "utf8")
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return { version: 1, servers: {} }
      throw error
    }
    try {
      const content = JSON.parse(text) as Content
      if (content.version === 1 && typeof content.servers === "object" && content.servers !== null)
        return content
    } catch {
      // Reported below, without the text.
    }
    const message = `${this.#path} is not a file of MCP logins. Delete it, and log in again.`
    throw new SuperstepError("MCP_TOKENS_INVALID", message, { retryable: false })
  }
}
