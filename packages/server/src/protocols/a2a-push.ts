/**
 * What a task of A2A has beside its run, in one record of the store: the ids of messages that answered questions, and where
 * its client wants to be notified. A durable consumer of the store's events creates a run of an internal workflow for each
 * notification, as for webhooks, so that retries are the engine's.
 *
 * 1. Tokens and credentials are read from the store when a notification is sent. No journal, event or log has them.
 * 2. Nothing is sent to an address that webhooks must not reach.
 * 3. A notification has the task as it is when it is sent: an attempt that comes late is never outdated.
 */
import { randomUUID } from "node:crypto"
import type { TaskPushNotificationConfig } from "@a2a-js/sdk"
import { V03PushNotificationSerializer } from "@a2a-js/sdk/compat/v0_3/server"
import { RequestMalformedError } from "@a2a-js/sdk/errors"
import { V1PushNotificationSerializer } from "@a2a-js/sdk/server"
import {
  type EventOf,
  type EventType,
  INTERNAL_QUEUE,
  type Json,
  node,
  type Runtime,
  type StoredRun,
  workflow,
} from "@superstep/engine"
import { z } from "zod"
import { CHAT_LABEL, OWNER, ownName, TENANT_LABEL } from "../access.ts"
import type { Services } from "../services.ts"
import { contextOf, taskOf } from "./a2a-task.ts"

const KIND = "a2a-task"
const CONSUMER = "superstep.a2a-push"
const WORKFLOW = "superstep.a2a-push"
const EVENTS = ["run.ended", "request.opened"] as const satisfies readonly EventType[]
const RETRY = {
  attempts: 10,
  backoff: "exponential",
  delay: 5_000,
  maxDelay: 3_600_000,
  jitter: 0.1,
} as const
const MAX_CONFIGS = 10
const MAX_TEXT = 4_000
/** Milliseconds between looks whether another server has stored the first config. */
const LOOK = 10_000
/** A day. */
const PRUNE_EVERY = 86_400_000

const configSchema = z.object({
  id: z.string(),
  url: z.string(),
  token: z.string(),
  authentication: z.object({ scheme: z.string(), credentials: z.string() }).optional(),
  /** Of the protocol, in which its client reads notifications. */
  version: z.string(),
})

const recordSchema = z.object({
  messages: z.array(z.object({ id: z.string(), request: z.string() })).default([]),
  push: z.array(configSchema).default([]),
})
type TaskRecord = z.infer<typeof recordSchema>
type Config = z.infer<typeof configSchema>

interface Notification {
  readonly task: string
  readonly config: string
}

const known = new WeakMap<Runtime, PushNotifications>()

/** One for each runtime: a runtime has one subscription of a consumer. */
export function pushNotificationsOf(services: Services): PushNotifications {
  const push = known.get(services.runtime) ?? new PushNotifications(services)
  known.set(services.runtime, push)
  return push
}

export class PushNotifications {
  readonly #services: Services
  readonly #runtime: Runtime
  readonly #notify: ReturnType<typeof notification>
  #subscribed: Promise<unknown> | undefined
  #prunedAt = Date.now()

  constructor(services: Services) {
    this.#services = services
    this.#runtime = services.runtime
    this.#notify = notification((sent, signal) => this.#send(sent, signal))
    this.#runtime.add(this.#notify)
  }

  /** Subscribes as soon as the store has a consumer for it, which it has from the first config on. */
  begin({ drain, report }: Services): void {
    const look = async () => {
      const consumers = await this.#runtime.consumers()
      if (consumers.some(({ consumer }) => consumer === CONSUMER)) await this.#subscribe()
    }
    const timer = setInterval(() => {
      if (this.#subscribed === undefined) look().catch(report)
      else clearInterval(timer)
    }, LOOK)
    timer.unref()
    drain.addEventListener("abort", () => clearInterval(timer), { once: true })
    look().catch(report)
  }

  async #subscribe(): Promise<void> {
    this.#subscribed ??= this.#runtime.on(EVENTS, { consumer: CONSUMER }, (event) => this.#handle(event))
    try {
      await this.#subscribed
    } catch (error) {
      this.#subscribed = undefined
      throw error
    }
  }

  // Records

  async read(runId: string): Promise<TaskRecord> {
    const record = await this.#runtime.store.records.get(KIND, runId)
    return recordSchema.parse(record?.value ?? {})
  }

  async #change(runId: string, to: (record: TaskRecord) => TaskRecord): Promise<void> {
    for (;;) {
      const record = await this.#runtime.store.records.get(KIND, runId)
      const changed = to(recordSchema.parse(record?.value ?? {}))
      const value = JSON.parse(JSON.stringify(changed)) as Json
      if (await this.#runtime.store.records.put(KIND, runId, value, record?.version ?? null)) return
    }
  }

