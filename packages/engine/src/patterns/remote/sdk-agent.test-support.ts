/**
 * Agents built with the official SDK, `@a2a-js/sdk` 1.x and 0.3, with its own express handlers over real HTTP. A test writes
 * what the agent does in a turn; both versions publish the same.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk"
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server"
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express"
import type { AgentCard as OldCard } from "a2a-js-sdk-0.3"
import {
  type AgentExecutor as OldExecutor,
  DefaultRequestHandler as OldRequestHandler,
  InMemoryTaskStore as OldTaskStore,
} from "a2a-js-sdk-0.3/server"
import {
  UserBuilder as OldUserBuilder,
  agentCardHandler as oldCardHandler,
  jsonRpcHandler as oldJsonRpcHandler,
} from "a2a-js-sdk-0.3/server/express"
import express, { type Response } from "express"

export type SdkVersion = "1.x" | "0.3"

/** One turn of the agent: a message of the user, and the events that the agent publishes. */
export interface SdkTurn {
  readonly text: string
  /** 1, 2, … in its task. */
  readonly number: number
  readonly headers: Readonly<Record<string, unknown>>
  /** A turn begins with the task. In 1.x that is required, and the task has the status it had before the turn. */
  task(): void
  status(state: string, note?: string): void
  artifact(text: string, isMore?: boolean): void
  message(text: string): void
}

export interface SdkAgent {
  readonly url: string
  /** Requests by method, with the ids of their messages. */
  readonly calls: { readonly method: string; readonly messageId: string | undefined }[]
  methods(): string[]
  /** Resolves when a request with this method has arrived, now or before. */
  seen(method: string): Promise<void>
  /** Destroys the connections of active requests. */
  breakConnections(): void
  close(): Promise<void>
}

export interface SdkAgentOptions {
  readonly version: SdkVersion
  readonly streams: boolean
  act(turn: SdkTurn): void | Promise<void>
}

export async function sdkAgent(options: SdkAgentOptions): Promise<SdkAgent> {
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const calls: SdkAgent["calls"] = []
  const waiting: { readonly method: string; readonly resolve: () => void }[] = []
  const open = new Set<Response>()
  let headers: SdkTurn["headers"] = {}

  app.use(express.json({ limit: "10mb" }), (request, response, next) => {
    const { method, params } = request.body ?? {}
    if (typeof method === "string") {
      headers = request.headers
      calls.push({ method, messageId: params?.message?.messageId })
      for (const one of waiting) if (one.method === method) one.resolve()
      open.add(response)
      response.on("close", () => open.delete(response))
    }
    next()
  })
  const mount = options.version === "1.x" ? mountCurrent : mountOld
  mount(app, `${url}/rpc`, options, () => headers)
  return {
    url,
    calls,
    methods: () => calls.map(({ method }) => method),
    seen: (method) =>
      new Promise((resolve) => {
        if (calls.some((one) => one.method === method)) resolve()
        else waiting.push({ method, resolve })
      }),
    breakConnections: () => {
      for (const response of open) response.destroy()
    },
    close: () => closed(server),
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

type Mount = (
  app: express.Express,
  url: string,
  options: SdkAgentOptions,
  headers: () => SdkTurn["headers"],
) => void

/** Counts, so that every message and status has its own id, as users of the SDK write it. */
let made = 0
const nextId = () => `made-${++made}`

const mountCurrent: Mount = (app, url, { streams, act }, headers) => {
  const state = (name: string) => `TASK_STATE_${name.toUpperCase().replaceAll("-", "_")}`
  const noted = (note: string | undefined) =>
    note === undefined
      ? {}
      : { message: { messageId: nextId(), role: "ROLE_AGENT", parts: [{ text: note }] } }
  const update = (ids: object, name: string, note?: string) =>
    AgentEvent.statusUpdate(
      TaskStatusUpdateEvent.fromJSON({ ...ids, status: { state: state(name), ...noted(note) } }),
    )
  const contexts = new Map<string, string>()
  const turns = new Map<string, number>()
  const executor: AgentExecutor = {
    async execute({ taskId, contextId, task, userMessage }, bus) {
      const ids = { taskId, contextId }
      contexts.set(taskId, contextId)
      const number = (turns.get(taskId) ?? 0) + 1
      turns.set(taskId, number)
      const [part] = userMessage.parts
      const fresh = { id: taskId, contextId, status: { state: state("submitted") } }
      await act({
        text: part?.content?.$case === "text" ? part.content.value : "",
        number,
        headers: headers(),
        task: () => bus.publish(AgentEvent.task(task ?? Task.fromJSON(fresh))),
        status: (name, note) => bus.publish(update(ids, name, note)),
        artifact: (text, append = false) => {
          const piece = { ...ids, append, artifact: { artifactId: "a", parts: [{ text }] } }
          bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(piece)))
        },
        message: (text) => {
          const message = { messageId: nextId(), contextId, role: "ROLE_AGENT", parts: [{ text }] }
          bus.publish(AgentEvent.message(Message.fromJSON(message)))
        },
      })
    },
    async cancelTask(taskId, bus) {
      bus.publish(update({ taskId, contextId: contexts.get(taskId) }, "canceled"))
    },
  }
  const card = {
    name: "remote",
    description: "Answers.",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" }],
    capabilities: { streaming: streams, extensions: [] },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
  } as unknown as AgentCard
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }))
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
}

