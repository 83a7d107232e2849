/** `superstep sources check`: connects to the sources of a question, and reports their contents and problems. */
import { sep } from "node:path"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  helpText,
  type OutputFlags,
  outputFlags,
  valueFlags,
} from "../flags.ts"
import { embeddingsFlag } from "../open/document-index.ts"
import {
  askSettings,
  type CheckedSource,
  cacheFlag,
  checkSources,
  hasSources,
  type SourceFlags,
  type SourceProblem,
  sourceFlags,
} from "../open/source-flags.ts"
import { definitionError, printLoaded, usageError } from "../print/errors.ts"
import { counted } from "../print/figures.ts"
import { jsonText, padded, printText, sanitize, sanitizeLine } from "../terminal/terminal.ts"

type Flags = OutputFlags & DefinitionFlags & SourceFlags & { readonly cache?: string | undefined }

function sourcesCommand(cli: Cli): Command {
  return new Command()
    .description("Check your data sources: databases, files, documents and graphs.")
    .addHelpText("after", helpText("superstep sources check shop.yaml"))
    .addCommand(checkCommand(cli))
}

function checkCommand(cli: Cli): Command {
  const command = new Command("check")
    .description("connect to every source, and report its contents and problems")
    .argument("[file]", "a goal configuration; omit it to name the data with flags")
    .action((file: string | undefined, flags: Flags) => check(file, flags, cli))
  return complete(
    command,
    [sourceFlags, embeddingsFlag, cacheFlag, valueFlags, outputFlags],
    "superstep sources check shop.yaml",
    "Exits with 1 if something is wrong.",
  )
}

async function check(file: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  if (hasSources(flags) === (file !== undefined)) {
    throw usageError("Name a goal file, or sources: superstep sources check FILE, or --docs, --csv and --db.")
  }
  if (flags.untrusted) throw usageError("Sources of an untrusted file are not opened. Remove --untrusted.")
  const { loadGoal } = await import("../open/goal.ts")
  const { settings, secrets } = askSettings(flags, cli.io)
  const setSecret = { ...flags.setSecret, ...secrets }
  const { loaded, progress } = await loadGoal(
    file ?? settings,
    cli,
    { ...flags, setSecret },
    { use: "check" },
  )
  const { goal } = loaded
  if (goal === undefined) throw await definitionError(loaded)
  let isWrong = false
  try {
    if (flags.quiet !== true && flags.json !== true) await printLoaded(loaded, cli.err)
    if (goal.sources.length === 0) throw usageError(`${file} names no sources under \`search\`.`)
    for await (const checked of checkSources(
      goal.sources,
      progress,
      cli,
      (flags.quiet ?? flags.json) === true,
    )) {
      isWrong ||= checked.problems.length > 0
      if (flags.json) cli.out.line(jsonText(checked))
      else if (!flags.quiet || checked.problems.length > 0) print(checked, flags, cli)
    }
  } finally {
    await goal.close()
  }
  if (isWrong) cli.exit(EXIT.failed)
}

const MAX_TABLES = 10
const MAX_PROBLEMS = 20

function print(
  { source, type, holds, tables, problems }: CheckedSource,
  { verbose }: Flags,
  { out, io }: Cli,
): void {
  const { green, red, bold, dim } = out.paint
  const mark = problems.length === 0 ? green("ok  ") : red("fail")
  const facts = [type, ...(holds === undefined ? [] : [holds])].join(", ")
  out.line(
    `${mark}  ${bold(sanitizeLine(source.replaceAll(`${io.cwd}${sep}`, "")))}  ${dim(sanitizeLine(facts))}`,
  )
  const shown = verbose ? tables : tables.slice(0, MAX_TABLES)
  const width = Math.max(0, ...shown.map(({ name }) => sanitizeLine(name).length))
  for (const { name, rows, columns } of shown) {
    const count = rows === undefined ? "" : `${counted(rows, "row")}: `
    printText(out, sanitizeLine(`${count}${columns.join(", ")}`), {
      label: `      ${padded(sanitizeLine(name), width)}  `,
      indent: 8 + width,
    })
  }
  if (tables.length > shown.length)
    out.line(dim(`      … and ${tables.length - shown.length} more (--verbose lists all)`))
  for (const problem of problems.slice(0, MAX_PROBLEMS)) printProblem(problem, out)
  if (problems.length > MAX_PROBLEMS) out.line(`      … and ${problems.length - MAX_PROBLEMS} more problems`)
}

function printProblem({ what, reason }: SourceProblem, out: Cli["out"]): void {
  const [first = "", ...more] = sanitize(what === undefined ? reason : `${what}: ${reason}`).split("\n")
  printText(out, first, { label: `      ${out.paint.red("✗")} `, indent: 8 })
  // SQL to copy is printed unchanged.
  for (const line of more) {
    if (line === "" || line.endsWith(";")) out.line(line === "" ? "" : `        ${line}`)
    else printText(out, line, { indent: 8 })
  }
}

export const commands = { sources: sourcesCommand }