  async addMessage(runId: string, message: TaskRecord["messages"][number]): Promise<void> {
    await this.#change(runId, (record) => ({ ...record, messages: [...record.messages, message] }))
    await this.#prune()
  }

  async set(
    { runId }: StoredRun,
    config: TaskPushNotificationConfig,
    version: string,
  ): Promise<TaskPushNotificationConfig> {
    const { url, token, authentication } = config
    this.#services.webhooks.checkUrl(url)
    const id = config.id === "" ? randomUUID() : config.id
    const texts = [id, url, token, authentication?.scheme ?? "", authentication?.credentials ?? ""]
    if (texts.some((text) => text.length > MAX_TEXT || /[^\x20-\x7e]/.test(text))) {
      throw new RequestMalformedError(
        `A field of the push notification config is longer than ${MAX_TEXT} characters or not printable ASCII.`,
      )
    }
    const stored: Config = {
      id,
      url,
      token,
      version,
      ...(authentication !== undefined && { authentication }),
    }
    // First: it gets every event from now on.
    await this.#subscribe()
    await this.#change(runId, (record) => {
      const others = record.push.filter((one) => one.id !== id)
      if (others.length >= MAX_CONFIGS) {
        throw new RequestMalformedError(`A task has at most ${MAX_CONFIGS} push notification configs.`)
      }
      return { ...record, push: [...others, stored] }
    })
    return configOf(runId, stored)
  }

  async list({ runId }: StoredRun): Promise<readonly TaskPushNotificationConfig[]> {
    return (await this.read(runId)).push.map((config) => configOf(runId, config))
  }

  async remove({ runId }: StoredRun, id: string): Promise<void> {
    await this.#change(runId, (record) => ({ ...record, push: record.push.filter((one) => one.id !== id) }))
  }

  /** Forgets what belongs to runs that are deleted. */
  async #prune(): Promise<void> {
    const now = Date.now()
    if (now - this.#prunedAt < PRUNE_EVERY) return
    this.#prunedAt = now
    const { records } = this.#runtime.store
    for (let after: string | undefined; ; ) {
      const page = await records.list(KIND, { after, limit: 200 })
      for (const { id } of page) {
        if ((await this.#runtime.store.run(id)) === undefined) await records.remove(KIND, id)
      }
      after = page.at(-1)?.id
      if (after === undefined) return
    }
  }

  // Notifications

  async #handle({ runId, position }: EventOf<(typeof EVENTS)[number]>): Promise<void> {
    const { push } = await this.read(runId)
    if (push.length === 0) return
    const tenant = (await this.#runtime.store.run(runId))?.labels?.[TENANT_LABEL]
    for (const { id } of push) {
      await this.#runtime.enqueue(
        this.#notify,
        { task: runId, config: id },
        {
          runId: `a2a-push-${position}-${encodeURIComponent(id)}`,
          queue: INTERNAL_QUEUE,
          ...(tenant !== undefined && { tenant, labels: { [TENANT_LABEL]: tenant } }),
        },
      )
    }
  }

  async #send(
    { task, config: id }: Notification,
    signal: AbortSignal,
  ): Promise<{ readonly status: number } | null> {
    const run = await this.#runtime.store.run(task)
    const { push, messages } = await this.read(task)
    const config = push.find((one) => one.id === id)
    if (run === undefined || config === undefined) return null
    // As the tenant of the run knows its names.
    const principal = { ...OWNER, tenant: run.labels?.[TENANT_LABEL] }
    const { task: value } = await taskOf(this.#services, run, {
      contextId: contextOf(ownName(principal, run.labels?.[CHAT_LABEL] ?? run.thread), run),
      key: ownName(principal, run.key),
      messages,
      workflow: await this.#services.catalog.of(run),
    })
    const serializer = config.version.startsWith("0.")
      ? new V03PushNotificationSerializer()
      : new V1PushNotificationSerializer()
    const { body, contentType } = serializer.serialize({ payload: { $case: "task", value } }, value)
    const { authentication, token, url } = config
    const headers: Record<string, string> = {
      "content-type": contentType,
      ...(authentication !== undefined && {
        authorization: `${authentication.scheme} ${authentication.credentials}`,
      }),
      ...(token !== "" && { "x-a2a-notification-token": token }),
    }
    return { status: await this.#services.webhooks.post(url, headers, body, signal) }
  }
}

function notification(
  send: (sent: Notification, signal: AbortSignal) => Promise<{ readonly status: number } | null>,
) {
  const notify = node({
    id: "notify",
    retry: RETRY,
    run: (sent: Notification, { signal }) => send(sent, signal),
  })
  return workflow(WORKFLOW).start(notify).build()
}

function configOf(taskId: string, { id, url, token, authentication }: Config): TaskPushNotificationConfig {
  return { tenant: "", id, taskId, url, token, authentication }
}
