/** `superstep validate FILE…`: everything that is wrong, at once. */
import { statSync } from "node:fs"
import { resolve } from "node:path"
import type { Diagnostic, Loaded } from "@superstep/engine/definitions"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type DefinitionFlags, definitionFlags, type OutputFlags, outputFlags } from "../common-flags.ts"
import { printLoaded } from "../definition-error.ts"
import { EXIT } from "../exit-codes.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import { isModule } from "../open-workflow.ts"
import { foreignLine } from "../terminal.ts"

type Flags = OutputFlags & DefinitionFlags

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Checks definitions, and reports every problem. Runs no code: modules are not checked.")
    .argument("<files...>", "YAML, JSON, or modules")
    .action((files: readonly string[], flags: Flags) => validate(files, flags, cli))
    .addHelpText(
      "after",
      "\nFor example:\n  superstep validate *.yaml\n  superstep validate story.yaml --json",
    )
  definitionFlags(made)
  return outputFlags(made)
}

async function validate(files: readonly string[], flags: Flags, cli: Cli): Promise<void> {
  let bad = 0
  for (const file of files) {
    const { loaded, what } = await check(file, flags, cli)
    const errors = loaded.diagnostics.filter(({ severity }) => severity === "error").length
    if (errors > 0) bad++
    if (flags.json) for (const one of loaded.diagnostics) cli.out.line(jsonLine(asLine(file, one)))
    else {
      await printLoaded(loaded, cli.err)
      if (errors === 0 && !flags.quiet)
        cli.out.line(`${cli.out.paint.green("✓")} ${foreignLine(file)}  ${what}`)
    }
  }
  if (bad > 0 && files.length > 1 && !flags.json)
    cli.err.line(`${bad} of ${counted(files.length, "file")} cannot be used.`)
  if (bad > 0) cli.exit(EXIT.usage)
}

interface Checked {
  readonly loaded: Loaded
  /** What it is, in a few words. */
  readonly what: string
}

async function check(file: string, flags: Flags, cli: Cli): Promise<Checked> {
  if (isModule(file)) return checkModule(file, cli)
  const { loadFile } = await import("../load-file.ts")
  const loaded = await loadFile({ file }, cli, flags, { use: "check" })
  const { definition } = loaded
  if (definition === undefined)
    return (
      (await checkGoal(file, loaded, flags, cli)) ?? { loaded, what: cli.out.paint.dim(loaded.dialect ?? "") }
    )
  const { dialect, agents } = definition
  await definition.close()
  return { loaded, what: cli.out.paint.dim(`${dialect}, ${counted(agents.size, "agent")}`) }
}

/** A configuration of the goal pipeline, with its graph; undefined where it is none. */
async function checkGoal(
  file: string,
  { sources }: Loaded,
  flags: Flags,
  cli: Cli,
): Promise<Checked | undefined> {
  const { goalConfigIn, loadGoal } = await import("../open-goal.ts")
  if (!goalConfigIn(file, { sources })) return undefined
  const loaded = await loadGoal(file, cli, flags, { use: "check" })
  const { goal } = loaded
  if (goal === undefined) return { loaded, what: "" }
  const { definition, load } = goal.config
  const { loadDefinition } = await import("@superstep/engine/definitions")
  const graph = definition === undefined ? undefined : loadDefinition(definition, load)
  await goal.close()
  await graph?.definition?.close()
  return {
    loaded: {
      diagnostics: [...loaded.diagnostics, ...(graph?.diagnostics ?? [])],
      sources: new Map([...loaded.sources, ...(graph?.sources ?? [])]),
    },
    what: cli.out.paint.dim(`goal pipeline, ${counted(goal.agents.size, "agent")}`),
  }
}

/** To look into a module is to run it. */
function checkModule(file: string, cli: Cli): Checked {
  const found = statSync(resolve(cli.io.cwd, file), { throwIfNoEntry: false })
  const problem: Diagnostic = found?.isFile()
    ? {
        severity: "warning",
        code: "NOT_CHECKED",
        message: `${file} is a module: it was not checked, as that would run it. If you trust it, superstep graph ${file} loads and draws it.`,
      }
    : {
        severity: "error",
        code: "FILE_UNREADABLE",
        message: `Cannot read ${file}: ${found === undefined ? "there is no such file" : "it is not a file"}.`,
      }
  return {
    loaded: { diagnostics: [problem], sources: new Map() },
    what: cli.out.paint.dim("module, not checked"),
  }
}

/** One a line, for editors and CI. */
function asLine(file: string, { severity, code, message, place, suggestion }: Diagnostic) {
  const { line, column, length } = place ?? {}
  return { file: place?.file ?? file, line, column, length, severity, code, message, suggestion }
}
