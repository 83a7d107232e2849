/** One append as it is sent: everything as text, made when the append is handed over, so that later changes of a value do no harm. */
import {
  DEFAULT_QUEUE,
  eventsOf,
  hasEnded,
  type Idle,
  type JournalRecord,
  type Json,
  type Lease,
  queueScore,
  type RunChange,
  type RunCreated,
} from "@superstep/engine"
import {
  type EventText,
  type StoredBody,
  toEventText,
  toStoredBody,
  type ValueCodec,
} from "@superstep/engine/stores"
import { writeFailed } from "./errors.ts"
import { toText, toTextOrNull } from "./names.ts"
import { hashOf } from "./runs.ts"

export interface AppendItem {
  readonly lease: Lease
  /** Of the run, as it is stored. */
  readonly run: string
  readonly expectedSeq: number
  readonly records: readonly RecordText[]
  readonly bytes: number
  readonly at: number | null
  readonly isIntent: boolean
  /** Undefined where the row has nothing but the journal's end to change. */
  readonly change: ChangeTexts | undefined
  /** For messages: the key and the group that the run was to have. */
  readonly key: string | undefined
  readonly group: string | undefined
  readonly creates: boolean
}

export interface RecordText extends StoredBody {
  readonly seq: number
  readonly events: number
  readonly frame: string
}

/** By kind, as the function in the database takes them; `item` is added when they are sent. */
interface ChangeTexts {
  readonly created?: object | undefined
  readonly row?:
    | { readonly graph?: string; readonly status?: string; readonly executing?: boolean }
    | undefined
  readonly ended?: object | undefined
  readonly graphs: readonly GraphText[]
  readonly opened: readonly object[]
  readonly closed: readonly object[]
  readonly mail: readonly object[]
  readonly thread: readonly object[]
  readonly events: readonly EventText[]
  readonly bytes: number
}

interface GraphText {
  readonly hash: string
  readonly body: string
}

/** Throws STORE_WRITE_FAILED for records that do not follow `expectedSeq`, and for what JSON cannot hold. */
export function toAppendItem(
  lease: Lease,
  expectedSeq: number,
  records: readonly JournalRecord[],
  change: RunChange | undefined,
  codec: ValueCodec,
): AppendItem {
  const texts = toRecords(lease.runId, expectedSeq, records, codec)
  return {
    lease,
    run: toText(lease.runId),
    expectedSeq,
    records: texts,
    bytes: texts.reduce((sum, { bytes }) => sum + bytes, 0),
    at: records.at(-1)?.entry.at ?? null,
    isIntent: change?.intent === true,
    change: change && toChange(lease, records, change, codec),
    key: change?.created?.key,
    group: change?.created?.flow?.group,
    creates: change?.created !== undefined,
  }
}

export function toRecords(
  runId: string,
  expectedSeq: number,
  records: readonly JournalRecord[],
  codec: ValueCodec,
): RecordText[] {
  const owner = toText(runId)
  return records.map(({ seq, frame, entry, events }, i) => {
    if (seq !== expectedSeq + 1 + i) {
      throw writeFailed(`Record ${seq} of run "${runId}" was not written: ${expectedSeq + 1 + i} is next`)
    }
    try {
      const { text, places, values, bytes, largeBytes } = toStoredBody(entry, {
        codec,
        kind: "record",
        owner,
        seq,
      })
      // Field by field: spreading into a longer object takes as long as writing a kilobyte of JSON.
      return {
        seq,
        events,
        frame: frame === "" ? "" : toText(frame),
        text,
        places,
        values,
        bytes,
        largeBytes,
      }
    } catch (error) {
      throw writeFailed(`Record ${seq} of run "${runId}" cannot be written as JSON`, error)
    }
  })
}

function toChange(
  lease: Lease,
  records: readonly JournalRecord[],
  change: RunChange,
  codec: ValueCodec,
): ChangeTexts | undefined {
  const { intent: _, ...parts } = change
  if (Object.values(parts).every((part) => part === undefined)) return undefined
  try {
    return changeTexts(lease, records, change, codec)
  } catch (error) {
    throw writeFailed(
      `What changes with the journal of run "${lease.runId}" cannot be written as JSON`,
      error,
    )
  }
}

