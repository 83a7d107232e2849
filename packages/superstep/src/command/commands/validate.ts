/** `superstep validate`: reports every problem of the files at once. */
import { statSync } from "node:fs"
import { resolve } from "node:path"
import type { Diagnostic, Loaded } from "@superstep/engine/definitions"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { complete, type DefinitionFlags, fileFlags, type OutputFlags, outputFlags } from "../flags.ts"
import { isModule } from "../open/workflow.ts"
import { printLoaded } from "../print/errors.ts"
import { counted } from "../print/figures.ts"
import { jsonText, sanitizeLine } from "../terminal/terminal.ts"

type Flags = OutputFlags & DefinitionFlags

function validateCommand(cli: Cli): Command {
  const command = new Command()
    .description("Check definitions without running code, and report every problem.")
    .argument("<files...>", "YAML, JSON, or modules")
    .action((files: readonly string[], flags: Flags) => validate(files, flags, cli))
  return complete(command, [fileFlags, outputFlags], "superstep validate *.yaml")
}

async function validate(files: readonly string[], flags: Flags, cli: Cli): Promise<void> {
  const { out, err } = cli
  let bad = 0
  for (const file of files) {
    const { loaded, what, isChecked = true } = await check(file, flags, cli)
    const errors = loaded.diagnostics.filter(({ severity }) => severity === "error").length
    if (errors > 0) bad++
    const warnings = loaded.definition?.workflow.warnings ?? []
    if (flags.json) {
      for (const one of loaded.diagnostics) out.line(jsonText(diagnosticData(file, one)))
      for (const { code, message, nodes } of warnings)
        out.line(jsonText({ file, severity: "warning", code, message, nodes }))
    } else {
      await printLoaded(loaded, err)
      for (const { code, message } of warnings)
        err.line(`${err.paint.magenta("warning:")} ${sanitizeLine(`${file}: ${code}: ${message}`)}`)
      const mark = isChecked ? out.paint.green("✓") : "-"
      if (errors === 0 && !flags.quiet) out.line(`${mark} ${sanitizeLine(file)}  ${out.paint.dim(what)}`)
    }
  }
  if (bad > 0 && files.length > 1 && !flags.json)
    err.line(`${bad} of ${counted(files.length, "file")} invalid.`)
  if (bad > 0) cli.exit(EXIT.usage)
}

interface Checked {
  readonly loaded: Loaded
  /** A short description of the file. */
  readonly what: string
  readonly isChecked?: boolean | undefined
}

async function check(file: string, flags: Flags, cli: Cli): Promise<Checked> {
  if (isModule(file)) return checkModule(file, cli)
  const { loadFile } = await import("../open/load-definition.ts")
  const loaded = await loadFile({ file }, cli, flags, { use: "check" })
  const { definition } = loaded
  if (definition === undefined)
    return (await checkGoal(file, loaded, flags, cli)) ?? { loaded, what: loaded.dialect ?? "" }
  const { dialect, agents } = definition
  await definition.close()
  return { loaded, what: `${dialect}, ${counted(agents.size, "agent")}` }
}

/** A goal configuration, with its graph; undefined for any other file. */
async function checkGoal(
  file: string,
  { sources }: Loaded,
  flags: Flags,
  cli: Cli,
): Promise<Checked | undefined> {
  const { isGoalFile, loadGoal } = await import("../open/goal.ts")
  if (!isGoalFile(file, { sources })) return undefined
  const { loaded } = await loadGoal(file, cli, flags, { use: "check" })
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
    what: `goal pipeline, ${counted(goal.agents.size, "agent")}`,
  }
}

/** A module cannot be checked without running it. */
function checkModule(file: string, cli: Cli): Checked {
  const found = statSync(resolve(cli.io.cwd, file), { throwIfNoEntry: false })
  const problem: Diagnostic = found?.isFile()
    ? {
        severity: "warning",
        code: "NOT_CHECKED",
        message: `${file} is a module, and checking it would run it. If you trust it, load and draw it: superstep graph ${file}`,
      }
    : {
        severity: "error",
        code: "FILE_UNREADABLE",
        message: `Cannot read ${file}: ${found === undefined ? "no such file" : "it is not a file"}.`,
      }
  return {
    loaded: { diagnostics: [problem], sources: new Map() },
    what: "module, not checked",
    isChecked: false,
  }
}

/** For editors and CI. */
function diagnosticData(file: string, { severity, code, message, place, suggestion }: Diagnostic) {
  const { line, column, length } = place ?? {}
  return { file: place?.file ?? file, line, column, length, severity, code, message, suggestion }
}

export const commands = { validate: validateCommand }
