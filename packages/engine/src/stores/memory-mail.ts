/** Mail in the memory store: commands to runs, and their outcomes. */
import type { RunId } from "../core/index.ts"
import type { Amount, Lease, Mail, MailOutcome } from "../runtime/index.ts"
import type { RequestRow, Tables } from "./memory-rows.ts"

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
