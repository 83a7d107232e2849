/** The commands with their flags and choices, as data: what completions are made of. */
import type { Command } from "commander"

export interface TreeNode {
  /** From the top: `["runs", "list"]`; empty for the command itself. */
  readonly path: readonly string[]
  readonly summary: string
  readonly below: readonly TreeNode[]
  readonly flags: readonly Flag[]
  /** What its first argument may be, where that is one of few. */
  readonly choices: readonly string[]
}

export interface Flag {
  /** `--json`. */
  readonly name: string
  readonly summary: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

/** What it does without a command below it is what its first one does. */
export function treeOf(command: Command, path: readonly string[], summary = command.description()): TreeNode {
  const below = command.commands.map((one) => treeOf(one, [...path, one.name()]))
  const own = command.options.filter(({ hidden, long }) => !hidden && long !== undefined)
  const flags = own.map((option) => ({
    name: option.long as string,
    summary: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  }))
  const help = { name: "--help", summary: "how it is used", takesValue: false, choices: [] }
  const [first] = command.registeredArguments
  return {
    path,
    summary: firstLine(summary),
    below,
    flags: [...(below[0]?.flags.filter(({ name }) => name !== "--help") ?? []), ...flags, help],
    choices: first?.argChoices ?? [],
  }
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? ""
}

/** The node and all below it, from the top. */
export function* allNodes(node: TreeNode): Generator<TreeNode> {
  yield node
  for (const below of node.below) yield* allNodes(below)
}

/** What may stand where no flag does. */
export function wordsOf({ below, choices }: TreeNode): readonly string[] {
  return [...below.map(({ path }) => path.at(-1) as string), ...choices]
}
