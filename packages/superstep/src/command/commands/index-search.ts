/** `superstep index search`: passages of the documents, the best first. */
import type { DocumentIndex, IndexSearchOptions } from "@superstep/retrieval"
import { Command, Option } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, parseCount } from "../common-flags.ts"
import { jsonLine } from "../json-line.ts"
import { foreign, foreignLine, wrapped } from "../terminal.ts"
import { type IndexFlags, indexFlags, useIndex } from "../use-index.ts"

interface SearchFlags extends OutputFlags, IndexFlags {
  readonly limit: number
  readonly mode: NonNullable<IndexSearchOptions["mode"]>
}

const SHOWN_LINES = 4

export function searchCommand(cli: Cli): Command {
  const command = new Command("search")
    .description("passages of the documents, the best first")
    .argument("<query...>", "what is looked for")
    .option("--limit <n>", "how many", parseCount, 10)
    .addOption(
      new Option("--mode <mode>", "by words, by meaning, or both")
        .choices(["merged", "text", "vector"])
        .default("merged"),
    )
    .addHelpText("after", '\nFor example:\n  superstep index search "how to install" --limit 3')
    .action((words: string[], flags: SearchFlags) =>
      useIndex(cli, { ...flags, plain: flags.mode === "text" }, (index) =>
        search(cli, index, words.join(" "), flags),
      ),
    )
  return outputFlags(indexFlags(command))
}

async function search(
  { out, err }: Cli,
  index: DocumentIndex,
  query: string,
  flags: SearchFlags,
): Promise<void> {
  const { limit, mode, json, quiet } = flags
  const found = await index.search(query, { limit, mode })
  if (json) {
    for (const one of found) out.line(jsonLine(one))
    return
  }
  if (found.length === 0 && !quiet) err.line("Nothing is found.")
  for (const [i, { source, title, text }] of found.entries()) {
    if (i > 0) out.line()
    const place = foreignLine(source)
    out.line(`${out.paint.bold(place)}${title === undefined ? "" : out.paint.dim(`  ${foreignLine(title)}`)}`)
    const lines = wrapped(foreign(text), out.width - 2).filter((line) => line.trim() !== "")
    for (const line of lines.slice(0, SHOWN_LINES)) out.line(`  ${line}`)
    if (lines.length > SHOWN_LINES) out.line(out.paint.dim("  …"))
  }
}