const FINAL = new Set(["completed", "failed", "canceled", "rejected", "input-required"])

const mountOld: Mount = (app, url, { streams, act }, headers) => {
  type State = "working"
  const parts = (text: string) => [{ kind: "text" as const, text }]
  const status = (name: string, note?: string) => ({
    state: name as State,
    ...(note === undefined
      ? {}
      : {
          message: {
            kind: "message" as const,
            role: "agent" as const,
            messageId: nextId(),
            parts: parts(note),
          },
        }),
  })
  const contexts = new Map<string, string>()
  const turns = new Map<string, number>()
  const update = (taskId: string, contextId: string, name: string, note?: string) => ({
    kind: "status-update" as const,
    taskId,
    contextId,
    status: status(name, note),
    final: FINAL.has(name),
  })
  const executor: OldExecutor = {
    async execute({ taskId, contextId, task, userMessage }, bus) {
      contexts.set(taskId, contextId)
      const number = (turns.get(taskId) ?? 0) + 1
      turns.set(taskId, number)
      const [part] = userMessage.parts
      await act({
        text: part?.kind === "text" ? part.text : "",
        number,
        headers: headers(),
        task: () => bus.publish(task ?? { kind: "task", id: taskId, contextId, status: status("submitted") }),
        status: (name, note) => bus.publish(update(taskId, contextId, name, note)),
        artifact: (text, append = false) =>
          bus.publish({
            kind: "artifact-update",
            taskId,
            contextId,
            append,
            artifact: { artifactId: "a", parts: parts(text) },
          }),
        message: (text) =>
          bus.publish({ kind: "message", role: "agent", messageId: nextId(), contextId, parts: parts(text) }),
      })
      bus.finished()
    },
    async cancelTask(taskId, bus) {
      bus.publish(update(taskId, contexts.get(taskId) ?? "", "canceled"))
    },
  }
  const card: OldCard = {
    name: "remote",
    description: "Answers.",
    version: "1",
    protocolVersion: "0.3.0",
    url,
    preferredTransport: "JSONRPC",
    capabilities: { streaming: streams },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  }
  const requestHandler = new OldRequestHandler(card, new OldTaskStore(), executor)
  app.use("/.well-known/agent-card.json", oldCardHandler({ agentCardProvider: requestHandler }))
  app.use("/rpc", oldJsonRpcHandler({ requestHandler, userBuilder: OldUserBuilder.noAuthentication }))
}
