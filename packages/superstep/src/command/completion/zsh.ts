/** A completion for zsh, with what each word means. What is no command and no flag is a file. */
import { allNodes, type Flag, type TreeNode } from "./command-tree.ts"

export function zshCompletion(tree: TreeNode): string {
  const nodes = [...allNodes(tree)]
  const steps = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `"${path.join(" ")}"`)
  const values = nodes.flatMap(({ path, flags }) =>
    flags
      .filter(({ takesValue }) => takesValue)
      .map(({ name, choices }) => `    "${path.join(" ")}|${name}") ${valuesOf(choices)}; return ;;`),
  )
  const cases = nodes.map(
    (node) => `    "${node.path.join(" ")}")
      flags=(${node.flags.map(flagText).join(" ")})
      words_=(${[
        ...node.below.map(({ path, summary }) => described(path.at(-1) as string, summary)),
        ...node.choices.map((choice) => described(choice, "")),
      ].join(" ")}) ;;`,
  )
  return `#compdef superstep
# Completion of superstep for zsh: source <(superstep completion zsh)
_superstep() {
  local path_="" next i
  local -a flags words_
  for ((i = 2; i < CURRENT; i++)); do
    next="\${path_:+$path_ }\${words[i]}"
    case "$next" in
      ${steps.join("|")}) path_="$next" ;;
    esac
  done
  case "$path_|\${words[CURRENT-1]}" in
${values.join("\n")}
  esac
  case "$path_" in
${cases.join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o flag flags
  else
    (( \${#words_} )) && _describe word words_
    [[ -n "$path_" ]] && _files
  fi
}
compdef _superstep superstep
`
}

function valuesOf(choices: readonly string[]): string {
  return choices.length === 0 ? "_files" : `compadd ${choices.join(" ")}`
}

function flagText({ name, summary }: Flag): string {
  return described(name, summary)
}

/** A colon ends the word, a quote the text. */
function described(word: string, summary: string): string {
  const text = summary.replaceAll("\\", "\\\\").replaceAll(":", "\\:").replaceAll("'", "'\\''")
  return `'${word.replaceAll(":", "\\:")}${text === "" ? "" : `:${text}`}'`
}
