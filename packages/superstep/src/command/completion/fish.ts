/** A completion for fish, with what each word means. What is no command and no flag is a file. */
import { allNodes, type TreeNode, wordsOf } from "./command-tree.ts"

export function fishCompletion(tree: TreeNode): string {
  const lines = ["# Completion of superstep for fish: superstep completion fish | source"]
  for (const node of allNodes(tree)) {
    const when = conditionOf(node)
    for (const below of node.below) {
      lines.push(`complete -c superstep -f -n ${when} -a ${below.path.at(-1)} -d ${quoted(below.summary)}`)
    }
    if (node.choices.length > 0) {
      lines.push(`complete -c superstep -f -n ${when} -a ${quoted(node.choices.join(" "))}`)
    }
    for (const { name, summary, takesValue, choices } of node.flags) {
      const value = choices.length > 0 ? ` -x -a ${quoted(choices.join(" "))}` : takesValue ? " -r" : ""
      lines.push(`complete -c superstep -n ${when} -l ${name.slice(2)}${value} -d ${quoted(summary)}`)
    }
  }
  return `${lines.join("\n")}\n`
}

/** On the way to this command, and not to one below it. */
function conditionOf(node: TreeNode): string {
  if (node.path.length === 0) return "__fish_use_subcommand"
  const seen = node.path.map((name) => `__fish_seen_subcommand_from ${name}`)
  const below = node.below.length === 0 ? [] : [`not __fish_seen_subcommand_from ${wordsOf(node).join(" ")}`]
  return quoted([...seen, ...below].join("; and "))
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
}
