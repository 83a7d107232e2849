/** `superstep doctor --store`: looks at every record of the store. */
import { existsSync } from "node:fs"
import { isSuperstepError } from "@superstep/engine"
import type { Cli } from "./cli.ts"
import type { OutputFlags } from "./common-flags.ts"
import { counted } from "./figures.ts"
import type { Finding } from "./health.ts"
import { storeAddress } from "./open-store.ts"
import { progressBar } from "./progress-bar.ts"

const TODO =
  "Restore the file from a backup, or recover what is readable: superstep runs salvage --store sqlite:DAMAGED --to NEW."

/** A finding for each damage; a single one where there is none. */
export async function* storeFindings(
  cli: Cli,
  url: string | undefined,
  flags: OutputFlags,
): AsyncGenerator<Finding & { readonly runId?: string | undefined; readonly seq?: number | undefined }> {
  const { path } = storeAddress(url, cli.io.cwd)
  if (path === undefined || !existsSync(path)) return
  const { checkStoreFile } = await import("@superstep/store-sqlite/shared")
  const bar = progressBar(cli.err)
  const show = flags.quiet || flags.json ? undefined : bar.show
  try {
    const checking = checkStoreFile(path, ({ share, what }) => show?.(share, what))
    for (let isDamaged = false; ; isDamaged = true) {
      const { done, value } = await checking.next()
      bar.clear()
      if (done) {
        const is = `${counted(value.runs, "run")} and ${counted(value.records, "record")} are sound`
        if (!isDamaged) yield { state: "ok", what: "integrity", is }
        return
      }
      const { runId, seq, message } = value
      yield {
        state: "fail",
        what: value.part,
        is: message,
        ...(isDamaged ? {} : { todo: TODO }),
        ...(runId === undefined ? {} : { runId }),
        ...(seq === undefined ? {} : { seq }),
      }
    }
  } catch (error) {
    // That is one of the findings about the installation.
    if (isSuperstepError(error) && error.code === "STORE_UNUSABLE") return
    yield { state: "fail", what: "integrity", is: (error as Error).message, todo: TODO }
  } finally {
    bar.clear()
  }
}
