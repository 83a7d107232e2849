/** Who holds which run in the memory store, and which runs are free. */
import type { RunId, RunStatus } from "../core/index.ts"
import {
  type Amount,
  type Dismissal,
  type FreeQuery,
  type Holder,
  hasEnded,
  type Idle,
  type Lease,
  type Mail,
  type MailOutcome,
  onlySuspect,
  type StoredHolder,
  type StoredRun,
  SUSPECT,
} from "../runtime/index.ts"
import { endOf, leaveGroup, type RequestRow, type Row, storedRun, type Tables } from "./memory-rows.ts"
import { addEvents } from "./memory-subscriptions.ts"

export function beat(tables: Tables, holder: Holder): boolean {
  const known = tables.holders.get(holder.id)
  tables.holders.set(holder.id, { holder, beat: (known?.beat ?? 0) + 1, taken: false })
  if (known !== undefined) return known.taken
  withdrawSuspicion(tables, holder.id)
  return true
}

/** The holder is alive, so none of its runs has killed it. */
function withdrawSuspicion(tables: Tables, holder: string): void {
  for (const row of tables.inFlight) {
    if (row.diedWith !== holder) continue
    row.takeovers--
    row.blamed = false
    row.diedWith = undefined
    if (row.status === "quarantined") unquarantine(tables, row.runId)
  }
}

export function holders(tables: Tables): readonly StoredHolder[] {
  return [...tables.holders.values()].map((known) => ({ ...known.holder, beat: known.beat }))
}

export function held(tables: Tables, holder: string): readonly Lease[] {
  const leases: Lease[] = []
  for (const { runId, token, holder: by } of tables.inFlight)
    if (by === holder) leases.push({ runId, holder, token })
  return leases
}

export function dismiss(tables: Tables, holder: string, why: Dismissal): void {
  if (!tables.holders.delete(holder)) return
  const rows = [...tables.inFlight].filter((row) => row.holder === holder)
  suspect(executingAt(rows, why), holder)
  for (const row of rows) {
    row.token++
    row.holder = undefined
    if (row.executing) row.wakeAt = 0
  }
}

function executingAt(rows: readonly Row[], why: Dismissal): readonly Row[] {
  if (why.reason === "closed") return []
  const executing = rows.filter((row) => row.executing)
  return why.reason === "died" ? executing : executing.filter(({ runId }) => runId === why.runId)
}

function suspect(rows: readonly Row[], holder: string): void {
  const only = onlySuspect(rows)
  for (const row of rows) {
    row.takeovers++
    row.blamed = row === only
    row.diedWith = holder
  }
}

/** Runs that a process may execute, or has executed. */
const CLAIMABLE: readonly Row["status"][] = ["running", "waiting"]

export function free(tables: Tables, { workflows, now, limit, suspects }: FreeQuery): readonly StoredRun[] {
  const known = new Set(workflows)
  const addressed = new Set<string>()
  for (const { runId } of tables.mail.values()) addressed.add(runId)
  const isDue = ({ wakeAt, status }: Row) => (wakeAt === undefined ? status === "running" : wakeAt <= now)

  const found: Row[] = []
  for (const row of tables.inFlight) {
    if (!known.has(row.created.workflow) || !CLAIMABLE.includes(row.status)) continue
    if (row.takeovers >= SUSPECT !== suspects) continue
    if (row.holder === undefined) {
      if (isDue(row) || addressed.has(row.runId)) found.push(row)
    } else if (!tables.holders.has(row.holder)) found.push(row)
  }
  found.sort((a, b) => a.updatedAt - b.updatedAt)
  return found.slice(0, limit).map(storedRun)
}

export function claim(
  tables: Tables,
  runId: string,
  token: number,
  holder: string,
  restsAt?: number,
): Lease | undefined {
  const row = tables.runs.get(runId)
  if (row === undefined || row.token !== token || hasEnded(row)) return undefined
  if (restsAt !== undefined && (row.executing || endOf(row) !== restsAt)) return undefined
  if (row.holder !== undefined && row.holder !== holder) {
    const loser = tables.holders.get(row.holder)
    if (loser !== undefined) loser.taken = true
  }
  row.token++
  row.holder = holder
  row.wakeAt = undefined
  row.executing = true
  if (row.status === "queued") {
    row.status = "running"
    leaveGroup(tables, row)
  }
  return { runId, holder, token: row.token }
}

