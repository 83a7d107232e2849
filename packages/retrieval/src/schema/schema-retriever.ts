/** Which of several databases has what a question is about: the best of their ranking. */
import type { BestDatabase, Database, SchemaRetriever } from "@superstep/engine/patterns"
import { messageOf } from "../errors.ts"
import { candidateRanker, type RankedCandidate, reasonOf, type SourceRankerOptions } from "./source-ranker.ts"

const TIES: readonly Database["kind"][] = ["postgresql", "mysql", "sqlite", "csv", "other"]
/** As near as this a database may have the answer though it contains no word of the question. */
const NEAR_ENOUGH = 0.5

export function schemaRetriever(
  databases: readonly Database[],
  options: SourceRankerOptions = {},
): SchemaRetriever {
  const rank = candidateRanker(options)
  return {
    async listDatabases() {
      return databases
    },
    async findBestDatabase(goal, ask = {}) {
      const { ranked, failed } = await rank({ databases }, goal, ask)
      const [best, second] = ranked.filter(isFound).toSorted(byScoreAndKind)
      const failures = failed.map(({ error }) => error)
      const database = best?.candidate.database
      if (best === undefined || database === undefined) {
        // One that cannot be asked does not keep the others from it; but it may be the one.
        if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join(" "))
        if (failures.length === 1) throw failures[0]
        return undefined
      }
      const tied = second?.score === best.score ? second.candidate.name : undefined
      const names = failed.map(({ source }) => source)
      return {
        database,
        score: best.score,
        reason: [
          `${database.name} matches best of ${databases.length} ${databases.length === 1 ? "database" : "databases"} `,
          `(score ${best.score.toFixed(2)}): ${reasonOf(best.candidate, best.near, best.trouble)}`,
          tied === undefined ? "" : `. ${tied} has the same score and ranks second`,
          names.length === 0 ? "" : `. Could not be queried: ${names.join(", ")}`,
          ".",
        ].join(""),
        ...(failed.length > 0 && {
          failed: failed.map(({ source, error }) => ({ source, reason: messageOf(error) })),
        }),
      } satisfies BestDatabase
    },
  }
}

function isFound({ candidate, score, near = 0 }: RankedCandidate): boolean {
  return score > 0 && (candidate.places.length > 0 || near >= NEAR_ENOUGH)
}

function byScoreAndKind(one: RankedCandidate, other: RankedCandidate): number {
  const place = ({ candidate }: RankedCandidate) => TIES.indexOf(candidate.database?.kind ?? "other")
  return other.score - one.score || place(one) - place(other)
}
