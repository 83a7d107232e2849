/** `superstep eject FILE`: a definition as TypeScript that makes the same workflow. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type DefinitionFlags, definitionFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { usageError } from "../usage-error.ts"
import { withWorkflow } from "../with-workflow.ts"
import { writeFile } from "../write-file.ts"

interface Flags extends DefinitionFlags, StoreFlags {
  readonly out?: string | undefined
  readonly force?: true | undefined
}

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Writes a definition as TypeScript that makes the same workflow, to go on from there.")
    .argument("<file>", "a definition, or the id of one in the store")
    .option("--out <file>", "write it there instead of to stdout")
    .option("--force", "also over a file that is there")
    .option("--no-color", "no colours")
    .option("--verbose", "errors with their stack")
    .action((file: string, flags: Flags) => eject(file, flags, cli))
    .addHelpText(
      "after",
      "\nFor example:\n  superstep eject story.yaml --out story.ts && superstep run story.ts",
    )
  definitionFlags(made)
  return storeFlags(made)
}

async function eject(file: string, flags: Flags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags, isRun: false }, async ({ definition }) => {
    if (definition === undefined) throw usageError(`${file} is TypeScript or JavaScript already.`)
    const text = definition.eject()
    if (flags.out === undefined) return cli.out.write(text)
    const path = resolve(cli.io.cwd, flags.out)
    if (existsSync(path) && !flags.force) {
      throw usageError(`${flags.out} is there already: add --force to replace it.`)
    }
    writeFile(path, text)
  })
}
