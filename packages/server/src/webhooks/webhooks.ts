/**
 * Webhooks: events of runs, sent to addresses of users. A durable consumer of the store's events creates a run of an internal
 * workflow for each delivery, so that retries, their log and redelivery are the engine's.
 *
 * 1. A delivery has the id of its webhook and of its event: an event that is handled again, after a crash, creates no second
 *    delivery, and every attempt at a delivery has the same `webhook-id`.
 * 2. A delivery is sent at least once: an attempt whose process died before its outcome was recorded is repeated.
 * 3. Secrets are read from the store when a request is signed. No journal, event or log has them.
 * 4. Nothing is sent to an address that is not public, unless the operator of the server allowed it. Redirects are not
 *    followed.
 * 5. A webhook of a tenant gets events of runs of that tenant only.
 */
import { randomUUID } from "node:crypto"
import {
  type Context,
  type EventOf,
  type EventType,
  INTERNAL_QUEUE,
  isSuperstepError,
  type Json,
  node,
  type Runtime,
  type StoredRun,
  SuperstepError,
  workflow,
} from "@superstep/engine"
import { checkedFetch, namedPrivate } from "@superstep/engine/tools"
import { z } from "zod"
import { checkCursor, ownLabels, TENANT_LABEL } from "../access.ts"
import { Documents, type Identified } from "../documents.ts"
import { newSecret, signedHeaders } from "./signature.ts"

export const EVENTS = [
  "run.queued",
  "run.started",
  "run.paused",
  "run.resumed",
  "run.ended",
  "run.quarantined",
  "request.opened",
  "request.closed",
] as const satisfies readonly EventType[]

const webhookSchema = z.object({
  url: z.string(),
  events: z.array(z.enum(EVENTS)),
  workflows: z.array(z.string()).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  description: z.string().optional(),
  tenant: z.string().optional(),
  createdAt: z.number(),
  createdBy: z.string(),
  enabled: z.boolean(),
  /** Why it was disabled, if nobody asked for it. */
  disabled: z.object({ at: z.number(), reason: z.string() }).optional(),
  /** Since then, no request succeeded. */
  failingSince: z.number().optional(),
  secret: z.string(),
  /** The secret before the last rotation: requests are signed with it, too, until this time. */
  previous: z.object({ secret: z.string(), until: z.number() }).optional(),
})

export type Webhook = Identified<z.infer<typeof webhookSchema>>
export type WebhookOptions = Pick<
  Webhook,
  "url" | "events" | "workflows" | "labels" | "description" | "tenant" | "enabled" | "createdBy"
>

export interface WebhooksOptions {
  /** Addresses or networks besides the public ones that webhooks may reach: `127.0.0.1`, `10.1.0.0/16`. Default: none. */
  readonly allow?: readonly string[] | undefined
}

/** What a delivery sends. The body of every attempt is the same. */
interface Delivery {
  readonly webhook: string
  /** The `webhook-id`. */
  readonly message: string
  readonly type: string
  readonly at: number
  readonly data: { readonly [name: string]: Json }
}

/** The internal workflow whose runs are deliveries. */
export const DELIVERY = "superstep.webhook"
const CONSUMER = "superstep.webhooks"
const WEBHOOK_LABEL = "superstep.webhook"
const EVENT_LABEL = "superstep.event"
const MESSAGE_LABEL = "superstep.message"

const DAY = 86_400_000
const ATTEMPT_TIMEOUT = 15_000
/** From 5 s to 12 h: about two and a half days. */
const RETRY = { attempts: 18, backoff: "exponential", delay: 5_000, maxDelay: DAY / 2, jitter: 0.1 } as const
const AT_ONCE = 10
const DISABLED_AFTER = 5 * DAY
const KEPT = 30 * DAY
const PRUNE_EVERY = 3_600_000
/** Milliseconds that a list of the webhooks is used. */
const FRESH = 1_000
/** Milliseconds between looks whether another server has created the first webhook. */
const LOOK = 10_000

const known = new WeakMap<Runtime, Webhooks>()

/** One for each runtime: a runtime has one subscription of a consumer. */
export function webhooksOf(
  runtime: Runtime,
  options: WebhooksOptions,
  report: (error: unknown) => void,
): Webhooks {
  const webhooks = known.get(runtime) ?? new Webhooks(runtime, options, report)
  known.set(runtime, webhooks)
  return webhooks
}

