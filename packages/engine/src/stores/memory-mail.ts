/** Mail in the memory store: what is asked of runs, and what came of it. */
import type { Lease, Mail, MailOutcome } from "../runtime/index.ts"
import type { Tables } from "./memory-rows.ts"

export function mailTo(tables: Tables, holder: string): readonly Mail[] {
  return [...tables.mail.values()].filter(({ runId }) => tables.runs.get(runId)?.holder === holder)
}

export function refuseMail(
  tables: Tables,
  lease: Lease,
  id: string,
  { code, message }: { readonly code: string; readonly message: string },
): void {
  if (tables.runs.get(lease.runId)?.token === lease.token)
    settleMail(tables, id, { ok: false, code, message })
}

export function settleMail(tables: Tables, id: string, outcome: MailOutcome): void {
  if (tables.mail.delete(id)) tables.outcomes.set(id, outcome)
}

export function takeOutcome(tables: Tables, id: string): MailOutcome | undefined {
  const outcome = tables.outcomes.get(id)
  tables.outcomes.delete(id)
  return outcome
}
