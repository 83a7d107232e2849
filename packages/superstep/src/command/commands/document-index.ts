/** `superstep index`: manages the documents that agents and research search. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { AddResult, DocumentIndex, IndexSearchOptions } from "@superstep/retrieval"
import { Command, Option } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { complete, helpText, type OutputFlags, outputFlags, parseCount } from "../flags.ts"
import {
  addDocuments,
  embeddingsFlag,
  INDEXING_STOPPED,
  type IndexFlags,
  indexFlags,
  withIndex,
} from "../open/document-index.ts"
import { usageError } from "../print/errors.ts"
import { age, counted, printTable, shortCount, size } from "../print/figures.ts"
import { jsonText, printJsonLines, printText, sanitize, sanitizeLine, wrapped } from "../terminal/terminal.ts"

function indexCommand(cli: Cli): Command {
  const command = new Command()
    .description("Index documents for search by words and by meaning, in one file.")
    .addHelpText("after", helpText("superstep index add docs"))
  for (const below of [addCommand, searchCommand, listCommand, rmCommand]) command.addCommand(below(cli))
  return command
}

type Flags = OutputFlags & IndexFlags

interface AddFlags extends Flags {
  readonly prune?: true | undefined
}

function addCommand(cli: Cli): Command {
  const command = new Command("add")
    .description("add files and folders: text, Markdown, HTML, PDF and CSV")
    .argument("<path...>", "files with any name, or folders with files of these kinds")
    .option("--prune", "remove documents that are no longer in the folders")
    .action(async (paths: string[], flags: AddFlags) => {
      // Fails before an empty index is created.
      const missing = paths.find((path) => !existsSync(resolve(cli.io.cwd, path)))
      if (missing !== undefined) throw usageError(`Cannot add ${missing}: no such file or folder.`)
      await withIndex(cli, { ...flags, create: true }, (index) => add(cli, index, paths, flags))
    })
  return complete(
    command,
    [embeddingsFlag, indexFlags, outputFlags],
    "superstep index add docs notes.md --embeddings offline",
    "Unchanged documents are skipped. If you stop it, run it again to continue.",
  )
}

async function add(cli: Cli, index: DocumentIndex, paths: readonly string[], flags: AddFlags): Promise<void> {
  const { json, quiet, prune } = flags
  const absolute = paths.map((path) => resolve(cli.io.cwd, path))
  const result = await addDocuments(index, absolute, cli, { prune, isQuiet: (json ?? quiet) === true })
  if (result === undefined) {
    cli.err.line(INDEXING_STOPPED)
    return cli.exit(EXIT.cancelled)
  }
  if (json) cli.out.line(jsonText(result))
  else printAdded(cli, result, flags)
  const { added, changed, unchanged, left, problems } = result
  if (problems.length > 0 && added + changed + unchanged + left === 0) cli.exit(EXIT.failed)
}

function printAdded({ err }: Cli, result: AddResult, { quiet }: OutputFlags): void {
  for (const { source, reason } of result.problems)
    printText(err, sanitizeLine(`Skipped ${source}: ${reason}.`))
  if (quiet) return
  const { added, changed, unchanged, removed, left, others, chunks } = result
  const parts = [
    `${counted(added, "document")} added`,
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
    ...(left > 0 ? [`${left} left to another process`] : []),
  ]
  const more = others > 0 ? ` ${counted(others, "file")} of other types skipped.` : ""
  printText(err, `${parts.join(", ")}: ${counted(chunks, "new chunk")}.${more}`)
}

interface SearchFlags extends Flags {
  readonly limit: number
  readonly mode: NonNullable<IndexSearchOptions["mode"]>
}

const MAX_LINES = 4

function searchCommand(cli: Cli): Command {
  const command = new Command("search")
    .description("search the documents, and print the best passages first")
    .argument("<query...>", "what to search for")
    .option("--limit <n>", "print at most n passages", parseCount, 10)
    .addOption(
      new Option("--mode <mode>", "search by words (text), by meaning (vector), or both (merged)")
        .choices(["merged", "text", "vector"])
        .default("merged"),
    )
    .action((words: string[], flags: SearchFlags) =>
      withIndex(cli, { ...flags, isPlain: flags.mode === "text" }, (index) =>
        search(cli, index, words.join(" "), flags),
      ),
    )
  return complete(command, [indexFlags, outputFlags], 'superstep index search "how to install" --limit 3')
}

async function search(
  { out, err }: Cli,
  index: DocumentIndex,
  query: string,
  { limit, mode, json, quiet }: SearchFlags,
): Promise<void> {
  const found = await index.search(query, { limit, mode })
  if (json) return printJsonLines(out, found)
  if (found.length === 0 && !quiet) err.line("Nothing matches.")
  for (const [i, { source, title, text }] of found.entries()) {
    if (i > 0) out.line()
    const heading = title === undefined ? "" : out.paint.dim(`  ${sanitizeLine(title)}`)
    out.line(`${out.paint.bold(sanitizeLine(source))}${heading}`)
    const lines = wrapped(sanitize(text), out.width - 2).filter((line) => line.trim() !== "")
    for (const line of lines.slice(0, MAX_LINES)) out.line(`  ${line}`)
    if (lines.length > MAX_LINES) out.line(out.paint.dim("  …"))
  }
}

function listCommand(cli: Cli): Command {
  const command = new Command("list")
    .description("list the documents in the index")
    .action((flags: Flags) => withIndex(cli, { ...flags, isPlain: true }, (index) => list(cli, index, flags)))
  return complete(command, [indexFlags, outputFlags], "superstep index list --file notes.db")
}

async function list({ out, err }: Cli, index: DocumentIndex, { json, quiet }: OutputFlags): Promise<void> {
  const documents = await index.list()
  if (json) return printJsonLines(out, documents)
  const now = Date.now()
  if (documents.length > 0) {
    printTable(
      out,
      [
        { title: "SOURCE", canShrink: true },
        { title: "CHUNKS", align: "right" },
        { title: "SIZE", align: "right" },
        { title: "AGE", align: "right" },
      ],
      documents.map(({ source, chunks, bytes, addedAt }) => {
        return [source, shortCount(chunks), size(bytes), age(now - addedAt)]
      }),
    )
  }
  if (quiet) return
  const { chunks, bytes, embeddings } = await index.report()
  const by =
    embeddings === undefined ? "by words" : `by words and by meaning (${sanitizeLine(embeddings.name)})`
  const text = `${counted(documents.length, "document")}, ${counted(chunks, "chunk")}, ${size(bytes)}, searched ${by}.`
  printText(err, text, { paint: err.paint.dim })
}

function rmCommand(cli: Cli): Command {
  const command = new Command("rm")
    .description("remove documents from the index; the files stay")
    .argument("<source...>", "documents as `index list` shows them, or paths of files or folders")
    .action((sources: string[], flags: Flags) =>
      withIndex(cli, { ...flags, isPlain: true }, (index) => remove(cli, index, sources, flags)),
    )
  return complete(command, [indexFlags, outputFlags], "superstep index rm docs/old.md")
}

async function remove(
  { io, out, err }: Cli,
  index: DocumentIndex,
  sources: readonly string[],
  { json, quiet }: OutputFlags,
): Promise<void> {
  let removed = 0
  const missing: string[] = []
  for (const source of sources) {
    let count = await index.remove(source)
    if (count === 0 && source !== "") count = await index.remove(resolve(io.cwd, source))
    if (count === 0) missing.push(`"${source}"`)
    removed += count
  }
  if (json) out.line(jsonText({ removed }))
  else if (!quiet && removed > 0) err.line(`Removed ${counted(removed, "document")}.`)
  if (missing.length > 0) {
    throw usageError(`The index has no document ${missing.join(", ")}. See superstep index list.`)
  }
}

export const commands = { index: indexCommand }