export class Webhooks {
  readonly documents: Documents<typeof webhookSchema>
  readonly #runtime: Runtime
  readonly #report: (error: unknown) => void
  readonly #fetch: ReturnType<typeof checkedFetch>
  readonly #mayBePlain: boolean
  readonly #delivery: ReturnType<typeof deliveryWorkflow>
  #subscribed: Promise<unknown> | undefined
  #listed: { readonly at: number; readonly webhooks: readonly Webhook[] } | undefined
  #prunedAt = 0

  constructor(runtime: Runtime, { allow = [] }: WebhooksOptions, report: (error: unknown) => void) {
    this.#runtime = runtime
    this.#report = report
    this.#fetch = checkedFetch({ allowPrivate: allow })
    this.#mayBePlain = allow.length > 0
    this.documents = new Documents(runtime.store, "webhook", webhookSchema)
    this.#delivery = deliveryWorkflow((delivery, ctx) => this.#attempt(delivery, ctx))
    runtime.add(this.#delivery)
  }

  // Configuration

  /** Throws OPTION_INVALID unless requests to this address may be sent. Where its name leads is checked with each request. */
  checkUrl(text: string): void {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isPlain = url?.protocol === "http:" && this.#mayBePlain && namedPrivate(url).length > 0
    if (url !== undefined && (url.protocol === "https:" || isPlain) && url.username === "") return
    const what =
      url?.protocol === "http:"
        ? "plain http is for private addresses that the server allows"
        : "that is not an address such as https://example.com/hook"
    throw new SuperstepError("OPTION_INVALID", `url: "${text}": ${what}.`)
  }

  async create(options: WebhookOptions): Promise<Webhook> {
    this.checkUrl(options.url)
    // First: it gets every event from now on.
    await this.subscribe()
    const created = await this.documents.create({ ...options, createdAt: Date.now(), secret: newSecret() })
    this.#listed = undefined
    return created
  }

  async change(
    id: string,
    to: (webhook: Omit<Webhook, "id">) => Omit<Webhook, "id">,
  ): Promise<Webhook | undefined> {
    const changed = await this.documents.change(id, to)
    this.#listed = undefined
    return changed
  }

  /** A new secret. Requests are signed with both for `overlap` more milliseconds. */
  async rotate(id: string, overlap: number): Promise<Webhook | undefined> {
    const secret = newSecret()
    return await this.change(id, ({ previous: _, ...webhook }) => ({
      ...webhook,
      secret,
      ...(overlap > 0 && { previous: { secret: webhook.secret, until: Date.now() + overlap } }),
    }))
  }

  async remove(id: string): Promise<void> {
    await this.documents.remove(id)
    this.#listed = undefined
  }

  // Events

  /** Subscribes as soon as the store has a webhook: until then events cost nothing. */
  begin(stop: AbortSignal): void {
    const look = async () => {
      const { found } = await this.documents.page(() => true, undefined, 1)
      if (found.length > 0) await this.subscribe()
    }
    const timer = setInterval(() => {
      if (this.#subscribed === undefined) look().catch(this.#report)
      else clearInterval(timer)
    }, LOOK)
    timer.unref()
    stop.addEventListener("abort", () => clearInterval(timer), { once: true })
    look().catch(this.#report)
  }

  async subscribe(): Promise<void> {
    this.#subscribed ??= this.#runtime.on(EVENTS, { consumer: CONSUMER }, (event) => this.#handle(event))
    try {
      await this.#subscribed
    } catch (error) {
      this.#subscribed = undefined
      throw error
    }
  }

  async #handle(event: EventOf<EventType>): Promise<void> {
    const wanted = (await this.#current()).filter(
      ({ enabled, events, workflows }) =>
        enabled && events.includes(event.type) && (workflows?.includes(event.workflow) ?? true),
    )
    if (wanted.length === 0) return
    const run = await this.#runtime.store.run(event.runId)
    for (const webhook of wanted.filter((one) => concerns(one, run))) {
      const { position, at } = event
      const message = `msg_${webhook.id}_${position}`
      const delivery = { webhook: webhook.id, message, type: event.type, at, data: dataOf(event, run) }
      await this.#deliver(webhook, delivery, `${webhook.id}-${position}`)
    }
    await this.#prune()
  }

  /** Another server's changes count within a second. */
  async #current(): Promise<readonly Webhook[]> {
    const now = Date.now()
    if (this.#listed === undefined || now - this.#listed.at >= FRESH || now < this.#listed.at) {
      this.#listed = { at: now, webhooks: (await this.documents.page(() => true)).found }
    }
    return this.#listed.webhooks
  }

  // Deliveries

  async #deliver(
    { tenant }: Webhook,
    delivery: Delivery,
    id: string = `${delivery.webhook}-${randomUUID()}`,
  ) {
    return await this.#runtime.enqueue(this.#delivery, delivery, {
      runId: `webhook-${id}`,
      queue: INTERNAL_QUEUE,
      ...(tenant !== undefined && { tenant }),
      labels: {
        [WEBHOOK_LABEL]: delivery.webhook,
        [EVENT_LABEL]: delivery.type,
        [MESSAGE_LABEL]: delivery.message,
        ...(tenant !== undefined && { [TENANT_LABEL]: tenant }),
      },
    })
  }

  /** Sends an event of the type `ping`, whatever the webhook is subscribed to. */
  async ping(webhook: Webhook): Promise<DeliveryLog> {
    const id = randomUUID()
    const message = `msg_${webhook.id}_ping-${id}`
    const delivery = { webhook: webhook.id, message, type: "ping", at: Date.now(), data: {} }
    return await this.#log(await this.#deliver(webhook, delivery, `${webhook.id}-${id}`))
  }

  /** Sends the same message again, with the same `webhook-id`. */
  async redeliver(webhook: Webhook, delivery: string): Promise<DeliveryLog> {
    return await this.#log(await this.#deliver(webhook, await this.#sent(delivery)))
  }

  async deliveries(
    { id }: Webhook,
    cursor: string | undefined,
    limit: number,
  ): Promise<{ readonly deliveries: readonly DeliveryLog[]; readonly next?: string | undefined }> {
    if (cursor !== undefined) await checkCursor(this.#runtime, cursor, (run) => isDelivery(run, id))
    const query = { workflow: DELIVERY, labels: { [WEBHOOK_LABEL]: id }, before: cursor, limit: limit + 1 }
    const runs = await this.#runtime.runs(query)
    const page = runs.slice(0, limit)
    return { deliveries: page.map(logOf), next: runs.length > limit ? page.at(-1)?.runId : undefined }
  }

  /** With what was sent, and each attempt. Undefined if the webhook has no such delivery. */
  async delivery({ id }: Webhook, delivery: string): Promise<DeliveryDetails | undefined> {
    const run = await this.#runtime.store.run(delivery)
    if (run === undefined || !isDelivery(run, id)) return undefined
    const attempts: DeliveryDetails["attempts"][number][] = []
    for (const { entry } of await this.#runtime.store.read(delivery, 0)) {
      if (entry.type === "task.failed") attempts.push({ at: entry.at, error: entry.error.message })
      if (entry.type === "task.finished") attempts.push({ at: entry.at })
    }
    return { ...logOf(run), body: bodyOf(await this.#sent(delivery)), attempts }
  }

  async #log(delivery: string): Promise<DeliveryLog> {
    return logOf((await this.#runtime.store.run(delivery)) as StoredRun)
  }

  /** The input of a delivery. */
  async #sent(delivery: string): Promise<Delivery> {
    const [first] = await this.#runtime.store.read(delivery, 0, 1)
    if (first?.entry.type === "run.started") return first.entry.input as never
    throw new SuperstepError("RUN_UNKNOWN", `There is no delivery "${delivery}".`)
  }

  async #attempt(delivery: Delivery, { signal }: Context): Promise<{ readonly status: number }> {
    const webhook = await this.documents.find(delivery.webhook)
    if (webhook === undefined || !webhook.enabled) {
      const text = `Webhook "${delivery.webhook}" is ${webhook === undefined ? "deleted" : "disabled"}.`
      throw new SuperstepError("WEBHOOK_DISABLED", text, { retryable: false })
    }
    try {
      const status = await this.#send(webhook, delivery, signal)
      if (webhook.failingSince !== undefined) await this.change(webhook.id, withoutFailure)
      return { status }
    } catch (error) {
      // The server stops, or the delivery is cancelled: that says nothing about the webhook.
      if (!signal.aborted) await this.#failed(webhook, error)
      throw error
    }
  }

  async #send({ url, secret, previous }: Webhook, delivery: Delivery, signal: AbortSignal): Promise<number> {
    const now = Date.now()
    const secrets = previous !== undefined && previous.until > now ? [secret, previous.secret] : [secret]
    const body = bodyOf(delivery)
    const signed = signedHeaders(secrets, {
      id: delivery.message,
      timestamp: Math.floor(now / 1_000),
      body,
    })
    return await this.post(url, { "user-agent": "superstep", ...signed }, body, signal)
  }

  /** Sends JSON to an address of a user. Throws unless the answer is a success; its text is never read. */
  async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<number> {
    const timeout = AbortSignal.timeout(ATTEMPT_TIMEOUT)
    const { host } = new URL(url)
    try {
      const response = await this.#fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
        signal: AbortSignal.any([signal, timeout]),
      })
      await response.body?.cancel()
      if (response.ok) return response.status
      const text = `${host} answered ${response.status}.`
      throw new SuperstepError(response.status === 410 ? "WEBHOOK_GONE" : "WEBHOOK_FAILED", text, {
        retryable: response.status !== 410,
      })
    } catch (error) {
      if (!timeout.aborted) throw error
      const text = `${host} did not answer within ${ATTEMPT_TIMEOUT / 1_000} s.`
      throw new SuperstepError("WEBHOOK_FAILED", text, { retryable: true })
    }
  }

  async #failed({ id, failingSince = Date.now() }: Webhook, error: unknown): Promise<void> {
    const now = Date.now()
    const isGone = isSuperstepError(error, "WEBHOOK_GONE")
    const isOver = isGone || now - failingSince >= DISABLED_AFTER
    const message = error instanceof Error ? error.message : "The request failed."
    const days = Math.floor((now - failingSince) / DAY)
    const reason = isGone ? message : `No request succeeded for ${days} days. The last one: ${message}`
    await this.change(id, (webhook) => ({
      ...webhook,
      failingSince: webhook.failingSince ?? now,
      ...(isOver && webhook.enabled && { enabled: false, disabled: { at: now, reason } }),
    }))
    if (isOver) this.#report(new SuperstepError("WEBHOOK_DISABLED", `Webhook "${id}" is disabled: ${reason}`))
  }

  /** Deletes deliveries that are long over. */
  async #prune(): Promise<void> {
    const now = Date.now()
    if (now - this.#prunedAt < PRUNE_EVERY) return
    this.#prunedAt = now
    const status = ["completed", "failed", "cancelled", "limit"] as const
    const query = { workflow: DELIVERY, status, updated: { until: now - KEPT }, limit: 1_000 }
    for (const { runId } of await this.#runtime.runs(query)) await this.#runtime.store.remove(runId)
  }
}

