/**
 * Lets a model write one query. An error of the database is sent back to the model, at most twice. Failures do not fail
 * the run: the outcome has the reason.
 */
import type { Context } from "../../../runtime/index.ts"
import { isNoFailure, messageOf, type Tried, tried } from "../../failures.ts"
import type { QueryResult } from "../../ports.ts"
import { MAX_ROWS } from "../answer/evidence.ts"
import { askAgent, type Role, textOf } from "../ask-agent.ts"
import type { GoalAgent } from "../goal-config.ts"

const MAX_CORRECTIONS = 2

export interface QueryTask {
  /** The prefix of its step names. */
  readonly id: string
  readonly role: Role
  readonly agent: GoalAgent
  /** `problem` describes the errors of earlier queries. */
  prompt(problem: string | undefined): Promise<string>
  /** The query in the model's answer. */
  read(answer: string): string | undefined
  run(query: string): Promise<QueryResult>
}

interface Queried {
  readonly query: string
  readonly result: QueryResult
}

/** A model that writes no query has answered; a model that cannot be called has failed. */
export type QueryOutcome =
  | ({ readonly ok: true } & Queried)
  | { readonly ok: false; readonly reason: string; readonly isFailure: boolean }

export async function queryByModel(task: QueryTask, ctx: Context): Promise<QueryOutcome> {
  const problems: string[] = []
  let query: string | undefined
  let failure = ""
  for (let corrections = 0; corrections <= MAX_CORRECTIONS; corrections++) {
    const scope = corrections === 0 ? ctx : ctx.scope(`corrected${again(corrections)}`)
    const written = await write(task, problems, scope)
    if (!written.ok && query === undefined) return written
    // If the model repeats the query, or does not correct it, the known error is the result.
    if (!written.ok || written.value === query) break
    query = written.value
    const key = corrections === 0 ? `query ${task.id}` : `corrected query ${task.id}${again(corrections)}`
    const result = await runQuery(key, () => task.run(written.value), ctx)
    if (result.ok) return { ok: true, query, result: result.value }
    failure = result.reason
    if (isUnreachable(result)) break
    problems.push(`This query failed:\n${query}\nThe database says: ${failure}`)
  }
  return { ok: false, isFailure: true, reason: `the query failed: ${failure} The query was: ${query}` }
}

function again(corrections: number): string {
  return corrections === 1 ? "" : ` ${corrections}`
}

/** A recorded query: at most the rows that are shown, and whether more exist. */
export async function runQuery(
  key: string,
  run: () => Promise<QueryResult>,
  ctx: Context,
): Promise<Tried<QueryResult>> {
  return await tried(ctx, key, async () => {
    const { columns, rows, isTruncated } = await run()
    return { columns, rows: rows.slice(0, MAX_ROWS), isTruncated: isTruncated || rows.length > MAX_ROWS }
  })
}

/** Whether no query could succeed. */
function isUnreachable(result: Tried<unknown>): boolean {
  return !result.ok && (result.code?.startsWith("DATABASE_") ?? false)
}

async function write(
  { role, agent, prompt, read }: QueryTask,
  problems: readonly string[],
  ctx: Context,
): Promise<{ ok: true; value: string } | { ok: false; reason: string; isFailure: boolean }> {
  const problem = problems.length === 0 ? undefined : `${problems.join("\n\n")}\nWrite it correctly.`
  let answer: string
  try {
    answer = textOf(await askAgent(role, agent, await prompt(problem), ctx))
  } catch (error) {
    if (isNoFailure(error, ctx)) throw error
    return { ok: false, isFailure: true, reason: messageOf(error) }
  }
  const value = read(answer)
  if (value !== undefined) return { ok: true, value }
  return { ok: false, isFailure: false, reason: "no query was written for it" }
}
