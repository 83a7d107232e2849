/** Mail to whoever holds a run: kept until it has an outcome, and that until its sender has asked for it. */
import type { Lease, Mail, MailOutcome } from "@superstep/engine"
import type { Database } from "./driver.ts"
import { type JsonBytes, jsonBytes, parseJson } from "./json-column.ts"
import { fromText, toText } from "./text.ts"

export interface MailTable {
  /** The same mail twice is one. */
  post(mail: Mail): void
  /** Mail without an outcome, to runs of this holder, in the order it was posted. */
  to(holder: string): readonly Mail[]
  settle(id: string, outcome: MailOutcome): void
  /** The same, for mail that its run refuses: nothing when the lease is no longer good. */
  refuse(lease: Lease, id: string, error: { readonly code: string; readonly message: string }): void
  hasOutcome(id: string): boolean
  /** Forgets it with that. */
  takeOutcome(id: string): MailOutcome | undefined
  /** The run, named as the file has it, is gone: nobody will read what it has not read. */
  removeAll(runId: string): void
}

interface MailRow {
  readonly mail_id: string
  readonly run_id: string
  readonly at: number
  readonly wish: JsonBytes
}

export function mailTable(database: Database): MailTable {
  const post = database.prepare(
    "INSERT INTO mail (mail_id, run_id, at, wish) VALUES (?, ?, ?, ?) ON CONFLICT (mail_id) DO NOTHING",
  )
  // From the mail to its runs: there is little mail without an outcome, and a holder may have thousands of runs.
  const findMail = database.prepare(
    `SELECT mail.mail_id, mail.run_id, mail.at, ${jsonBytes("mail.wish")} AS wish
     FROM mail INDEXED BY mail_open CROSS JOIN runs ON runs.run_id = mail.run_id
     WHERE mail.outcome IS NULL AND runs.holder = ? ORDER BY mail.id`,
  )
  const settle = database.prepare("UPDATE mail SET outcome = ? WHERE mail_id = ? AND +outcome IS NULL")
  const isGood = database.prepare("SELECT 1 FROM runs WHERE run_id = ? AND token = ?")
  const findOutcome = database.prepare("SELECT 1 FROM mail WHERE mail_id = ? AND outcome IS NOT NULL")
  const takeOutcome = database.prepare(
    "DELETE FROM mail WHERE mail_id = ? AND outcome IS NOT NULL RETURNING outcome",
  )
  const removeAll = database.prepare("DELETE FROM mail WHERE run_id = ? AND outcome IS NULL")

  function settleMail(id: string, outcome: MailOutcome): void {
    settle.run(JSON.stringify(outcome), toText(id))
  }

  return {
    post({ id, runId, at, wish }) {
      post.run(toText(id), toText(runId), at, JSON.stringify(wish))
    },
    to: (holder) => (findMail.all(toText(holder)) as MailRow[]).map(toMail),
    settle: settleMail,
    refuse({ runId, token }, id, { code, message }) {
      if (isGood.all(toText(runId), token).length > 0) settleMail(id, { ok: false, code, message })
    },
    hasOutcome: (id) => findOutcome.all(toText(id)).length > 0,
    takeOutcome(id) {
      const [row] = takeOutcome.all(toText(id)) as { outcome: string }[]
      return row && JSON.parse(row.outcome)
    },
    removeAll: (runId) => void removeAll.run(runId),
  }
}

function toMail({ mail_id, run_id, at, wish }: MailRow): Mail {
  const id = fromText(mail_id)
  return {
    id,
    runId: fromText(run_id),
    at,
    wish: parseJson(wish, () => `Mail "${id}" is damaged`) as Mail["wish"],
  }
}
