/**
 * A workflow as an agent of A2A, for one principal: a task is a run, and the run is all there is. Tasks are in the store with
 * their runs, so every server of the store answers for them, also after a restart.
 *
 * 1. A message that is sent again, with the same id, starts no second run and answers no second question.
 * 2. Tasks of other tenants, of other workflows, and those that nobody has are the same: not found.
 * 3. Errors that are not ours stay in the log.
 */
import { randomUUID } from "node:crypto"
import type {
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  Part,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk"
import { TaskState } from "@a2a-js/sdk"
import {
  A2AError,
  ExtendedAgentCardNotConfiguredError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors"
import type { A2ARequestHandler, ServerCallContext } from "@a2a-js/sdk/server"
import { hasEnded, type StoredRequest, type StoredRun } from "@superstep/engine"
import type { Context } from "hono"
import { CHAT_LABEL, type Env, ownName, principalOf, queryLabels, tenantName, visibleRun } from "../access.ts"
import { checkBudget } from "../auth/key-usage.ts"
import type { StartedWorkflow } from "../catalog.ts"
import { problemIn } from "../problem.ts"
import { visibleRuns } from "../runs.ts"
import type { Services } from "../services.ts"
import type { PushNotifications } from "./a2a-push.ts"
import { contextOf, stateOf, type TaskFold, taskOf } from "./a2a-task.ts"
import { answerIn, startChat } from "./chat.ts"

const CANCEL_WAIT = 5_000
const MAX_ID = 200
const PAGE = 50
const MAX_PAGE = 100
/** Tasks that `totalSize` counts at most. */
const MAX_COUNTED = 1_000

interface ConfigName {
  readonly taskId: string
  readonly id: string
}

/** The run that a message has reached. */
interface Sent {
  readonly run: StoredRun
  /** The question that the message answered. */
  readonly answered?: string | undefined
}

export class A2aAgent implements A2ARequestHandler {
  readonly #c: Context<Env>
  readonly #services: Services
  readonly #workflow: StartedWorkflow
  readonly #card: AgentCard
  readonly #push: PushNotifications
  readonly #signal: AbortSignal

  constructor(
    c: Context<Env>,
    services: Services,
    agent: { readonly workflow: StartedWorkflow; readonly card: AgentCard },
    push: PushNotifications,
    signal: AbortSignal,
  ) {
    this.#c = c
    this.#services = services
    this.#workflow = agent.workflow
    this.#card = agent.card
    this.#push = push
    this.#signal = AbortSignal.any([signal, services.drain])
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#card
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new ExtendedAgentCardNotConfiguredError("The agent has no other card than its public one.")
  }

  async sendMessage(params: SendMessageRequest, context: ServerCallContext): Promise<Task> {
    return await this.#guarded(async () => {
      const sent = await this.#send(params, context)
      const { historyLength, returnImmediately } = params.configuration ?? {}
      const fold = await this.#foldOf(sent.run)
      if (returnImmediately !== true) for await (const _ of this.#follow(fold, sent));
      return shortened(fold.task, historyLength)
    })
  }

  async *sendMessageStream(
    params: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void> {
    const { sent, fold } = await this.#guarded(async () => {
      const sent = await this.#send(params, context)
      return { sent, fold: await this.#foldOf(sent.run) }
    })
    yield { payload: { $case: "task", value: shortened(fold.task, params.configuration?.historyLength) } }
    yield* this.#follow(fold, sent)
  }

  async *resubscribe({ id }: { readonly id: string }): AsyncGenerator<StreamResponse, void> {
    const { run, fold } = await this.#guarded(async () => {
      const run = await this.#run(id)
      if (hasEnded(run)) throw new UnsupportedOperationError(`The task ${id} has ended. Get it instead.`)
      return { run, fold: await this.#foldOf(run) }
    })
    yield { payload: { $case: "task", value: fold.task } }
    yield* this.#follow(fold, { run })
  }

  async getTask({
    id,
    historyLength,
  }: {
    readonly id: string
    readonly historyLength?: number | undefined
  }): Promise<Task> {
    return await this.#guarded(async () =>
      shortened((await this.#foldOf(await this.#run(id))).task, historyLength),
    )
  }

  async listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    return await this.#guarded(async () => {
      const { contextId, status, pageToken, historyLength = 0, includeArtifacts = false } = params
      const pageSize = Math.min(MAX_PAGE, Math.max(1, params.pageSize ?? PAGE))
      const principal = principalOf(this.#c)
      const chat = contextId === "" ? {} : { [CHAT_LABEL]: tenantName(principal, contextId) }
      const since =
        params.statusTimestampAfter === undefined ? Number.NaN : Date.parse(params.statusTimestampAfter)
      const query = {
        workflow: this.#workflow.name,
        labels: { ...queryLabels(principal, undefined), ...chat },
        ...(Number.isFinite(since) && { updated: { from: since } }),
      }
      const { runtime } = this.#services
      const all = await visibleRuns(runtime, principal, query, undefined, MAX_COUNTED)
      const cursor = pageToken === "" ? undefined : pageToken
      const tasks: Task[] = []
      let last: StoredRun | undefined
      let hasMore = false
      for (let before = cursor; ; before = last?.runId) {
        const rows = await visibleRuns(runtime, principal, query, before, pageSize + 1)
        for (const row of rows) {
          hasMore = tasks.length === pageSize
          if (hasMore) break
          last = row
          const isCheap = !includeArtifacts && historyLength === 0 && row.status !== "waiting"
          const task = isCheap ? this.#plain(row) : shortened((await this.#foldOf(row)).task, historyLength)
          if (status !== TaskState.TASK_STATE_UNSPECIFIED && task.status?.state !== status) continue
          tasks.push(includeArtifacts ? task : { ...task, artifacts: [] })
        }
        if (hasMore || rows.length <= pageSize) break
      }
      const nextPageToken = hasMore ? (last?.runId ?? "") : ""
      return { tasks, nextPageToken, pageSize: tasks.length, totalSize: all.length }
    })
  }

  async cancelTask({ id }: { readonly id: string }): Promise<Task> {
    return await this.#guarded(async () => {
      const run = await this.#run(id)
      if (hasEnded(run)) throw new TaskNotCancelableError(`The task ${id} is ${run.status}.`)
      await this.#services.runtime.cancel(run.runId, "Cancelled by a client.", { timeout: CANCEL_WAIT })
      return (await this.#foldOf(await this.#run(id))).task
    })
  }

  // Push notifications

  async createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
    context: ServerCallContext,
  ): Promise<TaskPushNotificationConfig> {
    return await this.#guarded(async () => {
      const run = await this.#run(config.taskId)
      return await this.#push.set(run, config, context.requestedVersion)
    })
  }

  async getTaskPushNotificationConfig({ taskId, id }: ConfigName): Promise<TaskPushNotificationConfig> {
    return await this.#guarded(async () => {
      const configs = await this.#push.list(await this.#run(taskId))
      const found = configs.find((config) => config.id === id) ?? (id === "" ? configs[0] : undefined)
      if (found === undefined)
        throw new TaskNotFoundError(`The task has no push notification config "${id}".`)
      return found
    })
  }

  async listTaskPushNotificationConfigs({
    taskId,
  }: Pick<ConfigName, "taskId">): Promise<ListTaskPushNotificationConfigsResponse> {
    return await this.#guarded(async () => {
      const configs = [...(await this.#push.list(await this.#run(taskId)))]
      return { configs, nextPageToken: "" }
    })
  }

  async deleteTaskPushNotificationConfig({ taskId, id }: ConfigName): Promise<void> {
    await this.#guarded(async () => await this.#push.remove(await this.#run(taskId), id))
  }

  // Messages

  async #send({ message, configuration }: SendMessageRequest, context: ServerCallContext): Promise<Sent> {
    if (message === undefined) throw new RequestMalformedError("The request has no message.")
    const { messageId, parts } = message
    if (messageId === "" || messageId.length > MAX_ID || message.contextId.length > MAX_ID) {
      throw new RequestMalformedError(`A message needs an id; ids have at most ${MAX_ID} characters.`)
    }
    if (parts.length === 0) throw new RequestMalformedError("The message has no parts.")
    const sent = message.taskId === "" ? { run: await this.#start(message) } : await this.#answer(message)
    const config = configuration?.taskPushNotificationConfig
    if (config !== undefined && config.url !== "") {
      await this.#push.set(sent.run, { ...config, taskId: sent.run.runId }, context.requestedVersion)
    }
    return sent
  }

  async #start({ messageId, contextId, parts }: Message): Promise<StoredRun> {
    await checkBudget(this.#services.runtime, principalOf(this.#c))
    const { name } = this.#workflow
    const { run } = await startChat(this.#c, this.#services, {
      workflow: this.#workflow,
      messages: [{ role: "user", content: contentOf(parts) }],
      chat: contextId === "" ? randomUUID() : contextId,
      key: ["a2a", name, contextId, messageId].map(encodeURIComponent).join(":"),
    })
    return run
  }

  async #answer(message: Message): Promise<Sent> {
    const { messageId, contextId, taskId } = message
    const run = await this.#run(taskId)
    if (contextId !== "" && contextId !== this.#contextOf(run)) {
      throw new RequestMalformedError(`The task ${taskId} belongs to another context.`)
    }
    const { runtime } = this.#services
    const open = await runtime.requests({ runId: run.runId })
    const earlier = (await this.#push.read(run.runId)).messages.find(({ id }) => id === messageId)
    if (earlier === undefined && open.length === 0) {
      const why = hasEnded(run) ? `is ${run.status}` : "asks nothing now"
      throw new UnsupportedOperationError(`The task ${taskId} ${why}: it takes no message.`)
    }
    const { request, answer } = answerOf(open, message.parts, earlier?.request)
    // Sent again: the first one has answered.
    if (request === undefined) return { run }
    if (earlier === undefined) await this.#push.addMessage(run.runId, { id: messageId, request: request.id })
    await runtime.respond(run.runId, request.id, answer, { by: principalOf(this.#c).id })
    return { run, answered: request.id }
  }

  // Runs

  async #run(id: string): Promise<StoredRun> {
    if (id.trim() === "") throw new RequestMalformedError("The request names no task.")
    const row = await visibleRun(this.#c, this.#services, id)
    if (row.workflow !== this.#workflow.name) throw new TaskNotFoundError(`There is no task ${id}.`)
    return row
  }

  #contextOf(run: StoredRun): string {
    return contextOf(ownName(principalOf(this.#c), run.labels?.[CHAT_LABEL] ?? run.thread), run)
  }

  async #foldOf(run: StoredRun): Promise<TaskFold> {
    const { messages } = await this.#push.read(run.runId)
    return await taskOf(this.#services, run, {
      contextId: this.#contextOf(run),
      key: ownName(principalOf(this.#c), run.key),
      messages,
      workflow: this.#workflow,
    })
  }

  #plain(run: StoredRun): Task {
    const status = {
      state: stateOf(run),
      message: undefined,
      timestamp: new Date(run.updatedAt).toISOString(),
    }
    const { runId: id } = run
    return { id, contextId: this.#contextOf(run), status, artifacts: [], history: [], metadata: undefined }
  }

  /** Until the task rests, after the question that was answered is closed. */
  async *#follow(fold: TaskFold, { run, answered }: Sent): AsyncGenerator<StreamResponse, void> {
    const isOver = () => fold.rests && !fold.requests.some(({ id }) => id === answered)
    // Clients of 0.3 wait for a status.
    if (isOver()) return yield fold.statusUpdate
    for await (const event of this.#services.feeds.watch(run.runId, fold.seq, this.#signal)) {
      yield* fold.add(event)
      if (isOver()) return
    }
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw protocolError(error, this.#services.report)
    }
  }
}

/** Text as it is, data as JSON; with files, the parts that agents accept. */
function contentOf(parts: readonly Part[]): string | unknown[] {
  const contents = parts.map(({ content, mediaType, filename }) => {
    switch (content?.$case) {
      case "text":
        return { type: "text", text: content.value }
      case "data":
        return { type: "text", text: JSON.stringify(content.value ?? null) }
      case "raw": {
        const data = Buffer.from(content.value).toString("base64")
        return { type: "file", mediaType, data, ...(filename !== "" && { filename }) }
      }
      default:
        throw new RequestMalformedError(
          "A part of the message is neither text nor data nor a file in the message.",
        )
    }
  })
  const isText = contents.every(({ type }) => type === "text")
  return isText ? contents.map((content) => ("text" in content ? content.text : "")).join("\n") : contents
}

/** A data part `{ request, answer }` names its question; anything else answers the oldest one. */
function answerOf(
  open: readonly StoredRequest[],
  parts: readonly Part[],
  earlier: string | undefined,
): { readonly request: StoredRequest | undefined; readonly answer: unknown } {
  const [only, another] = parts
  const data = only?.content?.$case === "data" && another === undefined ? only.content.value : undefined
  const named = isNamed(data) ? data : undefined
  const id = earlier ?? named?.request
  const request = id === undefined ? open[0] : open.find((one) => one.id === id)
  if (request === undefined && earlier === undefined) {
    const ids = open.map((one) => `"${one.id}"`).join(", ")
    throw new RequestMalformedError(`The question "${id}" is not open. Open ones: ${ids}.`)
  }
  if (named !== undefined) return { request, answer: named.answer }
  if (data !== undefined) return { request, answer: data }
  const content = contentOf(parts)
  const text = typeof content === "string" ? content : JSON.stringify(content)
  return { request, answer: request === undefined ? text : answerIn(request, text) }
}

function isNamed(data: unknown): data is { readonly request: string; readonly answer: unknown } {
  const { request, answer } = Object(data) as { request?: unknown; answer?: unknown }
  return typeof request === "string" && answer !== undefined
}

function shortened(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined) return task
  return { ...task, history: historyLength <= 0 ? [] : task.history.slice(-historyLength) }
}

/** As A2A names it. */
function protocolError(error: unknown, report: (error: unknown) => void): unknown {
  if (error instanceof A2AError) return error
  const { status, code, detail } = problemIn(error, report)
  const text = `${detail} (${code})`
  if (status >= 500) return new Error(text)
  if (status === 404) return new TaskNotFoundError(text)
  if (code === "RUN_OVER") return new TaskNotCancelableError(text)
  return status === 422 || status === 413
    ? new RequestMalformedError(text)
    : new UnsupportedOperationError(text)
}
