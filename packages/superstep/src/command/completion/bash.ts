/** A completion for bash. What is no command and no flag is a file. */
import { allNodes, type TreeNode, wordsOf } from "./command-tree.ts"

export function bashCompletion(tree: TreeNode): string {
  const nodes = [...allNodes(tree)]
  const steps = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `"${path.join(" ")}"`)
  const values = nodes.flatMap(({ path, flags }) =>
    flags
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ name, choices }) => `    "${path.join(" ")}|${name}") values="${choices.join(" ")}"; isValue=1 ;;`,
      ),
  )
  const words = nodes.map(
    (node) =>
      `    "${node.path.join(" ")}") words="${wordsOf(node).join(" ")}"; flags="${node.flags
        .map(({ name }) => name)
        .join(" ")}" ;;`,
  )
  return `# Completion of superstep for bash: source <(superstep completion bash)
_superstep() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local path="" next i words="" flags="" values="" isValue=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
      ${steps.join("|")}) path="$next" ;;
    esac
  done
  case "$path|$prev" in
${values.join("\n")}
  esac
  case "$path" in
${words.join("\n")}
  esac
  if [[ -n "$isValue" ]]; then
    words="$values"
  elif [[ "$cur" == -* ]]; then
    words="$flags"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _superstep superstep
`
}
