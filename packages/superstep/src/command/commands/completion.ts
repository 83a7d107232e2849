/** `superstep completion`: a script that completes commands and flags in a shell. */
import { Argument, Command } from "commander"
import type { Cli } from "../cli.ts"
import { COMMANDS } from "../commands.ts"
import { type TreeNode, treeOf } from "../completion/command-tree.ts"
import { load } from "../dispatch.ts"

const SHELLS = ["bash", "zsh", "fish"] as const
type Shell = (typeof SHELLS)[number]

export function command(cli: Cli): Command {
  return new Command()
    .description("Prints a script that completes commands and flags in a shell.")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText(
      "after",
      "\nFor example, in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish:\n  source <(superstep completion bash)\n  source <(superstep completion zsh)\n  superstep completion fish | source",
    )
    .action(async (shell: Shell) => cli.out.write(await scriptFor(shell, await commandTree(cli))))
}

async function scriptFor(shell: Shell, tree: TreeNode): Promise<string> {
  if (shell === "bash") return (await import("../completion/bash.ts")).bashCompletion(tree)
  if (shell === "zsh") return (await import("../completion/zsh.ts")).zshCompletion(tree)
  return (await import("../completion/fish.ts")).fishCompletion(tree)
}

async function commandTree(cli: Cli): Promise<TreeNode> {
  const below = await Promise.all(
    COMMANDS.map(async (entry) => treeOf(await load(entry, cli), [entry.name], entry.summary)),
  )
  const flags = [
    { name: "--help", summary: "the commands there are", takesValue: false, choices: [] },
    { name: "--version", summary: "of superstep", takesValue: false, choices: [] },
  ]
  return { path: [], summary: "", below, flags, choices: [] }
}
