/** A project that `superstep init` makes: files that run at once, without a key. */

export interface Template {
  readonly name: string
  /** For the list of templates. */
  readonly summary: string
  /** By path within the folder. */
  files(project: Project): Readonly<Record<string, string>>
  /** What to type next, in the folder. */
  readonly next: readonly string[]
}

export interface Project {
  /** Of the folder. */
  readonly name: string
  /** That its agents use: `offline`, or provider/model. */
  readonly model: string
  /** Of superstep itself. */
  readonly version: string
}

/** What every project has beside its own. */
export function withCommonFiles(
  files: Readonly<Record<string, string>>,
  { name, model }: Project,
  { summary, next }: Pick<Template, "summary" | "next">,
): Readonly<Record<string, string>> {
  const readme = `# ${name}

${summary[0]?.toUpperCase()}${summary.slice(1)}.

\`\`\`sh
${next.join("\n")}
\`\`\`

${aboutModel(model)}

What runs did is kept in \`.superstep/\`: \`superstep runs\` lists them, \`superstep runs show ID\` tells about one.
`
  return { ...files, "README.md": readme, ".gitignore": ".superstep/\nnode_modules/\n.env\n" }
}

function aboutModel(model: string): string {
  if (model !== "offline")
    return `Its agents use the model \`${model}\`. \`superstep models\` tells what that needs.`
  return (
    "Its agents use the model `offline`, which needs no key and only quotes what it is asked. For real answers write a\n" +
    "model such as `openai/gpt-5-mini` in its place, or add `--model openai/gpt-5-mini` to a command.\n" +
    "`superstep models` tells what each one needs."
  )
}
