/** A server for tests, and requests to it. */
import { memoryStore, node, Runtime, type Store, workflow } from "@superstep/engine"
import { onTestFinished } from "vitest"
import { apiKeys, createKey, type KeyOptions } from "./auth/api-keys.ts"
import { createServer, type Server, type ServerOptions } from "./server.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const spend = workflow("spend")
  .start(
    node("spend", (tokens: number, ctx) => {
      ctx.use({ inputTokens: tokens, usd: tokens / 1_000 })
      return tokens
    }),
  )
  .build()
const fail = workflow("fail")
  .start(
    node("fail", (text: string): string => {
      throw new Error(text)
    }),
  )
  .build()

export interface Served {
  readonly server: Server
  readonly store: Store
  readonly runtime: Runtime
  /** Sends a request; a body is sent as JSON. */
  ask(method: string, path: string, options?: AskOptions): Promise<Response>
  /** Creates a key; returns it whole. */
  key(options: Partial<KeyOptions>): Promise<string>
}

interface AskOptions {
  readonly key?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** With API keys, unless the options say otherwise. Closed when the test is over. */
export function served(options: Partial<ServerOptions> = {}): Served {
  const store = memoryStore()
  const { workflows = [greet, spend, fail] } = options
  const runtime = new Runtime({ store, workflows })
  onTestFinished(() => runtime.close())
  const server = createServer({ runtime, workflows, auth: apiKeys(store), heartbeat: 5, ...options })
  return {
    server,
    store,
    runtime,
    ask(method, path, { key, body, headers = {} } = {}) {
      const sent = {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      }
      const text = body === undefined ? {} : { body: JSON.stringify(body) }
      return server.fetch(new Request(`http://local${path}`, { method, headers: sent, ...text }))
    },
    key: async (key) => (await createKey(store, { name: "test", role: "admin", ...key }, "test")).secret,
  }
}
