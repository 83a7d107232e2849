/** `superstep index rm`: takes documents out of an index; the files stay. */
import { resolve } from "node:path"
import type { DocumentIndex } from "@superstep/retrieval"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags } from "../common-flags.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import { usageError } from "../usage-error.ts"
import { type IndexFlags, indexFlags, useIndex } from "../use-index.ts"

export function rmCommand(cli: Cli): Command {
  const command = new Command("rm")
    .description("take documents out of the index; the files stay")
    .argument("<source...>", "as `index list` has them; or the paths of files or folders")
    .addHelpText("after", "\nFor example:\n  superstep index rm docs/old.md")
    .action((sources: string[], flags: OutputFlags & IndexFlags) =>
      useIndex(cli, { ...flags, plain: true }, (index) => remove(cli, index, sources, flags)),
    )
  return outputFlags(indexFlags(command))
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
  if (json) out.line(jsonLine({ removed }))
  else if (!quiet && removed > 0) err.line(`Took out ${counted(removed, "document")}.`)
  if (missing.length > 0) {
    throw usageError(`There is no document ${missing.join(", ")} in the index: see superstep index list.`)
  }
}
