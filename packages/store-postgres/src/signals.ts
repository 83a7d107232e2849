/**
 * Messages between processes by LISTEN and NOTIFY. One connection of a process listens, and is the only session state that
 * there is (P1); notifications are sent on any connection, gathered for some milliseconds into one statement, after the
 * commits that they are about. A notification takes a lock of the whole server, and waits for no disk.
 *
 * N1 Messages to one address arrive in the order in which they were sent, or the listener learns that some are missing.
 * N2 A message is only a hint: listeners also poll the tables.
 * N3 A message that is too large for a notification is in the table `live_values`, and the notification has its number.
 */
import { createHash, randomUUID } from "node:crypto"
import type { LiveChannel } from "@superstep/engine"
import { isSealed } from "@superstep/engine/stores"
import pg from "pg"
import type { ConnectionConfig } from "./address.ts"
import type { Database, Statement } from "./database.ts"

/** Milliseconds for which messages are gathered. */
const GATHER = 15
/** PostgreSQL takes fewer than 8,000 bytes. */
const MAX_PAYLOAD = 7_900
const MAX_PAUSE = 5_000
const CONNECT_TIMEOUT = 10_000

const NOTIFY: Statement = {
  name: "notify",
  text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify(m.channel, m.payload)
    FROM unnest($1::text[], $2::text[]) AS m(channel, payload)`,
}
/** Values that no process fetched are deleted with later ones. */
const KEEP: Statement = {
  text: `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
      old AS (DELETE FROM $.live_values WHERE at < now() - interval '1 minute')
    INSERT INTO $.live_values (body) SELECT b.body FROM quick, unnest($1::text[]) WITH ORDINALITY AS b(body, n)
    ORDER BY b.n RETURNING id`,
}
const FETCH: Statement = { text: "SELECT body FROM $.live_values WHERE id = $1" }

/** The types of the driver lack this part of it. */
type ListeningClient = pg.Client & { ref(): void; unref(): void }

/** Null: messages are missing. */
export type OnMessage = (message: unknown) => void

interface Sent {
  readonly channel: string
  readonly text: string
}

/** As a notification has it: the messages, or the number of the value that has one. */
interface Payload {
  readonly from: string
  /** 1, 2, 3 … for each pair of sender and channel. */
  readonly n: number
  readonly messages?: readonly unknown[]
  readonly value?: number
}

/** Held from the start, so that a test framework's fake timers do not stop it. */
const later = setTimeout

export class Signals {
  readonly #database: Database
  readonly #config: ConnectionConfig
  readonly #id: string = randomUUID()
  readonly #listeners = new Map<string, Set<OnMessage>>()
  readonly #received = new Map<string, number>()
  readonly #sentTo = new Map<string, number>()
  #client: ListeningClient | undefined
  #connecting: Promise<void> | undefined
  #arriving: Promise<void> = Promise.resolve()
  #asking: Promise<unknown> = Promise.resolve()
  #waiting: Sent[] = []
  #sending: Promise<void> | undefined
  /** Ends the gathering. */
  #hurry: () => void = () => undefined
  #isClosed = false

  constructor(database: Database, config: ConnectionConfig) {
    this.#database = database
    this.#config = config
  }

  /** Calls back with every message to the address, until the returned function is called. */
  listen(address: string, onMessage: OnMessage): () => void {
    const channel = channelOf(this.#database.target.schema, address)
    const known = this.#listeners.get(channel)
    if (known !== undefined) known.add(onMessage)
    else {
      this.#listeners.set(channel, new Set([onMessage]))
      if (this.#client !== undefined) this.#ask(`LISTEN ${channel}`)
      else this.#connect()
    }
    return () => {
      const listeners = this.#listeners.get(channel)
      if (listeners?.delete(onMessage) !== true || listeners.size > 0) return
      this.#listeners.delete(channel)
      this.#ask(`UNLISTEN ${channel}`)
    }
  }

  /** Whether messages arrive. */
  get isListening(): boolean {
    return this.#client !== undefined
  }

  /** `isUrgent`: it is not gathered with others, and those that are go with it. */
  send(address: string, message: unknown, isUrgent = false): void {
    if (this.#isClosed) return
    const channel = channelOf(this.#database.target.schema, address)
    this.#waiting.push({ channel, text: this.#toText(message, channel) })
    this.#sending ??= this.#sendGathered()
    if (isUrgent) this.#hurry()
  }

  /** JSON: of an encrypted store, a string with the sealed message. The server keeps notifications on its disk. */
  #toText(message: unknown, channel: string): string {
    const text = JSON.stringify(message)
    const sealed = this.#database.codec.seal(text, "live", channel)
    return sealed === text ? text : JSON.stringify(sealed)
  }

  /** Null for one that cannot be read. */
  #fromText(message: unknown, channel: string): unknown {
    if (typeof message !== "string" || !isSealed(message)) return message
    try {
      return JSON.parse(this.#database.codec.open(message, (what) => new Error(what), "live", channel))
    } catch {
      return null
    }
  }

  async #sendGathered(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#hurry = resolve
      later(resolve, GATHER)
    })
    while (this.#waiting.length > 0) {
      const sent = this.#waiting
      this.#waiting = []
      try {
        await this.#notify(sent)
      } catch {
        // N2. Those that listen find out by the next number (N1).
      }
    }
    this.#sending = undefined
  }

  async #notify(sent: readonly Sent[]): Promise<void> {
    const large = sent.filter(({ text }) => isLarge(text))
    const ids =
      large.length === 0
        ? []
        : await this.#database.write<{ id: number }>("A live event", KEEP, [large.map(({ text }) => text)])
    const notifications: { channel: string; payload: string }[] = []
    const open = new Map<string, string[]>()
    const finish = (channel: string) => {
      const texts = open.get(channel)
      if (texts === undefined) return
      open.delete(channel)
      notifications.push({ channel, payload: this.#payload(channel, `"messages":[${texts.join(",")}]`) })
    }
    let next = 0
    for (const { channel, text } of sent) {
      const texts = open.get(channel)
      if (isLarge(text)) {
        finish(channel)
        notifications.push({ channel, payload: this.#payload(channel, `"value":${ids[next++]?.id}`) })
      } else if (texts !== undefined && !isLarge(`${texts.join(",")},${text}`)) texts.push(text)
      else {
        finish(channel)
        open.set(channel, [text])
      }
    }
    for (const channel of [...open.keys()]) finish(channel)
    await this.#database.write("A notification", NOTIFY, [
      notifications.map(({ channel }) => channel),
      notifications.map(({ payload }) => payload),
    ])
  }

  #payload(channel: string, content: string): string {
    const n = (this.#sentTo.get(channel) ?? 0) + 1
    this.#sentTo.set(channel, n)
    return `{"from":"${this.#id}","n":${n},${content}}`
  }

  // The connection that listens

  #connect(): void {
    if (this.#isClosed || this.#connecting !== undefined) return
    this.#connecting = this.#untilConnected().finally(() => {
      this.#connecting = undefined
    })
  }

  async #untilConnected(): Promise<void> {
    for (let attempt = 0; this.#listeners.size > 0 && !this.#isClosed; attempt++) {
      try {
        return await this.#open()
      } catch {
        const pause = Math.min(50 * 2 ** attempt, MAX_PAUSE)
        await new Promise<void>((resolve) => later(resolve, pause).unref())
      }
    }
  }

  async #open(): Promise<void> {
    const client: ListeningClient = new pg.Client({
      ...this.#config,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      application_name: "superstep listener",
    } as pg.ClientConfig) as ListeningClient
    client.on("error", () => this.#lost(client))
    client.on("end", () => this.#lost(client))
    client.on("notification", ({ channel, payload = "" }) => this.#arrive(channel, payload))
    try {
      await client.connect()
      // It keeps neither the process nor the store open.
      client.unref()
      for (const channel of this.#listeners.keys()) await client.query(`LISTEN ${channel}`)
    } catch (error) {
      client.end().catch(() => undefined)
      throw error
    }
    if (this.#isClosed) return void client.end().catch(() => undefined)
    this.#client = client
    // Those that were added meanwhile.
    for (const channel of this.#listeners.keys()) this.#ask(`LISTEN ${channel}`)
  }

  /** One after another: a connection answers one statement at a time. */
  #ask(statement: string): void {
    const client = this.#client
    if (client === undefined) return
    this.#asking = this.#asking.then(() => client.query(statement)).catch(() => this.#lost(client))
  }

  #lost(client: ListeningClient): void {
    if (client !== this.#client) return
    this.#client = undefined
    this.#received.clear()
    client.end().catch(() => undefined)
    for (const listeners of this.#listeners.values()) for (const listener of [...listeners]) listener(null)
    if (this.#listeners.size > 0) this.#connect()
  }

  /** One after another: a large value takes a round trip. */
  #arrive(channel: string, payload: string): void {
    this.#arriving = this.#arriving.then(async () => {
      const listeners = this.#listeners.get(channel)
      if (listeners === undefined) return
      const messages = await this.#messagesOf(channel, payload)
      const opened = messages.map((message) => this.#fromText(message, channel))
      for (const listener of [...listeners]) for (const message of opened) listener(message)
    })
  }

  /** Null stands for those that are missing. Anybody who may connect to the database can notify: what is no payload is ignored. */
  async #messagesOf(channel: string, text: string): Promise<readonly unknown[]> {
    const payload = parsed(text)
    if (payload === undefined) return []
    const { from, n, messages, value } = payload
    const last = this.#received.get(`${from} ${channel}`)
    this.#received.set(`${from} ${channel}`, n)
    const found = messages ?? [await this.#fetch(value as number)]
    return last !== undefined && n !== last + 1 ? [null, ...found] : found
  }

  async #fetch(id: number): Promise<unknown> {
    try {
      const [row] = await this.#database.read<{ body: string }>("A live event", FETCH, [id])
      return row === undefined ? null : JSON.parse(row.body)
    } catch {
      return null
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sending
    this.#listeners.clear()
    const client = this.#client
    // Waits until it has ended.
    client?.ref()
    await client?.end().catch(() => undefined)
  }
}

/** The name of a channel for this address, in this schema. */
export function channelOf(schema: string, address: string): string {
  const hash = createHash("sha256").update(`${schema}\n${address}`).digest("hex")
  return `superstep_${hash.slice(0, 32)}`
}

/** Apart from those of holders and watchers. */
export function messageAddress(address: string): string {
  return `message ${address}`
}

function isLarge(text: string): boolean {
  // With room for what is around it.
  return text.length > (MAX_PAYLOAD - 200) / 3 && Buffer.byteLength(text) > MAX_PAYLOAD - 200
}

function parsed(text: string): Payload | undefined {
  try {
    const payload = JSON.parse(text) as Partial<Payload> | null
    const isSound =
      typeof payload?.from === "string" &&
      Number.isInteger(payload.n) &&
      (Array.isArray(payload.messages) || Number.isInteger(payload.value))
    return isSound ? (payload as Payload) : undefined
  } catch {
    return undefined
  }
}

// Hints that there is something to do before the next look: mail for a holder, or a run that is free. They may be lost.

/** Milliseconds between two hints of one process, so that releasing a thousand runs does not wake every process a thousand times. */
const APART = 50

const ALL = "hints"

function addressOf(holder: string): string {
  return `hints ${holder}`
}

export interface Hints {
  readonly listen: NonNullable<LiveChannel["hints"]>
  to(holder: string): void
  /** To every process that listens. */
  toAll(): void
}

export function hintsOn(signals: Signals): Hints {
  const sentAt = new Map<string, number>()

  function send(address: string): void {
    const now = performance.now()
    if (now - (sentAt.get(address) ?? Number.NEGATIVE_INFINITY) < APART) return
    for (const [other, at] of sentAt) if (now - at >= APART) sentAt.delete(other)
    sentAt.set(address, now)
    // Later than the time that it keeps others from: what was written meanwhile is meant too.
    const timer = setTimeout(() => signals.send(address, true), APART)
    timer.unref()
  }

  return {
    listen(holder, onHint) {
      const stops = [ALL, addressOf(holder)].map((address) => signals.listen(address, onHint))
      return {
        close() {
          for (const stop of stops) stop()
        },
      }
    },
    to: (holder) => send(addressOf(holder)),
    toAll: () => send(ALL),
  }
}