function isDelivery({ workflow: name, labels }: StoredRun, webhook: string): boolean {
  return name === DELIVERY && labels?.[WEBHOOK_LABEL] === webhook
}

function deliveryWorkflow(
  attempt: (delivery: Delivery, ctx: Context) => Promise<{ readonly status: number }>,
) {
  const deliver = node({ id: "deliver", retry: RETRY, run: attempt })
  return workflow(DELIVERY, {
    flow: { concurrency: { max: AT_ONCE, key: ({ webhook }: Delivery) => webhook } },
  })
    .start(deliver)
    .build()
}

/** Whether the run is one that the webhook is for. A run that is deleted has no labels. */
function concerns({ tenant, labels = {} }: Webhook, run: StoredRun | undefined): boolean {
  const wanted = { ...labels, ...(tenant !== undefined && { [TENANT_LABEL]: tenant }) }
  return Object.entries(wanted).every(([name, value]) => run?.labels?.[name] === value)
}

function dataOf(event: EventOf<EventType>, run: StoredRun | undefined): Delivery["data"] {
  const { type: _, runId, workflow: name, at: __, position: ___, ...rest } = event
  const labels = ownLabels(run?.labels)
  const data = { run: runId, workflow: name, ...rest, ...(labels !== undefined && { labels: { ...labels } }) }
  return data as Delivery["data"]
}

