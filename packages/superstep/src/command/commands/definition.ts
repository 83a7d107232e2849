/** `superstep graph`, `eject` and `schema`: print a definition as a diagram, as TypeScript, and its JSON Schema. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { Json, Workflow } from "@superstep/engine"
import { graphData } from "@superstep/engine/core"
import { Argument, Command, Option } from "commander"
import type { Cli } from "../cli.ts"
import { complete, type DefinitionFlags, fileFlags, helpText, type StoreFlags, storeFlags } from "../flags.ts"
import { isModule, withWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { writeFile } from "../print/output-file.ts"
import { jsonText } from "../terminal/terminal.ts"

const FORMATS = ["mermaid", "dot", "svg", "ascii"] as const

interface OutFlags extends DefinitionFlags, StoreFlags {
  readonly out?: string | undefined
  readonly json?: true | undefined
}

interface GraphFlags extends OutFlags {
  readonly format?: (typeof FORMATS)[number] | undefined
}

function outFlags(command: Command): Command {
  return command
    .option("--out <file>", "write to this file instead of stdout")
    .option("--no-color", "print without colours")
    .option("--verbose", "print errors with stack traces")
}

function graphCommand(cli: Cli): Command {
  const command = new Command()
    .description("Draw a workflow: as text on a terminal, as Mermaid elsewhere.")
    .argument("<file>", "a definition, a module, or the id of a definition in the store")
    .addOption(new Option("--format <format>", "draw in this format").choices(FORMATS))
    .option("--json", "print the graph as data: nodes, edges and channels, with nested workflows")
    .action((file: string, flags: GraphFlags) => graph(file, flags, cli))
  return complete(command, [outFlags, fileFlags, storeFlags], "superstep graph story.yaml")
}

async function graph(file: string, flags: GraphFlags, cli: Cli): Promise<void> {
  await withWorkflow(file, cli, { flags, isRun: false }, async ({ workflow }) => {
    if (flags.json && flags.format !== undefined) {
      throw usageError("--json prints the graph as data. Remove --format.")
    }
    const text = flags.json ? `${jsonText(dataOf(workflow))}\n` : await draw(workflow, flags, cli)
    if (flags.out === undefined) cli.out.write(text)
    else writeFile(resolve(cli.io.cwd, flags.out), text)
  })
}

function dataOf({ program }: Workflow<never, unknown>) {
  const { hash, data } = graphData(program.graph)
  return { hash, ...(data as { readonly [key: string]: Json }) }
}

async function draw(
  workflow: Workflow<never, unknown>,
  flags: GraphFlags,
  { out, io }: Cli,
): Promise<string> {
  const isScreen = out.isTerminal && flags.out === undefined
  const format = flags.format ?? (isScreen ? "ascii" : "mermaid")
  if (format === "svg") return (await import("../../diagrams/index.ts")).toSvg(workflow)
  const { toDot, toMermaid, toText } = await import("@superstep/engine/diagrams")
  if (format === "dot") return withNewline(toDot(workflow))
  if (format === "mermaid") return withNewline(toMermaid(workflow))
  const { LC_ALL, LC_CTYPE, LANG } = io.env
  const isUnicode = isScreen && /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "")
  const options = { width: out.width, color: isScreen && out.hasColor, ascii: !isUnicode }
  return withNewline(toText(workflow, options))
}

function withNewline(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`
}

interface EjectFlags extends OutFlags {
  readonly force?: true | undefined
}

function ejectCommand(cli: Cli): Command {
  const command = new Command()
    .description("Convert a definition to TypeScript that builds the same workflow.")
    .argument("<file>", "a definition, or the id of one in the store")
    .option("--force", "overwrite an existing file")
    .option("--json", "print the code and its dialect as one line of JSON")
    .action((file: string, flags: EjectFlags) => eject(file, flags, cli))
  return complete(
    command,
    [outFlags, fileFlags, storeFlags],
    "superstep eject story.yaml --out story.ts && superstep run story.ts",
  )
}

async function eject(file: string, flags: EjectFlags, cli: Cli): Promise<void> {
  if (isModule(file)) throw usageError(`${file} is TypeScript or JavaScript already.`)
  await withWorkflow(file, cli, { flags, isRun: false }, async ({ definition }) => {
    if (definition === undefined) {
      throw usageError(
        `${file} is a goal configuration, which cannot be ejected. In TypeScript, pass it to loadGoalConfig.`,
      )
    }
    const code = definition.eject()
    const data = { workflow: definition.name, dialect: definition.dialect }
    if (flags.out === undefined) {
      return flags.json ? cli.out.line(jsonText({ ...data, code })) : cli.out.write(code)
    }
    const path = resolve(cli.io.cwd, flags.out)
    if (existsSync(path) && !flags.force) {
      throw usageError(`${flags.out} already exists. Add --force to overwrite it.`)
    }
    writeFile(path, code)
    if (flags.json) cli.out.line(jsonText({ ...data, file: path }))
  })
}

function schemaCommand(cli: Cli): Command {
  return new Command()
    .description("Print the JSON Schema of a dialect, for editors.")
    .addArgument(new Argument("<dialect>", "the dialect of the definition").choices(["steps", "graph"]))
    .option("--json", "print it on one line")
    .option("--no-color", "print without colours")
    .action(async (dialect: "steps" | "graph", { json }: { readonly json?: true }) => {
      const { jsonSchemas } = await import("@superstep/engine/definitions")
      cli.out.line(jsonText(jsonSchemas[dialect](), json ? undefined : 2))
    })
    .addHelpText(
      "after",
      helpText(
        "superstep schema steps > steps.schema.json",
        "Then name it in a YAML file:\n  # yaml-language-server: $schema=steps.schema.json",
      ),
    )
}

export const commands = { graph: graphCommand, eject: ejectCommand, schema: schemaCommand }
