/**
 * `superstep completion`: prints a script that completes commands, flags and their values in a shell. Run ids, definitions,
 * agents and threads are read when they are needed: the script calls `superstep __complete KIND WORDS…`.
 */
import { Argument, Command } from "commander"
import type { Cli } from "../cli.ts"
import { helpText } from "../flags.ts"
import type { CompletedKind } from "./completed-values.ts"

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
    .description("Print a script that completes commands, flags, runs, definitions and agents in a shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .addHelpText(
      "after",
      helpText(
        "source <(superstep completion bash)",
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
      cli.out.write(SCRIPTS[shell]({ path: [], summary: "", below, flags, choices: [], kind: undefined }))
    })
}

/** A command with subcommands also has the flags of the first one, which is its default. */
function nodeOf(command: Command, path: readonly string[], summary = command.description()): CommandNode {
  const below = command.commands.map((one) => nodeOf(one, [...path, one.name()]))
  const own = command.options.filter(({ hidden, long }) => !hidden && long !== undefined)
  const flags = own.map((option) => ({
    name: option.long as string,
    summary: option.description,
    short: option.short,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
    kind: FLAG_KINDS[option.long as string],
  }))
  const help = { name: "--help", summary: "show the help", takesValue: false, choices: [] }
  const [first] = command.registeredArguments
  return {
    path,
    summary: summary.split("\n", 1)[0] ?? "",
    below,
    flags: [...(below[0]?.flags.filter(({ name }) => name !== "--help") ?? []), ...flags, help],
    choices: first?.argChoices ?? [],
    kind: first === undefined ? undefined : argumentKind(path, first.name()),
  }
}

/** Arguments and flags whose values are read from the store or from a file. */
const ARGUMENT_KINDS: Readonly<Record<string, CompletedKind>> = {
  run: "runs",
  a: "runs",
  file: "definitions",
}
/** Commands with the id of what the store holds. */
const ID_KINDS: Readonly<Record<string, CompletedKind>> = {
  delete: "registered",
  export: "registered",
  schedules: "schedules",
}

function argumentKind([command = ""]: readonly string[], argument: string): CompletedKind | undefined {
  return argument === "id" ? ID_KINDS[command] : ARGUMENT_KINDS[argument]
}

const FLAG_KINDS: Readonly<Record<string, CompletedKind>> = {
  "--agent": "agents",
  "--session": "threads",
  "--thread": "threads",
}

// Completion scripts for bash, zsh and fish. A word that is neither a command nor a flag is a file.

/** A command with its flags and choices, as data. */
interface CommandNode {
  /** `["runs", "list"]`; empty for the CLI itself. */
  readonly path: readonly string[]
  readonly summary: string
  readonly below: readonly CommandNode[]
  readonly flags: readonly Flag[]
  /** The values of its first argument, if it has choices. */
  readonly choices: readonly string[]
  /** What its arguments are, if they are read when they are completed. */
  readonly kind: CompletedKind | undefined
}

interface Flag {
  /** `--json`. */
  readonly name: string
  /** `-a`. */
  readonly short?: string | undefined
  readonly summary: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
  readonly kind?: CompletedKind | undefined
}

/** The node and all its descendants, top down. */
function* allNodes(node: CommandNode): Generator<CommandNode> {
  yield node
  for (const below of node.below) yield* allNodes(below)
}

/** The words that are not flags. */
function wordsOf({ below, choices }: CommandNode): readonly string[] {
  return [...below.map(({ path }) => path.at(-1) as string), ...choices]
}

/** The path of every command, as shell patterns. */
function pathsOf(nodes: readonly CommandNode[]): string {
  return nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `"${path.join(" ")}"`)
    .join("|")
}

/** A shell case for every flag that takes a value. */
function valueCases(
  nodes: readonly CommandNode[],
  action: (choices: readonly string[], kind: CompletedKind | undefined) => string,
): string {
  return nodes
    .flatMap(({ path, flags }) =>
      flags.filter(({ takesValue }) => takesValue).map((flag) => ({ path, ...flag })),
    )
    .map(({ path, name, short, choices, kind }) => {
      const names = [name, ...(short === undefined ? [] : [short])]
      const patterns = names.map((one) => `"${path.join(" ")}|${one}"`).join("|")
      return `    ${patterns}) ${action(choices, kind)} ;;`
    })
    .join("\n")
}

