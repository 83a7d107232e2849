/** Mail to the holder of a run. It is stored until it has an outcome, and the outcome until its sender has read it. */

import type { Amount, Lease, Mail, MailOutcome } from "@superstep/engine"
import { plainCodec, type ValueCodec } from "@superstep/engine/stores"
import { check, checksum } from "../file/checksum.ts"
import {
  decodeText,
  EACH_RUN,
  type JsonBytes,
  jsonBytes,
  parseName,
  parseSealed,
  type Row,
  type RunNumbers,
  selected,
  shownName,
  toText,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"

/** How many letters one transaction deletes at most. */
const MAIL_AT_ONCE = 250

export interface MailTable {
  /** Posting the same mail again changes nothing. */
  post(mail: Mail): void
  /** Mail without an outcome, to runs of this holder, in the order it was posted. */
  to(holder: string): readonly Mail[]
  /** How much mail of the run has no outcome. */
  amount(runId: string): Amount
  settle(id: string, outcome: MailOutcome): void
  /** The same for mail that its run refuses; returns the mail, or nothing if the lease is no longer valid. */
  refuse(
    lease: Lease,
    id: string,
    error: { readonly code: string; readonly message: string },
  ): Mail | undefined
  hasOutcome(id: string): boolean
  /** Deletes the mail with its outcome. */
  takeOutcome(id: string): MailOutcome | undefined
  /** Deletes mail that the runs have not read, before they are deleted. */
  removeAll(runs: RunNumbers): void
  /** Removes some mail posted before that time whose run is gone, with its outcome; false when there is no more. */
  removeLeft(before: number): boolean
}

const MAIL = { mail_id: "text", run_id: "text", at: "time", wish: "text", sum: "integer?" } as const

/** The columns of a SELECT from `mail`. */
export const MAIL_COLUMNS = selected("mail", MAIL)

export type MailRow = Row<typeof MAIL>

export function mailTable(database: Database, codec: ValueCodec = plainCodec): MailTable {
  const post = database.prepare(
    "INSERT INTO mail (mail_id, run_id, at, wish, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (mail_id) DO NOTHING",
  )
  // From the mail to its runs: there is little mail without an outcome, and a holder may have thousands of runs.
  const findMail = database.prepare(
    `SELECT ${MAIL_COLUMNS}
     FROM mail INDEXED BY mail_open CROSS JOIN runs ON runs.run_id = mail.run_id
     WHERE mail.outcome IS NULL AND runs.holder = ? ORDER BY mail.id`,
  )
  const amount = database.prepare(
    `SELECT CAST(count(*) AS INTEGER) AS count, CAST(coalesce(sum(length(wish)), 0) AS INTEGER) AS bytes
     FROM mail INDEXED BY mail_open WHERE run_id = ? AND outcome IS NULL`,
  )
  const settle = database.prepare(
    "UPDATE mail SET outcome = ?1, outcome_sum = ?2 WHERE mail_id = ?3 AND +outcome IS NULL",
  )
  const findOpen = database.prepare(`SELECT ${MAIL_COLUMNS} FROM mail WHERE mail_id = ? AND +outcome IS NULL`)
  const isGood = database.prepare("SELECT 1 FROM runs WHERE run_id = ? AND token = ?")
  const findOutcome = database.prepare("SELECT 1 FROM mail WHERE mail_id = ? AND outcome IS NOT NULL")
  const takeOutcome = database.prepare(
    `DELETE FROM mail WHERE mail_id = ? AND outcome IS NOT NULL
     RETURNING ${jsonBytes("outcome")} AS outcome, CAST(outcome_sum AS INTEGER) AS sum`,
  )
  const removeAll = database.prepare(
    `DELETE FROM mail WHERE outcome IS NULL AND run_id IN (SELECT run_id FROM runs WHERE id IN ${EACH_RUN})`,
  )

  const removeLeft = database.prepare(
    `DELETE FROM mail WHERE id IN (
       SELECT id FROM mail WHERE at < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = mail.run_id)
       LIMIT ${MAIL_AT_ONCE}
     )`,
  )

  function settleMail(id: string, outcome: MailOutcome): void {
    const text = codec.seal(JSON.stringify(outcome), "outcome", toText(id))
    settle.run(text, checksum([toText(id)], text), toText(id))
  }

  return {
    post({ id, runId, at, command }) {
      const [name, run] = [toText(id), toText(runId)]
      const text = codec.seal(JSON.stringify(command), "mail", name, run)
      post.run(name, run, at, text, checksum([name, run, at], text))
    },
    to: (holder) => (findMail.all(toText(holder)) as MailRow[]).map((row) => toMail(row, codec)),
    amount: (runId) => (amount.all(toText(runId)) as Amount[])[0] ?? { count: 0, bytes: 0 },
    settle: settleMail,
    refuse({ runId, token }, id, { code, message }) {
      const [row] = findOpen.all(toText(id)) as MailRow[]
      if (row === undefined || isGood.all(toText(runId), token).length === 0) return undefined
      settleMail(id, { ok: false, code, message })
      return toMail(row, codec)
    },
    hasOutcome: (id) => findOutcome.all(toText(id)).length > 0,
    takeOutcome(id) {
      const [row] = takeOutcome.all(toText(id)) as { outcome: JsonBytes; sum: number | null }[]
      if (row === undefined) return undefined
      const subject = () => `The outcome of mail "${id}" is damaged`
      const outcome = parseSealed(codec, row.outcome, subject, "outcome", toText(id)) as MailOutcome
      check(row.sum, () => checksum([toText(id)], row.outcome), subject)
      return outcome
    },
    removeAll: (runs) => void removeAll.run(runs),
    removeLeft: (before) => Number(removeLeft.run(before).changes) === MAIL_AT_ONCE,
  }
}

export function toMail(row: MailRow, codec: ValueCodec = plainCodec): Mail {
  const id = decodeText(row.mail_id, () => "Mail is damaged at its id")
  const subject = () => `Mail "${shownName(id)}" is damaged`
  const run = decodeText(row.run_id, subject)
  const command = parseSealed(codec, row.wish, subject, "mail", id, run) as Mail["command"]
  check(row.sum, () => checksum([id, run, row.at], row.wish), subject)
  return {
    id: parseName(id, subject),
    runId: parseName(run, subject),
    at: row.at,
    command,
  }
}
