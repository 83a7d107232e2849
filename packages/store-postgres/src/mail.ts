/** Mail to the holder of a run: kept until it has an outcome; the outcome is kept until its sender reads it. */
import type { Amount, Lease, Mail, MailOutcome, RunId } from "@superstep/engine"
import type { Database, Statement } from "./database.ts"
import { parseName, parseSealed, toText } from "./names.ts"
import { STATE_TABLES } from "./runs.ts"

// The same mail twice is one. $5: the request that an answer is for.
const POST: Statement = {
  text: `
    WITH posted AS (
      INSERT INTO $.mail (mail_id, run_id, at, command) VALUES ($1, $2, $3, $4) ON CONFLICT (mail_id) DO NOTHING
    ), delivering AS (
      UPDATE $.requests SET outcome = 'delivering' FROM $.runs AS r
      WHERE r.run_id = $2 AND requests.run = r.id AND requests.request_id = $5 AND requests.outcome = 'open'
    )
    SELECT holder FROM $.live WHERE run_id = $2`,
}
// From the mail to its runs: there is little mail without an outcome, and a holder may have thousands of runs.
const FIND: Statement = {
  text: `
    SELECT mail.mail_id, mail.run_id, mail.at, mail.command
    FROM $.mail JOIN $.live ON live.run_id = mail.run_id
    WHERE mail.outcome IS NULL AND live.holder = $1 ORDER BY mail.id`,
}
const AMOUNT: Statement = {
  text: `
    SELECT count(*)::int AS count, coalesce(sum(octet_length(command)), 0)::float8 AS bytes
    FROM $.mail WHERE run_id = $1 AND outcome IS NULL`,
}
const REFUSE: Statement = {
  text: `
    WITH refused AS (
      UPDATE $.mail SET outcome = $4 FROM $.runs AS r ${STATE_TABLES}
      WHERE mail.mail_id = $1 AND mail.outcome IS NULL
        AND r.run_id = $2 AND coalesce(live.token, ended.token) = $3
      RETURNING mail.run_id
    )
    UPDATE $.requests SET outcome = 'open' FROM refused JOIN $.runs AS r ON r.run_id = refused.run_id
    WHERE requests.run = r.id AND requests.outcome = 'delivering' AND requests.request_id = $5`,
}
const COMMAND: Statement = {
  text: "SELECT command, run_id FROM $.mail WHERE mail_id = $1 AND outcome IS NULL",
}
const OUTCOME: Statement = {
  name: "outcome",
  text: "SELECT outcome FROM $.mail WHERE mail_id = $1 AND outcome IS NOT NULL",
}
const FORGET: Statement = {
  text: "DELETE FROM $.mail WHERE mail_id = $1 AND outcome IS NOT NULL RETURNING 1 AS one",
}

interface MailRow {
  readonly mail_id: string
  readonly run_id: string
  readonly at: number
  readonly command: string
}

/** Who holds the run, if anybody does. */
export async function post(
  database: Database,
  { id, runId, at, command }: Mail,
): Promise<string | undefined> {
  const request = command.type === "answer" ? toText(command.request) : null
  const text = database.codec.seal(JSON.stringify(command), "mail", toText(id), toText(runId))
  const values = [toText(id), toText(runId), at, text, request]
  const [row] = await database.write<{ holder: string | null }>(`The mail to run "${runId}"`, POST, values)
  return row?.holder == null ? undefined : parseName(row.holder)
}

export async function mailTo(database: Database, holder: string): Promise<readonly Mail[]> {
  const rows = await database.read<MailRow>(`The mail of "${holder}"`, FIND, [toText(holder)])
  return rows.map(({ mail_id, run_id, at, command }) => {
    const subject = () => `Mail "${mail_id}" is damaged`
    return {
      id: parseName(mail_id, subject),
      runId: parseName(run_id, subject),
      at,
      command: parseSealed(database.codec, command, subject, "mail", mail_id, run_id) as Mail["command"],
    }
  })
}

export async function mailAmount(database: Database, runId: RunId): Promise<Amount> {
  const [amount] = await database.read<Amount>(`The mail of run "${runId}"`, AMOUNT, [toText(runId)])
  return { count: Number(amount?.count ?? 0), bytes: Number(amount?.bytes ?? 0) }
}

export async function refuseMail(
  database: Database,
  { runId, token }: Lease,
  id: string,
  { code, message }: { readonly code: string; readonly message: string },
): Promise<void> {
  const subject = `The outcome of mail "${id}"`
  const { codec } = database
  const [row] = await database.read<{ command: string; run_id: string }>(subject, COMMAND, [toText(id)])
  if (row === undefined) return
  const damaged = () => `Mail "${id}" is damaged`
  const command = parseSealed(codec, row.command, damaged, "mail", toText(id), row.run_id) as Mail["command"]
  const request = command.type === "answer" ? toText(command.request) : null
  const outcome: MailOutcome = { ok: false, code, message }
  const text = codec.seal(JSON.stringify(outcome), "outcome", toText(id))
  const values = [toText(id), toText(runId), token, text, request]
  await database.write(subject, REFUSE, values)
}

/** Read first: an answer that is lost must not take the outcome with it. */
export async function mailOutcome(database: Database, id: string): Promise<MailOutcome | undefined> {
  const subject = `The outcome of mail "${id}"`
  const [row] = await database.read<{ outcome: string }>(subject, OUTCOME, [toText(id)])
  if (row === undefined) return undefined
  const isOurs = await database.ask(
    { subject: `${subject} was not written`, isWrite: true },
    async (isRepeated) => (await database.query(FORGET, [toText(id)])).length > 0 || isRepeated,
  )
  const damaged = () => `${subject} is damaged`
  return isOurs
    ? (parseSealed(database.codec, row.outcome, damaged, "outcome", toText(id)) as MailOutcome)
    : undefined
}