function bashCompletion(tree: CommandNode): string {
  const nodes = [...allNodes(tree)]
  const words = nodes.map((node) => {
    const flags = node.flags.map(({ name }) => name).join(" ")
    const kind = node.kind === undefined ? "" : `; kind="${node.kind}"`
    return `    "${node.path.join(" ")}") words="${wordsOf(node).join(" ")}"; flags="${flags}"${kind} ;;`
  })
  return `# Completion of superstep for bash: source <(superstep completion bash)
_superstep() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local path="" next i words="" flags="" kind="" values="" valueKind="" isValue=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
      ${pathsOf(nodes)}) path="$next" ;;
    esac
  done
  case "$path|$prev" in
${valueCases(nodes, (choices, kind = "" as never) => `values="${choices.join(" ")}"; valueKind="${kind}"; isValue=1`)}
  esac
  case "$path" in
${words.join("\n")}
  esac
  if [[ -n "$isValue" ]]; then
    words="$values" kind="$valueKind"
  elif [[ "$cur" == -* ]]; then
    words="$flags" kind=""
  fi
  if [[ -n "$kind" ]]; then
    words+=" $(superstep __complete "$kind" "\${COMP_WORDS[@]:1}" 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _superstep superstep
`
}

function zshCompletion(tree: CommandNode): string {
  const nodes = [...allNodes(tree)]
  const cases = nodes.map((node) => {
    const flags = node.flags.map(({ name, summary }) => described(name, summary))
    const words = [
      ...node.below.map(({ path, summary }) => described(path.at(-1) as string, summary)),
      ...node.choices.map((choice) => described(choice, "")),
    ]
    return `    "${node.path.join(" ")}")
      flags=(${flags.join(" ")})
      kind="${node.kind ?? ""}"
      words_=(${words.join(" ")}) ;;`
  })
  return `#compdef superstep
# Completion of superstep for zsh: source <(superstep completion zsh)
_superstep() {
  local path_="" kind="" next i
  local -a flags words_ found
  for ((i = 2; i < CURRENT; i++)); do
    next="\${path_:+$path_ }\${words[i]}"
    case "$next" in
      ${pathsOf(nodes)}) path_="$next" ;;
    esac
  done
  case "$path_|\${words[CURRENT-1]}" in
${valueCases(nodes, (choices, kind) => {
  if (kind !== undefined)
    return `found=(\${(f)"$(superstep __complete ${kind} "\${words[@]:1}" 2>/dev/null)"}); compadd -a found; return`
  return choices.length === 0 ? "_files; return" : `compadd ${choices.join(" ")}; return`
})}
  esac
  case "$path_" in
${cases.join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o flag flags
  else
    (( \${#words_} )) && _describe word words_
    if [[ -n "$kind" ]]; then
      found=(\${(f)"$(superstep __complete "$kind" "\${words[@]:1}" 2>/dev/null)"})
      compadd -a found
    fi
    [[ -n "$path_" && "$kind" == (|definitions) ]] && _files
  fi
}
compdef _superstep superstep
`
}

/** Escapes colons, which separate a word from its summary, and quotes. */
function described(word: string, summary: string): string {
  const text = summary.replaceAll("\\", "\\\\").replaceAll(":", "\\:").replaceAll("'", "'\\''")
  return `'${word.replaceAll(":", "\\:")}${text === "" ? "" : `:${text}`}'`
}

function fishCompletion(tree: CommandNode): string {
  const lines = ["# Completion of superstep for fish: superstep completion fish | source"]
  for (const node of allNodes(tree)) {
    const when = conditionOf(node)
    for (const below of node.below) {
      lines.push(
        `complete -c superstep -f -n ${when} -a ${below.path.at(-1)} -d ${shellQuoted(below.summary)}`,
      )
    }
    if (node.choices.length > 0) {
      lines.push(`complete -c superstep -f -n ${when} -a ${shellQuoted(node.choices.join(" "))}`)
    }
    if (node.kind !== undefined) {
      const files = node.kind === "definitions" ? "" : " -f"
      lines.push(`complete -c superstep${files} -n ${when} -a ${shellQuoted(fishValues(node.kind))}`)
    }
    for (const { name, short, summary, takesValue, choices, kind } of node.flags) {
      const listed = kind === undefined ? choices.join(" ") : fishValues(kind)
      const value = listed !== "" ? ` -x -a ${shellQuoted(listed)}` : takesValue ? " -r" : ""
      const letter = short === undefined ? "" : ` -s ${short.slice(1)}`
      lines.push(
        `complete -c superstep -n ${when}${letter} -l ${name.slice(2)}${value} -d ${shellQuoted(summary)}`,
      )
    }
  }
  return `${lines.join("\n")}\n`
}

function fishValues(kind: CompletedKind): string {
  return `(superstep __complete ${kind} (commandline -opc)[2..-1] 2>/dev/null)`
}

/** True for this command, and false for its subcommands. */
function conditionOf(node: CommandNode): string {
  if (node.path.length === 0) return "__fish_use_subcommand"
  const seen = node.path.map((name) => `__fish_seen_subcommand_from ${name}`)
  const below = node.below.length === 0 ? [] : [`not __fish_seen_subcommand_from ${wordsOf(node).join(" ")}`]
  return shellQuoted([...seen, ...below].join("; and "))
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
}
