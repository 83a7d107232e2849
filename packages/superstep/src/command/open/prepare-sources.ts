/** Reads the files of a goal configuration before its run, with a progress bar: tables into the cache, documents into their index. */
import type { ConfiguredSource, GoalFile } from "@superstep/engine/patterns"
import type { SourceProgress } from "@superstep/retrieval"
import type { Cli } from "../cli.ts"
import { counted, duration, size } from "../print/figures.ts"
import { progressBar } from "../print/progress-bar.ts"

/** Where the reading of sources reports how far it is: set while somebody looks. */
export interface ProgressTarget {
  show?: ((progress: SourceProgress) => void) | undefined
}

/** False: Ctrl-C stopped it. What cannot be read is not its business: the run reports it. */
export async function prepareSources(
  { sources }: Pick<GoalFile, "sources">,
  progress: ProgressTarget,
  { io, err }: Cli,
  isQuiet: boolean,
): Promise<boolean> {
  const stop = new AbortController()
  const stopListening = io.onInterrupt(() => stop.abort())
  const bar = progressBar(err)
  try {
    for (const source of sources.filter(isRead)) {
      const started = Date.now()
      let tables = { files: 0, bytes: 0 }
      progress.show = ({ file, files, bytes }) => {
        if (source.kind === "database") tables = { files: files.total, bytes: bytes.total }
        if (isQuiet || file === undefined) return
        const share = bytes.total === 0 ? files.done / Math.max(1, files.total) : bytes.done / bytes.total
        const what = source.kind === "database" ? "Loading" : "Indexing"
        bar.show(share, `${what} ${files.done + 1}/${files.total} · ${file}`)
      }
      await read(source, stop.signal).catch(() => undefined)
      bar.clear()
      if (stop.signal.aborted) return false
      if (isQuiet || tables.files === 0) continue
      const time = duration(Date.now() - started)
      err.line(err.paint.dim(`Loaded ${counted(tables.files, "file")} (${size(tables.bytes)}) in ${time}.`))
    }
    return true
  } finally {
    progress.show = undefined
    bar.clear()
    stopListening()
  }
}

/** A server is asked by the run itself. */
function isRead(source: ConfiguredSource): boolean {
  return source.kind === "documents" || (source.kind === "database" && source.type === "csv")
}

async function read(source: ConfiguredSource, signal: AbortSignal): Promise<void> {
  if (source.kind === "database") await (await source.open()).schema({ signal })
  else await (await source.open()).describe?.({ signal })
}
