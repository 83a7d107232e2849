/**
 * Sessions that every server of a store knows, for clients of revision 2025-11-25 and earlier behind a load balancer. A server
 * that does not have a session opens it as the first one did. A client answers forms and cancels calls in requests of their own:
 * what arrives at another server than the one with the call is passed on through the store.
 *
 * H1 A session that was ended is unknown to every server from then on.
 * H2 A message is passed on to the server that waits for it, within `POLL` milliseconds, and dropped if nobody does.
 */
import { randomUUID } from "node:crypto"
import type { Json, Store } from "@superstep/engine"

type Records = Store["records"]

export interface KnownSession {
  readonly owner: string
  /** The parameters of `initialize`. */
  readonly initialize: Json
}

const SESSIONS = "mcp-session"
const MESSAGES = "mcp-message"
const DAY = 86_400_000
/** Milliseconds after which nobody waits for a message. */
const LATE = 60_000
const POLL = 250
/** Old sessions that a new one removes. */
const SWEPT = 20

export class SharedSessions {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** Begins with its time, so that the oldest are listed first. */
  newId(): string {
    return `${Date.now().toString(36)}-${randomUUID()}`
  }

  async open(id: string, session: KnownSession): Promise<void> {
    await this.#records.put(SESSIONS, id, { ...session, at: Date.now() }, null)
    for (const old of await this.#records.list(SESSIONS, { limit: SWEPT })) {
      if (isOlder(old.value, DAY)) await this.#records.remove(SESSIONS, old.id)
    }
  }

  async find(id: string): Promise<KnownSession | undefined> {
    return (await this.#records.get(SESSIONS, id))?.value as unknown as KnownSession | undefined
  }

  async end(id: string): Promise<void> {
    await this.#records.remove(SESSIONS, id)
  }

  /** Passes a message of a client on to the server that has the call. */
  async pass(session: string, message: Json): Promise<void> {
    await this.#records.put(MESSAGES, `${session}:${randomUUID()}`, { message, at: Date.now() }, null)
  }

  /** Receives messages for sessions of this process while `isWaiting`. */
  async receive(
    isWaiting: () => boolean,
    take: (session: string, message: Json) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      // First: most calls end before anything is read.
      await new Promise((resolve) => setTimeout(resolve, POLL).unref())
      if (!isWaiting() || signal.aborted) return
      for (const { id, value } of await this.#records.list(MESSAGES, { limit: 1_000 })) {
        const { message } = value as { readonly message: Json }
        const [session = ""] = id.split(":")
        if (take(session, message) || isOlder(value, LATE)) await this.#records.remove(MESSAGES, id)
      }
    }
  }
}

function isOlder(value: Json, milliseconds: number): boolean {
  const { at } = value as { readonly at?: unknown }
  return typeof at !== "number" || Date.now() - at > milliseconds
}
