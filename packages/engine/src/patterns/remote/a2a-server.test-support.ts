/** A scripted A2A agent over real HTTP, in either protocol version. */
import type { ServerResponse } from "node:http"
import { type LoopbackServer, loopbackServer } from "../../tools/loopback-server.test-support.ts"
import type { A2aVersion } from "./a2a-wire.ts"

export interface A2aScript {
  readonly version?: A2aVersion
  readonly streams?: boolean
  /** Whether clients can subscribe again to a running task. */
  readonly subscribes?: boolean
  /** The reply to a message: a string is an immediate answer; a list holds the task's states, one per poll. */
  readonly reply?: string | readonly ScriptedState[]
  /** Replaces the answer; returns true if it responded. */
  instead?(method: string, response: ServerResponse): boolean
  readonly card?: object
  readonly cardPath?: string
  readonly cardStatus?: number
}

type ScriptedState = { readonly state: string; readonly note?: string; readonly artifact?: string }

export interface A2aServer extends LoopbackServer {
  readonly url: string
  /** The calls it received: method and identifying fields. */
  readonly calls: { method: string; params: Record<string, unknown> }[]
  seen(method: string): Promise<void>
  /** More fields of the card, which need the server's address. */
  card(place: string): object
}

export async function a2aServer(script: A2aScript): Promise<A2aServer> {
  const {
    version = "1",
    streams = false,
    subscribes = false,
    reply = "hello",
    cardPath = "/.well-known/agent-card.json",
  } = script
  const calls: A2aServer["calls"] = []
  const waiting: { method: string; resolve: () => void }[] = []
  const states = typeof reply === "string" ? [] : [...reply]
  const reached = new Set<ScriptedState>()
  let artifact = ""

  const parts = (text: string) => [version === "1" ? { text } : { kind: "text", text }]
  const status = ({ state, note }: ScriptedState) => ({
    state: version === "1" ? `TASK_STATE_${state.toUpperCase().replaceAll("-", "_")}` : state,
    ...(note === undefined ? {} : { message: { role: "agent", messageId: "n", parts: parts(note) } }),
  })
  const task = (now: ScriptedState) => {
    if (!reached.has(now)) artifact += now.artifact ?? ""
    reached.add(now)
    const artifacts = artifact === "" ? [] : [{ artifactId: "a", parts: parts(artifact) }]
    const body = { id: "t1", contextId: "c1", status: status(now), artifacts }
    return version === "1" ? { task: body } : { kind: "task", ...body }
  }
  const bare = (result: Record<string, unknown>) => (version === "1" ? result.task : result)
  const next = () => (states.length > 1 ? states.shift() : states[0]) as ScriptedState
  const message = (text: string) => {
    const body = { role: "agent", messageId: "m", parts: parts(text) }
    return version === "1" ? { message: body } : { kind: "message", ...body }
  }
  const update = (now: ScriptedState): object[] => {
    const about = { taskId: "t1", contextId: "c1" }
    const found: object[] = []
    if (now.artifact !== undefined && !reached.has(now)) {
      const piece = {
        ...about,
        artifact: { artifactId: "a", parts: parts(now.artifact) },
        append: artifact !== "",
      }
      artifact += now.artifact
      found.push(version === "1" ? { artifactUpdate: piece } : { kind: "artifact-update", ...piece })
    }
    reached.add(now)
    const change = { ...about, status: status(now) }
    found.push(
      version === "1" ? { statusUpdate: change } : { kind: "status-update", ...change, final: false },
    )
    return found
  }
  /** Up to the last state, which stays. */
  const putUpdates = (put: (one: object) => void) => {
    for (const now of states) for (const one of update(now)) put(one)
    states.splice(0, states.length - 1)
  }
  const result = (method: string): unknown => {
    if (/cancel/i.test(method)) return bare(task({ state: "canceled" }))
    if (/get/i.test(method)) return bare(task(next()))
    return typeof reply === "string" ? message(reply) : task(next())
  }

  const server = await loopbackServer(({ url, body }, response) => {
    if (url.includes("/.well-known/")) {
      const isHere = url === cardPath
      response.writeHead(isHere ? (script.cardStatus ?? 200) : 404, { "content-type": "application/json" })
      const place = `http://127.0.0.1:${server.port}/rpc`
      const current = {
        supportedInterfaces: [{ url: place, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      }
      const old = { url: place, protocolVersion: "0.3.0", preferredTransport: "JSONRPC" }
      const card = {
        name: "remote",
        capabilities: { streaming: streams },
        ...(version === "1" ? current : old),
        ...script.card,
        ...made.card(place),
      }
      response.end(isHere ? JSON.stringify(card) : "")
      return
    }
    const { id, method, params } = JSON.parse(body)
    calls.push({ method, params })
    const isElse = script.instead?.(method, response) === true
    const put = (one: unknown) =>
      response.write(`event: message\r\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: one })}\r\n\r\n`)
    if (!isElse && /stream/i.test(method)) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      if (typeof reply === "string") put(message(reply))
      else {
        put(task({ state: "submitted" }))
        putUpdates(put)
      }
      response.end()
    } else if (!isElse && /subscribe/i.test(method) && subscribes) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      put(task(next()))
      putUpdates(put)
      response.end()
    } else if (!isElse && /subscribe/i.test(method)) {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32004, message: "unsupported" } }))
    } else if (!isElse) {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: result(method) }))
    }
    for (const one of waiting) if (one.method === method) one.resolve()
  })
  const made: A2aServer = {
    ...server,
    card: () => ({}),
    url: `http://127.0.0.1:${server.port}`,
    calls,
    seen: (method) => new Promise((resolve) => waiting.push({ method, resolve })),
  }
  return made
}
