/** Which of several databases has what a question is about, by the names of their tables and columns. */
import type { BestDatabase, Database, SchemaRetriever } from "@superstep/engine/patterns"
import { type Match, type Score, scoreTables } from "./score.ts"
import { wordsOfGoal } from "./words.ts"

const TIES: readonly Database["kind"][] = ["postgresql", "csv", "other"]
const TOLD = 5

export function schemaRetriever(databases: readonly Database[]): SchemaRetriever {
  return {
    async listDatabases() {
      return databases
    },
    async findBestDatabase(goal, options = {}) {
      const words = wordsOfGoal(goal)
      const asked = await Promise.allSettled(
        databases.map(async (database) => ({
          database,
          score: scoreTables(words, await database.schema(options)),
        })),
      )
      options.signal?.throwIfAborted()
      const scored = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
      const failures = asked.flatMap((one) => (one.status === "rejected" ? [one.reason] : []))
      const failed = databases.filter((_, index) => asked[index]?.status === "rejected")
      scored.sort(
        (one, other) =>
          other.score.total - one.score.total ||
          TIES.indexOf(one.database.kind) - TIES.indexOf(other.database.kind),
      )
      const [best, second] = scored
      if (best === undefined || best.score.total === 0) {
        // One that cannot be asked does not keep the others from it; but it may be the one.
        if (failures.length > 0) throw failures[0]
        return undefined
      }
      const isTie = second?.score.total === best.score.total
      return {
        database: best.database,
        score: best.score.total,
        reason: reasonOf(best, databases.length, isTie ? second?.database : undefined, failed),
      } satisfies BestDatabase
    },
  }
}

function reasonOf(
  { database, score }: { readonly database: Database; readonly score: Score },
  count: number,
  tied: Database | undefined,
  failed: readonly Database[],
): string {
  const told = score.matches.slice(0, TOLD).map(tellMatch)
  const more = score.matches.length - told.length
  return [
    `${database.name} fits best of ${count} ${count === 1 ? "database" : "databases"} (score ${score.total}): `,
    told.join("; "),
    more > 0 ? `; and ${more} more` : "",
    tied === undefined ? "" : `. ${tied.name} has the same score, and comes after it`,
    failed.length === 0 ? "" : `. Could not be asked: ${failed.map(({ name }) => name).join(", ")}`,
    ".",
  ].join("")
}

function tellMatch({ words, how, table, column }: Match): string {
  const place = column === undefined ? `the table ${table}` : `the column ${column} of ${table}`
  const verb = { phrase: "is", word: "is a word of", part: "is like a part of" }[how]
  return `"${words.join(" ")}" ${verb} ${place}`
}
