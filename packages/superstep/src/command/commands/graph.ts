/** `superstep graph FILE`. */
import { resolve } from "node:path"
import type { Workflow } from "@superstep/engine"
import { Command, Option } from "commander"
import type { Cli } from "../cli.ts"
import { type DefinitionFlags, definitionFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { withWorkflow } from "../with-workflow.ts"
import { writeFile } from "../write-file.ts"

const FORMATS = ["mermaid", "dot", "svg", "ascii"] as const

interface Flags extends DefinitionFlags, StoreFlags {
  readonly format?: (typeof FORMATS)[number] | undefined
  readonly out?: string | undefined
}

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Draws a workflow: as text in a terminal, as Mermaid elsewhere.")
    .argument("<file>", "a definition, a module, or the id of a definition in the store")
    .addOption(new Option("--format <format>", "how it is drawn").choices(FORMATS))
    .option("--out <file>", "write it there instead of to stdout")
    .option("--no-color", "no colours")
    .option("--verbose", "errors with their stack")
    .action((file: string, flags: Flags) => graph(file, flags, cli))
    .addHelpText(
      "after",
      "\nFor example:\n  superstep graph story.yaml\n  superstep graph story.yaml --format svg --out story.svg",
    )
  definitionFlags(made)
  return storeFlags(made)
}

async function graph(file: string, flags: Flags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags, isRun: false }, async ({ workflow }) => {
    const text = await drawn(workflow, flags, cli)
    if (flags.out === undefined) cli.out.write(text)
    else writeFile(resolve(cli.io.cwd, flags.out), text)
  })
}

async function drawn(workflow: Workflow<never, unknown>, flags: Flags, { out, io }: Cli): Promise<string> {
  const isScreen = out.isTerminal && flags.out === undefined
  const format = flags.format ?? (isScreen ? "ascii" : "mermaid")
  if (format === "svg") {
    const { toSvg } = await import("../../pictures/index.ts")
    return toSvg(workflow)
  }
  const { toDot, toMermaid, toText } = await import("@superstep/engine/pictures")
  if (format === "dot") return ended(toDot(workflow))
  if (format === "mermaid") return ended(toMermaid(workflow))
  const { LC_ALL, LC_CTYPE, LANG } = io.env
  const isUnicode = isScreen && /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "")
  return ended(toText(workflow, { width: out.width, color: isScreen && out.hasColor, ascii: !isUnicode }))
}

function ended(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`
}
