/** `superstep index list`: the documents of an index. */
import type { DocumentIndex } from "@superstep/retrieval"
import { Command } from "commander"
import { age, shortCount, size } from "../amounts.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags } from "../common-flags.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import { printTable } from "../table.ts"
import { foreignLine, wrapped } from "../terminal.ts"
import { type IndexFlags, indexFlags, useIndex } from "../use-index.ts"

export function listCommand(cli: Cli): Command {
  const command = new Command("list")
    .description("the documents of the index")
    .addHelpText("after", "\nFor example:\n  superstep index list --file notes.db")
    .action((flags: OutputFlags & IndexFlags) =>
      useIndex(cli, { ...flags, plain: true }, (index) => list(cli, index, flags)),
    )
  return outputFlags(indexFlags(command))
}

async function list({ out, err }: Cli, index: DocumentIndex, { json, quiet }: OutputFlags): Promise<void> {
  const documents = await index.list()
  if (json) {
    for (const document of documents) out.line(jsonLine(document))
    return
  }
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
      documents.map(({ source, chunks, bytes, addedAt }) => [
        source,
        shortCount(chunks),
        size(bytes),
        age(now - addedAt),
      ]),
    )
  }
  if (quiet) return
  const { chunks, bytes, embeddings } = await index.report()
  const found =
    embeddings === undefined ? "by words" : `by words and by meaning (${foreignLine(embeddings.name)})`
  const text = `${counted(documents.length, "document")}, ${counted(chunks, "chunk")}, ${size(bytes)}, found ${found}.`
  for (const line of wrapped(text, err.width)) err.line(err.paint.dim(line))
}
