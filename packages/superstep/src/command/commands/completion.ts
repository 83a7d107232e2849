/** `superstep completion`: a script that completes commands and flags in a shell. */
import { Argument, Command } from "commander"
import type { Cli } from "../cli.ts"
import { helpText } from "../flags.ts"
import { bashCompletion, type CommandNode, fishCompletion, zshCompletion } from "./completion-scripts.ts"

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

interface Entry {
  readonly name: string
  readonly summary: string
}

export function completionCommand<E extends Entry>(
  cli: Cli,
  entries: readonly E[],
  load: (entry: E) => Promise<Command>,
): Command {
  return new Command()
    .description("Print a script that completes commands and flags in a shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .addHelpText(
      "after",
      helpText(
        [
          "source <(superstep completion bash)",
          "source <(superstep completion zsh)",
          "superstep completion fish | source",
        ],
        "Add it to ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.",
      ),
    )
    .action(async (shell: keyof typeof SCRIPTS) => {
      const below = await Promise.all(
        entries.map(async (entry) => nodeOf(await load(entry), [entry.name], entry.summary)),
      )
      const flags = [
        { name: "--help", summary: "list the commands", takesValue: false, choices: [] },
        { name: "--version", summary: "print the version", takesValue: false, choices: [] },
      ]
      cli.out.write(SCRIPTS[shell]({ path: [], summary: "", below, flags, choices: [] }))
    })
}

/** A command with subcommands also has the flags of the first one, which is its default. */
function nodeOf(command: Command, path: readonly string[], summary = command.description()): CommandNode {
  const below = command.commands.map((one) => nodeOf(one, [...path, one.name()]))
  const own = command.options.filter(({ hidden, long }) => !hidden && long !== undefined)
  const flags = own.map((option) => ({
    name: option.long as string,
    summary: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  }))
  const help = { name: "--help", summary: "show the help", takesValue: false, choices: [] }
  const [first] = command.registeredArguments
  return {
    path,
    summary: summary.split("\n", 1)[0] ?? "",
    below,
    flags: [...(below[0]?.flags.filter(({ name }) => name !== "--help") ?? []), ...flags, help],
    choices: first?.argChoices ?? [],
  }
}
