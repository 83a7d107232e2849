/** Conversations in the store: the threads of a workflow's runs, the most recent first. */
import type { Json, StoredRun } from "@superstep/engine"
import type { OpenStore } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { isRecord } from "./read-input.ts"

const PAGE = 200
const MAX_RUNS = 5_000

export interface Session {
  readonly thread: string
  /** Of its last message. */
  readonly at: number
}

export async function recentSessions(
  store: Pick<OpenStore, "runs">,
  workflow: string,
  limit: number,
): Promise<readonly Session[]> {
  const found = new Map<string, Session>()
  let before: StoredRun["runId"] | undefined
  for (let seen = 0; seen < MAX_RUNS; seen += PAGE) {
    const page = await store.runs({ workflow, before, limit: PAGE })
    for (const { thread, createdAt } of page) {
      if (thread !== undefined && !found.has(thread)) found.set(thread, { thread, at: createdAt })
      if (found.size === limit) return [...found.values()]
    }
    before = page.at(-1)?.runId
    if (page.length < PAGE) break
  }
  return [...found.values()]
}

/** The thread of `--session`: an id, or -1 for the last conversation, -2 for the one before. */
export async function sessionThread(
  store: Pick<OpenStore, "runs">,
  workflow: string,
  session: string,
): Promise<string> {
  const [, count] = /^-([1-9]\d{0,3})$/.exec(session) ?? []
  if (count === undefined) return session
  const sessions = await recentSessions(store, workflow, Number(count))
  const found = sessions[Number(count) - 1]
  if (found !== undefined) return found.thread
  const has = sessions.length === 0 ? "has no conversation" : `has ${sessions.length} conversations`
  throw usageError(
    `There is no session ${session}: "${workflow}" ${has} in this store. List them with /sessions in superstep chat.`,
  )
}

/** The person's messages of a thread, oldest first. */
export async function messagesOf(
  store: Pick<OpenStore, "thread">,
  thread: string,
): Promise<readonly string[]> {
  const { state } = await store.thread(thread)
  const messages = Array.isArray(state.messages) ? (state.messages as readonly Json[]) : []
  return messages.flatMap((message) => {
    if (!isRecord(message) || message.role !== "user") return []
    const parts: readonly Json[] = Array.isArray(message.content) ? message.content : [message.content ?? ""]
    const texts = parts.map((part) => (isRecord(part) ? part.text : part))
    return texts.find((text) => typeof text === "string" && text !== "") ?? []
  }) as readonly string[]
}
