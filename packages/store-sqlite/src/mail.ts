/** Mail to whoever holds a run: kept until it has an outcome, and that until its sender has asked for it. */
import type { Lease, Mail, MailOutcome } from "@superstep/engine"
import { check, checksum } from "./checksum.ts"
import type { Database } from "./driver.ts"
import { decodeText, type JsonBytes, jsonBytes, parseJson, parseName, selected } from "./json-column.ts"
import { shownName, toText } from "./text.ts"

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

export interface MailRow {
  readonly mail_id: JsonBytes
  readonly run_id: JsonBytes
  readonly at: number
  readonly wish: JsonBytes
  readonly sum: number | null
}

/** To be selected from `mail`. */
export const MAIL_COLUMNS = `${selected("mail", {
  mail_id: "text",
  run_id: "text",
  wish: "text",
  sum: "integer",
})}, CAST(mail.at AS NUMERIC) AS at`

export function mailTable(database: Database): MailTable {
  const post = database.prepare(
    "INSERT INTO mail (mail_id, run_id, at, wish, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (mail_id) DO NOTHING",
  )
  // From the mail to its runs: there is little mail without an outcome, and a holder may have thousands of runs.
  const findMail = database.prepare(
    `SELECT ${MAIL_COLUMNS}
     FROM mail INDEXED BY mail_open CROSS JOIN runs ON runs.run_id = mail.run_id
     WHERE mail.outcome IS NULL AND runs.holder = ? ORDER BY mail.id`,
  )
  const settle = database.prepare(
    "UPDATE mail SET outcome = ?1, outcome_sum = ?2 WHERE mail_id = ?3 AND +outcome IS NULL",
  )
  const isGood = database.prepare("SELECT 1 FROM runs WHERE run_id = ? AND token = ?")
  const findOutcome = database.prepare("SELECT 1 FROM mail WHERE mail_id = ? AND outcome IS NOT NULL")
  const takeOutcome = database.prepare(
    `DELETE FROM mail WHERE mail_id = ? AND outcome IS NOT NULL
     RETURNING ${jsonBytes("outcome")} AS outcome, CAST(outcome_sum AS INTEGER) AS sum`,
  )
  const removeAll = database.prepare("DELETE FROM mail WHERE run_id = ? AND outcome IS NULL")

  function settleMail(id: string, outcome: MailOutcome): void {
    const text = JSON.stringify(outcome)
    settle.run(text, checksum([toText(id)], text), toText(id))
  }

  return {
    post({ id, runId, at, wish }) {
      const [name, run, text] = [toText(id), toText(runId), JSON.stringify(wish)]
      post.run(name, run, at, text, checksum([name, run, at], text))
    },
    to: (holder) => (findMail.all(toText(holder)) as MailRow[]).map(toMail),
    settle: settleMail,
    refuse({ runId, token }, id, { code, message }) {
      if (isGood.all(toText(runId), token).length > 0) settleMail(id, { ok: false, code, message })
    },
    hasOutcome: (id) => findOutcome.all(toText(id)).length > 0,
    takeOutcome(id) {
      const [row] = takeOutcome.all(toText(id)) as { outcome: JsonBytes; sum: number | null }[]
      if (row === undefined) return undefined
      const place = () => `The outcome of mail "${id}" is damaged`
      const outcome = parseJson(row.outcome, place) as MailOutcome
      check(row.sum, () => checksum([toText(id)], row.outcome), place)
      return outcome
    },
    removeAll: (runId) => void removeAll.run(runId),
  }
}

export function toMail(row: MailRow): Mail {
  const id = decodeText(row.mail_id, () => "Mail is damaged at its id")
  const place = () => `Mail "${shownName(id)}" is damaged`
  const run = decodeText(row.run_id, place)
  const wish = parseJson(row.wish, place) as Mail["wish"]
  check(row.sum, () => checksum([id, run, row.at], row.wish), place)
  return {
    id: parseName(id, place),
    runId: parseName(run, place),
    at: row.at,
    wish,
  }
}