function bodyOf({ type, at, data }: Delivery): string {
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data })
}

function withoutFailure({ failingSince: _, ...webhook }: Omit<Webhook, "id">): Omit<Webhook, "id"> {
  return webhook
}

export interface DeliveryLog {
  readonly id: string
  /** The `webhook-id`: redeliveries have the same. */
  readonly message: string
  readonly type: string
  readonly status: "pending" | "delivered" | "failed"
  readonly createdAt: number
  readonly updatedAt: number
  /** Of a delivery that failed for good. */
  readonly error?: string | undefined
  /** Of a pending one. */
  readonly nextAttemptAt?: number | undefined
}

export interface DeliveryDetails extends DeliveryLog {
  readonly body: string
  /** One without an error succeeded. */
  readonly attempts: readonly { readonly at: number; readonly error?: string | undefined }[]
}

function logOf({ runId, status, labels = {}, createdAt, updatedAt, error, wakeAt }: StoredRun): DeliveryLog {
  const isPending = ["queued", "running", "waiting", "paused"].includes(status)
  return {
    id: runId,
    message: labels[MESSAGE_LABEL] ?? "",
    type: labels[EVENT_LABEL] ?? "",
    status: status === "completed" ? "delivered" : isPending ? "pending" : "failed",
    createdAt,
    updatedAt,
    error: error?.message,
    nextAttemptAt: isPending ? wakeAt : undefined,
  }
}
