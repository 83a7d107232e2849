/** Implements the part of the Azure AI Foundry agents API that the client needs, over real HTTP. */
import type { ServerResponse } from "node:http"
import { type LoopbackServer, loopbackServer } from "../../tools/loopback-server.test-support.ts"

interface StoredMessage {
  readonly id: string
  readonly role: string
  readonly content: readonly unknown[]
  readonly run_id: string | null
  readonly metadata?: unknown
}

export interface FoundryServer extends LoopbackServer {
  readonly endpoint: string
  readonly runs: { id: string; assistant_id: string; status: string; polls: number }[]
  readonly messages: StoredMessage[]
  /** Resolves when such a request has arrived. */
  seen(method: string, path: RegExp): Promise<void>
}

export interface FoundryScript {
  /** A run's status at its n-th poll, from 1. */
  status?(look: number): string
  /** Replaces the answer; returns true if it responded. */
  instead?(method: string, path: string, response: ServerResponse): boolean
  readonly error?: { code: string; message: string }
  readonly incomplete?: { reason: string }
  /** Number of messages a run produces. Default 1. */
  readonly says?: number
}

export async function foundryServer(script: FoundryScript = {}): Promise<FoundryServer> {
  const { status = (look: number) => (look < 3 ? "in_progress" : "completed"), says = 1 } = script
  const runs: FoundryServer["runs"] = []
  const messages: StoredMessage[] = []
  const waiting: { method: string; path: RegExp; resolve: () => void }[] = []
  const add = (role: string, text: string, run_id: string | null = null, metadata: unknown = {}) => {
    const message = {
      id: `msg_${messages.length + 1}`,
      role,
      run_id,
      metadata,
      content: [{ type: "text", text: { value: text } }],
    }
    messages.push(message)
    return message
  }
  const answer = (
    method: string,
    path: string,
    query: URLSearchParams,
    body: Record<string, unknown>,
  ): unknown => {
    if (method === "POST" && path === "/threads") {
      const first = (body.messages ?? []) as { role: string; content: string }[]
      if (first.length > 32) return undefined
      for (const { role, content } of first) add(role, content)
      return { id: "thread_1" }
    }
    if (path === "/threads/thread_1/messages") {
      if (method === "POST") return add(String(body.role), String(body.content), null, body.metadata)
      const run = query.get("run_id")
      const found = messages.filter(({ run_id }) => run === null || run_id === run)
      return page(query.get("order") === "asc" ? found : found.toReversed(), query)
    }
    if (path === "/threads/thread_1/runs") {
      if (method === "GET") return { data: runs }
      const run = {
        id: `run_${runs.length + 1}`,
        assistant_id: String(body.assistant_id),
        status: "queued",
        polls: 0,
      }
      runs.push(run)
      return run
    }
    const run = runs.find(({ id }) => path.startsWith(`/threads/thread_1/runs/${id}`))
    if (run === undefined) return undefined
    if (path.endsWith("/cancel")) return { ...run, status: "cancelling" }
    const before = run.status
    run.status = status(++run.polls)
    if (run.status === "completed" && before !== "completed") {
      const answer = `Answer to: ${textOf(messages.at(-1))}`
      for (let i = 1; i <= says; i++) add("assistant", says === 1 ? answer : `part ${i}`, run.id)
    }
    const usage =
      run.status === "completed" ? { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } : null
    const { error: last_error = null, incomplete: incomplete_details = null } = script
    return { ...run, usage, model: "gpt-5", last_error, incomplete_details }
  }
  const server = await loopbackServer(({ method, url, body }, response) => {
    const { pathname, searchParams } = new URL(url, "http://x")
    const path = pathname.replace("/api/projects/p", "")
    const isElse = script.instead?.(method, path, response) === true
    if (!isElse) {
      const result = answer(method, path, searchParams, body === "" ? {} : JSON.parse(body))
      response.writeHead(result === undefined ? 404 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify(result ?? { error: { message: "not found" } }))
    }
    for (const one of waiting) if (one.method === method && one.path.test(path)) one.resolve()
  })
  return {
    ...server,
    endpoint: `http://127.0.0.1:${server.port}/api/projects/p/`,
    runs,
    messages,
    seen: (method, path) => new Promise((resolve) => waiting.push({ method, path, resolve })),
  }
}

function page(found: readonly StoredMessage[], query: URLSearchParams) {
  const after = query.get("after")
  const from = after === null ? 0 : found.findIndex(({ id }) => id === after) + 1
  const to = from + Number(query.get("limit") ?? 20)
  const data = found.slice(from, to)
  return { data, first_id: data[0]?.id, last_id: data.at(-1)?.id, has_more: to < found.length }
}

function textOf(message: StoredMessage | undefined): string {
  const [part] = (message?.content ?? []) as { text: { value: string } }[]
  return part?.text.value ?? ""
}
