/** `superstep init`: a new project from a template, in a folder that is new or empty. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, join, relative, resolve } from "node:path"
import { Argument, Command, InvalidArgumentError } from "commander"
import { isInteractive } from "../answerers.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { jsonLine } from "../json-line.ts"
import { shellWord } from "../shell-word.ts"
import { TEMPLATES, type Template } from "../templates/index.ts"
import { foreignLine } from "../terminal.ts"
import { usageError } from "../usage-error.ts"

interface InitFlags extends OutputFlags {
  readonly yes?: true | undefined
  readonly model?: string | undefined
}

const NAMES = TEMPLATES.map(({ name }) => name)

export function command(cli: Cli): Command {
  const templates = TEMPLATES.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`)
  const made = new Command()
    .description("Makes a project from a template, in a new or empty folder. It runs at once, without a key.")
    .addArgument(new Argument("[template]", "which one; asked for, unless it is given").choices(NAMES))
    .argument("[folder]", "where; default: my-workflow")
    .option("--model <name>", "that its agents use: offline, or provider/model", parseModelName)
    .option("--yes", "ask nothing: the template steps, unless another is given")
    .addHelpText(
      "after",
      `\nTemplates:\n${templates.join("\n")}\n\nFor example:\n  superstep init steps my-first --yes`,
    )
    .action((template: string | undefined, folder: string | undefined, flags: InitFlags) =>
      init(cli, template, folder, flags),
    )
  return outputFlags(made)
}

/** It is written into files as it is. */
function parseModelName(text: string): string {
  if (/^[\w@][\w.:@/-]*$/.test(text)) return text
  throw new InvalidArgumentError("A model is offline, or written provider/model.")
}

interface Wishes {
  readonly template: Template
  readonly folder: string
  readonly model: string
}

const DEFAULT_FOLDER = "my-workflow"

async function init(
  cli: Cli,
  name: string | undefined,
  folder: string | undefined,
  flags: InitFlags,
): Promise<void> {
  const isAsked = !flags.yes && isInteractive(cli)
  if (name === undefined && !flags.yes && !isAsked) {
    throw usageError(`Say which template: ${NAMES.join(", ")}; or add --yes for ${NAMES[0]}.`)
  }
  const given = {
    template: TEMPLATES.find((one) => one.name === (name ?? NAMES[0])) as Template,
    folder: folder ?? DEFAULT_FOLDER,
    model: flags.model ?? "offline",
  }
  const wishes = isAsked ? await ask(cli, given, { name, folder, model: flags.model }) : given
  if (wishes === undefined) return cli.exit(EXIT.cancelled)
  make(cli, wishes, flags)
}

/** What was not given. Undefined when the person has changed their mind. */
async function ask(
  { io }: Cli,
  given: Wishes,
  said: { readonly [Wish in "name" | "folder" | "model"]: string | undefined },
): Promise<Wishes | undefined> {
  const { select, text } = await import("@clack/prompts")
  const desk = { input: io.stdin, output: io.stderr }
  let { template, folder, model } = given
  if (said.name === undefined) {
    const options = TEMPLATES.map((one) => ({ value: one.name, label: one.name, hint: one.summary }))
    const chosen = await select({ message: "Which template?", options, ...desk })
    if (typeof chosen === "symbol") return undefined
    template = TEMPLATES.find((one) => one.name === chosen) ?? template
  }
  if (said.folder === undefined) {
    const chosen = await text({
      message: "In which folder?",
      initialValue: DEFAULT_FOLDER,
      validate: (value) => problemOf(resolve(io.cwd, value || DEFAULT_FOLDER)),
      ...desk,
    })
    if (typeof chosen === "symbol") return undefined
    folder = chosen || DEFAULT_FOLDER
  }
  if (said.model === undefined) {
    const options = [
      { value: "offline", label: "offline", hint: "no key needed; it only quotes what it is asked" },
      { value: "openai/gpt-5-mini", label: "openai/gpt-5-mini", hint: "needs OPENAI_API_KEY" },
      {
        value: "anthropic/claude-sonnet-4-5",
        label: "anthropic/claude-sonnet-4-5",
        hint: "needs ANTHROPIC_API_KEY",
      },
      { value: "ollama/llama3.2", label: "ollama/llama3.2", hint: "on your machine" },
    ]
    const chosen = await select({ message: "Which model?", options, ...desk })
    if (typeof chosen === "symbol") return undefined
    model = chosen
  }
  return { template, folder, model }
}

function make({ io, out }: Cli, { template, folder, model }: Wishes, flags: InitFlags): void {
  const path = resolve(io.cwd, folder)
  const problem = problemOf(path)
  if (problem !== undefined) throw usageError(problem)
  const files = template.files({ name: basename(path), model, version: ownVersion() })
  try {
    mkdirSync(path, { recursive: true })
    // Whatever came there meanwhile stays.
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text, { flag: "wx" })
  } catch (error) {
    throw usageError(`Cannot write to ${folder}: ${(error as Error).message}.`, error)
  }
  const within = relative(io.cwd, path)
  const next = [...(within === "" ? [] : [`cd ${shellWord(within)}`]), ...template.next]
  const names = Object.keys(files)
  if (flags.json) return out.line(jsonLine({ folder: path, template: template.name, files: names, next }))
  if (flags.quiet) return
  out.line(`Made ${foreignLine(folder)} from the template ${template.name}:`)
  for (const name of names) out.line(`  ${name}`)
  out.line()
  out.line("Next:")
  for (const line of next) out.line(`  ${line}`)
}

function ownVersion(): string {
  const { version } = createRequire(import.meta.url)("superstep/package.json") as { version: string }
  return version
}

/** Why a project cannot be made there. */
function problemOf(path: string): string | undefined {
  try {
    const there = readdirSync(path).filter((name) => name !== ".git" && name !== ".DS_Store")
    if (there.length === 0) return undefined
    return `${path} is not empty: name a folder that is new or empty. Nothing is ever overwritten.`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT") return undefined
    return code === "ENOTDIR" ? `${path} is a file.` : `${path} cannot be read: ${(error as Error).message}.`
  }
}
