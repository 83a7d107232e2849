/** `superstep index add`: files and folders into the index, as far as they are new or have changed. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { AddResult, DocumentIndex } from "@superstep/retrieval"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import { progressBar } from "../progress-bar.ts"
import { foreignLine, wrapped } from "../terminal.ts"
import { usageError } from "../usage-error.ts"
import { embeddingsFlag, type IndexFlags, indexFlags, useIndex } from "../use-index.ts"

interface AddFlags extends OutputFlags, IndexFlags {
  readonly prune?: true | undefined
}

export function addCommand(cli: Cli): Command {
  const command = new Command("add")
    .description("add files and folders: text, Markdown, HTML, PDF and CSV")
    .argument("<path...>", "files, whatever they are called, or folders with all of these kinds in them")
    .option("--prune", "take out what is no longer in the folders")
    .addHelpText(
      "after",
      "\nWhat has not changed is left alone. What was stopped goes on where it stopped.\n\nFor example:\n  superstep index add docs notes.md --embeddings offline",
    )
    .action(async (paths: string[], flags: AddFlags) => {
      // Before an index is made for nothing.
      const missing = paths.find((path) => !existsSync(resolve(cli.io.cwd, path)))
      if (missing !== undefined) throw usageError(`Cannot add ${missing}: there is no such file or folder.`)
      await useIndex(cli, { ...flags, make: true }, (index) => add(cli, index, paths, flags))
    })
  return outputFlags(indexFlags(embeddingsFlag(command)))
}

async function add(cli: Cli, index: DocumentIndex, paths: readonly string[], flags: AddFlags): Promise<void> {
  const { io, out, err } = cli
  const stop = new AbortController()
  const listened = io.onInterrupt(() => stop.abort())
  const bar = progressBar(err)
  let result: AddResult
  try {
    result = await index.add(
      paths.map((path) => resolve(io.cwd, path)),
      {
        prune: flags.prune,
        signal: stop.signal,
        onProgress({ source, documents, bytes, chunks }) {
          if (flags.json || flags.quiet) return
          const share = bytes.total === 0 ? documents.done / documents.total : bytes.done / bytes.total
          bar.show(share, `${documents.done}/${documents.total} · ${counted(chunks, "chunk")} · ${source}`)
        },
      },
    )
  } catch (error) {
    if (!stop.signal.aborted) throw error
    bar.clear()
    err.line("Stopped. The same command goes on from here.")
    return cli.exit(EXIT.cancelled)
  } finally {
    bar.clear()
    listened()
  }
  if (flags.json) out.line(jsonLine(result))
  else report(cli, result, flags)
  const { added, changed, unchanged, left, problems } = result
  if (problems.length > 0 && added + changed + unchanged + left === 0) cli.exit(EXIT.failed)
}

function report({ err }: Cli, result: AddResult, { quiet }: OutputFlags): void {
  for (const { source, reason } of result.problems) {
    for (const line of wrapped(foreignLine(`${source} is left out: ${reason}.`), err.width)) err.line(line)
  }
  if (quiet) return
  const { added, changed, unchanged, removed, left, others, chunks } = result
  const parts = [
    `${counted(added, "document")} added`,
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
    ...(left > 0 ? [`${left} left to another process`] : []),
  ]
  const text = `${parts.join(", ")}: ${counted(chunks, "new chunk")}.`
  const more = others > 0 ? ` ${counted(others, "file")} of other kinds not read.` : ""
  for (const line of wrapped(text + more, err.width)) err.line(line)
}