export function setIdle(tables: Tables, lease: Lease, idle: Idle | false, status?: RunStatus): void {
  const row = heldRow(tables, lease)
  if (row === undefined) return
  rest(row, idle)
  if (status !== undefined && row.holder !== undefined) row.status = status
}

/** Marks the run as idle, or as executing again. */
export function rest(row: Row, idle: Idle | false): void {
  row.executing = idle === false
  row.wakeAt = idle === false ? undefined : idle.wakeAt
}

export function release(tables: Tables, lease: Lease, wakeAt: number | undefined): void {
  const row = heldRow(tables, lease)
  if (row === undefined) return
  row.holder = undefined
  row.wakeAt = wakeAt
}

export function absolve(tables: Tables, lease: Lease): void {
  const row = heldRow(tables, lease)
  if (row === undefined) return
  clearSuspicion(row)
  row.trials++
}

function clearSuspicion(row: Row): void {
  row.takeovers = 0
  row.blamed = false
  row.diedWith = undefined
}

export function quarantine(tables: Tables, lease: Lease, at: number): void {
  const row = heldRow(tables, lease)
  if (row === undefined || row.status === "quarantined" || row.status === "queued") return
  row.statusBefore = row.status
  row.status = "quarantined"
  row.holder = undefined
  row.wakeAt = undefined
  addEvents(tables, row, [{ type: "run.quarantined", at }])
}

export function unquarantine(tables: Tables, runId: string): boolean {
  const row = tables.runs.get(runId)
  if (row?.status !== "quarantined") return false
  row.status = row.statusBefore
  clearSuspicion(row)
  row.trials = 0
  row.wakeAt = 0
  return true
}

/** The row, if the lease is still valid. */
function heldRow(tables: Tables, lease: Lease): Row | undefined {
  const row = tables.runs.get(lease.runId)
  return row === undefined || row.token !== lease.token || hasEnded(row) ? undefined : row
}

// Mail in the memory store: commands to runs, and their outcomes.

export function mailTo(tables: Tables, holder: string): readonly Mail[] {
  return [...tables.mail.values()].filter(({ runId }) => tables.runs.get(runId)?.holder === holder)
}

export function mailAmount(tables: Tables, runId: RunId): Amount {
  let count = 0
  let bytes = 0
  for (const { runId: addressee, command } of tables.mail.values()) {
    if (addressee !== runId) continue
    count++
    bytes += JSON.stringify(command).length
  }
  return { count, bytes }
}

/** The request that an answer is for. */
function requestOf(tables: Tables, { runId, command }: Mail): RequestRow | undefined {
  return command.type === "answer" ? tables.runs.get(runId)?.requests.get(command.request) : undefined
}

export function post(tables: Tables, mail: Mail): void {
  tables.mail.set(mail.id, mail)
  const request = requestOf(tables, mail)
  if (request?.outcome === "open") request.outcome = "delivering"
}

export function refuseMail(
  tables: Tables,
  lease: Lease,
  id: string,
  { code, message }: { readonly code: string; readonly message: string },
): void {
  const mail = tables.mail.get(id)
  if (mail === undefined || tables.runs.get(lease.runId)?.token !== lease.token) return
  setOutcome(tables, id, { ok: false, code, message })
  const request = requestOf(tables, mail)
  if (request?.outcome === "delivering") request.outcome = "open"
}

export function setOutcome(tables: Tables, id: string, outcome: MailOutcome): void {
  const mail = tables.mail.get(id)
  if (mail === undefined) return
  tables.mail.delete(id)
  tables.outcomes.set(id, { mail, outcome })
}

export function takeOutcome(tables: Tables, id: string): MailOutcome | undefined {
  const kept = tables.outcomes.get(id)
  tables.outcomes.delete(id)
  return kept?.outcome
}

/** Deletes mail posted before that time whose run no longer exists, and outcomes that were never read. */
export function dropMail(tables: Tables, before: number): void {
  const isLeft = ({ runId, at }: Mail) => at < before && !tables.runs.has(runId)
  for (const mail of tables.mail.values()) if (isLeft(mail)) tables.mail.delete(mail.id)
  for (const { mail } of tables.outcomes.values()) if (isLeft(mail)) tables.outcomes.delete(mail.id)
}
