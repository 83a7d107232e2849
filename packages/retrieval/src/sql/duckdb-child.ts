/** Our side of the process that DuckDB runs in: its errors as ours. */
import { createRequire } from "node:module"
import { SuperstepError } from "@superstep/engine"
import { ChildProgram, ProgramEnded, programBeside } from "../child-program.ts"
import { optionalPackage } from "../optional-package.ts"
import type { DuckDbReplies, DuckDbReply, DuckDbRequest, DuckDbSettings } from "./duckdb-messages.ts"
import { failed, refused, timedOut } from "./query-errors.ts"

const require = createRequire(import.meta.url)
/** What a query that is late gets to end by itself. */
const GRACE = 1_000

export class DuckDbChild {
  readonly #program: ChildProgram<DuckDbRequest, DuckDbReply>
  readonly #settings: DuckDbSettings

  constructor(settings: DuckDbSettings) {
    this.#settings = settings
    this.#program = new ChildProgram(programBeside(import.meta.url, "duckdb-process"), settings)
  }

  async ask<R extends DuckDbRequest>(request: R, signal?: AbortSignal): Promise<DuckDbReplies[R["do"]]> {
    await optionalPackage("@duckdb/node-api", "SQL over files", async () =>
      require.resolve("@duckdb/node-api"),
    )
    const limit = request.do === "query" ? request.limits.timeout : undefined
    const timeout = limit === undefined ? undefined : limit + GRACE
    const reply = await this.#program.ask(request, { timeout, signal }).catch((error) => {
      throw error instanceof ProgramEnded ? this.#ended(error, limit) : error
    })
    if ("ok" in reply) return reply.ok as DuckDbReplies[R["do"]]
    if (reply.error === "timeout") throw timedOut(limit as number)
    throw reply.error === "refused" ? refused(reply.message) : failed(reply.message)
  }

  close(): void {
    this.#program.close()
  }

  /** `limit` is that of a query; files are read without one. */
  #ended({ why, exit }: ProgramEnded, limit: number | undefined): SuperstepError {
    if (why === "closed") {
      return new SuperstepError("DATABASE_CLOSED", "The database of files is closed.", { retryable: false })
    }
    if (limit === undefined) {
      const message = `DuckDB ended while it read the files (${exit}): is one of them very large or damaged?`
      return new SuperstepError("FILE_UNREADABLE", message, { retryable: false })
    }
    if (why === "late") return timedOut(limit)
    const memory = Math.round(this.#settings.memory / 1_000_000)
    return exit === "SIGKILL"
      ? failed(`it took more memory than the ${memory} MB it may.`)
      : failed(`DuckDB ended because of it (${exit}).`)
  }
}
