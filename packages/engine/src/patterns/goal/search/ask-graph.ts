/** The graph agent: a model writes one Cypher query over the graph's schema, and its rows are evidence. */
import type { Context } from "../../../runtime/index.ts"
import { clipped } from "../../../text/index.ts"
import { tried } from "../../failures.ts"
import type { CypherQueries } from "../../ports.ts"
import { MAX_ROWS } from "../answer/evidence.ts"
import type { GoalAgent } from "../goal-config.ts"
import { type AskedAt, rowsOutcome, type SourceOutcome, statementIn, whenText } from "./ask-database.ts"
import { queryByModel } from "./query-by-model.ts"

const MAX_SCHEMA = 16_000

export async function askGraph(
  name: string,
  { schema: readSchema, query }: CypherQueries,
  agent: GoalAgent,
  question: { readonly goal: string; readonly askedAt?: AskedAt | undefined },
  ctx: Context,
): Promise<SourceOutcome> {
  const { signal } = ctx
  const schema = await tried(ctx, `schema of ${name}`, async () =>
    clipped(await readSchema({ signal }), MAX_SCHEMA),
  )
  if (!schema.ok) return { outcome: "failed", reason: `its schema cannot be read: ${schema.reason}` }
  if (schema.value === "") return { outcome: "nothing", reason: "it accepts no queries" }
  const queried = await queryByModel(
    {
      id: name,
      role: "Graph",
      agent,
      prompt: async (problem) => cypherPrompt(schema.value, question, problem),
      read: cypherIn,
      run: async (cypher) => await query(cypher, { rows: MAX_ROWS, signal }),
    },
    ctx,
  )
  if (!queried.ok) return { outcome: queried.isFailure ? "failed" : "nothing", reason: queried.reason }
  const from = { kind: "graph", source: name, location: name, writtenBy: "model" } as const
  return rowsOutcome(queried.result, queried.query, from)
}

function cypherPrompt(
  schema: string,
  { goal, askedAt }: { readonly goal: string; readonly askedAt?: AskedAt | undefined },
  problem: string | undefined,
): string {
  return [
    "Write one Cypher query (MATCH … RETURN …) that finds what the goal asks for, and nothing else: no explanation.",
    `At most ${MAX_ROWS} rows are read. If this graph cannot have it, answer NONE.`,
    ...whenText(askedAt),
    "",
    `Graph:\n${schema}`,
    "",
    `Goal: ${goal}`,
    ...(problem === undefined ? [] : ["", problem]),
  ].join("\n")
}

/** The query in a model's answer; undefined where it wrote none. What the query may do is the graph's business. */
export function cypherIn(answer: string): string | undefined {
  const cypher = statementIn(answer)
  const plain = cypher.replace(/^(?:\s+|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, "")
  return /^(?:match|optional|unwind|with|return)\b/i.test(plain) ? cypher : undefined
}
