/** `superstep init`: creates a project from a template, in a new or empty folder. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { Argument, Command, InvalidArgumentError } from "commander"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import { complete, type OutputFlags, outputFlags } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import { projectFiles, type Template } from "../templates/project.ts"
import { TEMPLATES } from "../templates/templates.ts"
import { jsonText, sanitizeLine, shellWord } from "../terminal/terminal.ts"

interface InitFlags extends OutputFlags {
  readonly yes?: true | undefined
  readonly model?: string | undefined
}

const NAMES = TEMPLATES.map(({ name }) => name)
const DEFAULT_FOLDER = "my-workflow"

function initCommand(cli: Cli): Command {
  const templates = TEMPLATES.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`)
  const command = new Command()
    .description("Create a project from a template that runs without a key, in a new or empty folder.")
    .addArgument(new Argument("[template]", "the template; prompts for it if omitted").choices(NAMES))
    .argument("[folder]", `the folder (default: ${DEFAULT_FOLDER})`)
    .option("--model <name>", "set the model of its agents: offline or provider/model", parseModelName)
    .option("--yes", `skip the prompts; the template is ${NAMES[0]} unless you name another`)
    .action((template: string | undefined, folder: string | undefined, flags: InitFlags) =>
      init(cli, template, folder, flags),
    )
  return complete(
    command,
    [outputFlags],
    "superstep init steps my-first --yes",
    `Templates:\n${templates.join("\n")}`,
  )
}

/** The name is written into files unquoted. */
function parseModelName(text: string): string {
  if (/^[\w@][\w.:@/-]*$/.test(text)) return text
  throw new InvalidArgumentError("Write offline or provider/model.")
}

interface Choices {
  readonly template: string | undefined
  readonly folder: string | undefined
  readonly model: string | undefined
}

async function init(
  cli: Cli,
  template: string | undefined,
  folder: string | undefined,
  flags: InitFlags,
): Promise<void> {
  const isAsked = !flags.yes && isInteractive(cli)
  if (template === undefined && !flags.yes && !isAsked) {
    throw usageError(`Choose a template: ${NAMES.join(", ")}. Or add --yes for ${NAMES[0]}.`)
  }
  const written: Choices = { template, folder, model: flags.model }
  const choices = isAsked ? await ask(cli, written) : written
  if (choices === undefined) return cli.exit(EXIT.cancelled)
  create(cli, choices, flags)
}

/** Asks for what is missing. Undefined if the person cancels. */
async function ask({ io }: Cli, { template, folder, model }: Choices): Promise<Choices | undefined> {
  const { select, text } = await import("@clack/prompts")
  const streams = { input: io.stdin, output: io.stderr }
  const templates = TEMPLATES.map((one) => ({ value: one.name, label: one.name, hint: one.summary }))
  const chosen = template ?? (await select({ message: "Which template?", options: templates, ...streams }))
  if (typeof chosen === "symbol") return undefined
  const validate = (value: string | undefined) => problemOf(resolve(io.cwd, value || DEFAULT_FOLDER))
  const place =
    folder ?? (await text({ message: "Which folder?", initialValue: DEFAULT_FOLDER, validate, ...streams }))
  if (typeof place === "symbol") return undefined
  const models = [
    { value: "offline", hint: "no key needed; only quotes its prompt" },
    { value: "openai/gpt-5-mini", hint: "needs OPENAI_API_KEY" },
    { value: "anthropic/claude-sonnet-4-5", hint: "needs ANTHROPIC_API_KEY" },
    { value: "ollama/llama3.2", hint: "runs on your machine" },
  ]
  const named = model ?? (await select({ message: "Which model?", options: models, ...streams }))
  return typeof named === "symbol" ? undefined : { template: chosen, folder: place, model: named }
}

function create({ io, out }: Cli, choices: Choices, flags: InitFlags): void {
  const { template: name = NAMES[0], model = "offline" } = choices
  const folder = choices.folder || DEFAULT_FOLDER
  const template = TEMPLATES.find((one) => one.name === name) as Template
  const path = resolve(io.cwd, folder)
  const problem = problemOf(path)
  if (problem !== undefined) throw usageError(problem)
  const files = projectFiles(template, basename(path), model)
  try {
    mkdirSync(path, { recursive: true })
    // A file that appeared in the meantime stays.
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, file), text, { flag: "wx" })
    }
  } catch (error) {
    throw usageError(`Cannot write to ${folder}: ${(error as Error).message}.`, error)
  }
  const within = relative(io.cwd, path)
  const next = [...(within === "" ? [] : [`cd ${shellWord(within)}`]), "npm install", ...template.next]
  const names = Object.keys(files)
  if (flags.json) return out.line(jsonText({ folder: path, template: name, files: names, next }))
  if (flags.quiet) return
  out.line(`Created ${sanitizeLine(folder)} from the template ${name}:`)
  for (const file of names) out.line(`  ${file}`)
  out.line()
  out.line("Next steps:")
  for (const line of next) out.line(`  ${line}`)
}

/** The reason why a project cannot be created in this folder. */
function problemOf(path: string): string | undefined {
  try {
    const files = readdirSync(path).filter((name) => name !== ".git" && name !== ".DS_Store")
    if (files.length === 0) return undefined
    return `${path} is not empty. Choose a new or empty folder: init never overwrites files.`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT") return undefined
    return code === "ENOTDIR" ? `${path} is a file.` : `Cannot read ${path}: ${(error as Error).message}.`
  }
}

export const commands = { init: initCommand }