function changeTexts(
  lease: Lease,
  records: readonly JournalRecord[],
  change: RunChange,
  codec: ValueCodec,
): ChangeTexts {
  const run = toText(lease.runId)
  const { status, idle, graph, error } = change
  const isOver = status !== undefined && hasEnded({ status })
  const executing = idle === undefined ? {} : { executing: idle === false }
  // An ended run keeps it in another table.
  const hasRow = graph !== undefined || (!isOver && (idle !== undefined || status !== undefined))
  const graphs = (change.graphs ?? []).map(toGraphText)
  // Of several with the same id the last one counts.
  const opened = lastOf(change.opened ?? []).map((request) => ({
    id: toText(request.id),
    recipient: toTextOrNull(request.to),
    body: codec.seal(JSON.stringify(request), "request", run, toText(request.id)),
  }))
  const closed = lastOf(change.closed ?? []).map(({ id, outcome, at, by }) => ({
    id: toText(id),
    outcome,
    at,
    closed_by: toTextOrNull(by),
  }))
  const thread = (change.thread ?? []).map(({ key, kind, value }) => ({
    key: toText(key),
    kind,
    value: codec.seal(JSON.stringify(value), "thread", toText(key)),
  }))
  const texts = [...graphs, ...opened].map(({ body }) => body).concat(thread.map(({ value }) => value))
  return {
    created: change.created && toCreated(lease, records, change.created, idle || {}),
    row: hasRow
      ? {
          ...(graph !== undefined && { graph: toText(graph) }),
          ...(status !== undefined && !isOver && { status }),
          ...(!isOver && executing),
          ...(!isOver && idle && idle.wakeAt !== undefined && { wake_at: idle.wakeAt }),
        }
      : undefined,
    ended: isOver
      ? {
          status,
          error: error === undefined ? null : codec.seal(JSON.stringify(error), "error", run),
          ...executing,
        }
      : undefined,
    graphs,
    opened,
    closed,
    mail: (change.mail ?? []).map((id) => ({ id: toText(id) })),
    thread,
    events: eventsOf(change, records).map(toEventText),
    bytes: texts.reduce((sum, text) => sum + text.length, 0),
  }
}

function toCreated(
  { runId, token, holder }: Lease,
  records: readonly JournalRecord[],
  created: RunCreated,
  { wakeAt }: Idle,
): object {
  const { workflow, graph, key, thread, threadVersion, forkOf, labels } = created
  const createdAt = records[0]?.entry.at ?? 0
  return {
    run: toText(runId),
    workflow: toText(workflow),
    graph: toText(graph),
    token,
    ...(created.queued ? { queued: true } : { holder: toText(holder) }),
    created_at: createdAt,
    ...toPlace(created, wakeAt ?? createdAt),
    ...(key !== undefined && { key: toText(key) }),
    ...(thread !== undefined && { thread: toText(thread) }),
    ...(thread !== undefined && threadVersion !== undefined && { version: threadVersion }),
    ...(forkOf !== undefined && { fork_of: toText(forkOf.runId), fork_seq: forkOf.seq }),
    ...(labels !== undefined && {
      labels: JSON.stringify(labels),
      hashes: Object.entries(labels).map(([name, value]) => hashOf(name, value)),
    }),
  }
}

/** Where it is in its queue, if it is in one, and what limits it. */
function toPlace({ workflow, flow, queued }: RunCreated, startAt: number): object {
  const { queue = DEFAULT_QUEUE, tenant = "", lanes = [], group, expiresAt } = flow ?? {}
  return {
    queue: toText(queue),
    line: hashOf(workflow, queue, tenant, lanes),
    tenant: hashOf(tenant),
    score: queueScore(startAt, flow ?? {}),
    ...(flow !== undefined && { flow: JSON.stringify(flow) }),
    ...(lanes.length > 0 && {
      lanes: lanes.map(({ limit, key }) => hashOf(limit, key)),
      limits: lanes.map(({ limit }) => toText(limit)),
    }),
    ...(queued && group !== undefined && { flow_group: toText(group) }),
    ...(queued && expiresAt !== undefined && { expires_at: expiresAt }),
  }
}

/** How much of the records is not in their rows. */
export function blobBytes(records: readonly RecordText[]): number {
  return records.reduce((sum, { largeBytes }) => sum + largeBytes, 0)
}

function lastOf<T extends { readonly id: string }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.id, item])).values()]
}

/** Every run brings its graphs, and most have the same. */
const graphTexts = new WeakMap<object, GraphText>()

function toGraphText({ hash, graph }: { readonly hash: string; readonly graph: Json }): GraphText {
  const key = typeof graph === "object" && graph !== null ? graph : undefined
  const known = key && graphTexts.get(key)
  const name = toText(hash)
  if (known?.hash === name) return known
  const text = { hash: name, body: JSON.stringify(graph) }
  if (key !== undefined) graphTexts.set(key, text)
  return text
}
