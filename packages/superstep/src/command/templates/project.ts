/** The files of a project that `superstep init` creates. They run without a key once the packages are installed. */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { MODEL_PROVIDERS } from "@superstep/engine/packages"

export interface Template {
  readonly name: string
  /** For the list of templates. */
  readonly summary: string
  /** The commands after `npm install`, in the folder. */
  readonly next: readonly string[]
  /** By path within the folder. */
  files(model: string): Readonly<Record<string, string>>
  /** The content of package.json, besides the name and superstep. */
  readonly manifest: {
    readonly type?: "module"
    readonly scripts: Readonly<Record<string, string>>
    /** Names of packages, besides superstep. */
    readonly dependencies?: readonly string[]
    readonly devDependencies?: readonly string[]
  }
}

/** `folder` is the project's name; `model` is the model of its agents: `offline`, or provider/model. */
export function projectFiles(
  template: Template,
  folder: string,
  model: string,
): Readonly<Record<string, string>> {
  const { summary, next } = template
  const readme = `# ${folder}

${summary[0]?.toUpperCase()}${summary.slice(1)}.

\`\`\`sh
${["npm install", ...next].join("\n")}
\`\`\`

${aboutModel(model)}

Runs are stored in \`.superstep/\`: \`npx superstep runs\` lists them, \`npx superstep runs show ID\` shows one.
`
  return {
    "package.json": packageJson(template, folder, model),
    ...template.files(model),
    "README.md": readme,
    ".gitignore": ".superstep/\nnode_modules/\n.env\n",
  }
}

function packageJson({ manifest }: Template, folder: string, model: string): string {
  const { type, scripts, dependencies = [], devDependencies = [] } = manifest
  const provider = MODEL_PROVIDERS.find(({ name }) => model.startsWith(`${name}/`))
  const rangeOf = packageRanges()
  const rangesOf = (names: readonly string[]) => Object.fromEntries(names.map((one) => [one, rangeOf(one)]))
  const content = {
    name: packageName(folder),
    private: true,
    ...(type && { type }),
    scripts,
    dependencies: rangesOf(
      ["superstep", ...dependencies, ...(provider === undefined ? [] : [provider.package])].sort(),
    ),
    ...(devDependencies.length > 0 && { devDependencies: rangesOf(devDependencies) }),
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}

/** A valid package name from any folder name. */
function packageName(folder: string): string {
  const plain = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|(?<!-)-+$/g, "")
  // A package cannot depend on one that has its own name.
  const isTaken = ["", "superstep", "tsx", "typescript", "ollama-ai-provider-v2"].includes(plain)
  return isTaken ? `${plain}-workflow`.replace(/^-/, "") : plain.slice(0, 200)
}

function aboutModel(model: string): string {
  if (model !== "offline")
    return `Its agents use the model \`${model}\`. \`npx superstep models\` shows what each model needs.`
  return (
    "Its agents use the model `offline`, which needs no key and only quotes its prompt: the notes in the agents' instructions\n" +
    "and the outputs of earlier steps. For real answers, write a model such as `openai/gpt-5-mini` instead, or add\n" +
    "`--model openai/gpt-5-mini` to a command. `npx superstep models` shows what each model needs."
  )
}

interface OwnManifest {
  readonly version: string
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** Version ranges of packages that superstep itself does not depend on. */
const RANGES: Readonly<Record<string, string>> = {
  "@types/node": "^20.19.0",
  tsx: "^4.20.0",
  typescript: "^6.0.0",
}

const REPOSITORY = "superstep-repository"

/**
 * The `dependencies` entry of a package. A clone of the repository has a superstep version that is not on npm, so the
 * project links to the clone (`file:`) and needs no network. Otherwise the entry is a version range on npm.
 */
function packageRanges(): (name: string) => string {
  const require = createRequire(import.meta.url)
  const file = require.resolve("superstep/package.json")
  const { version, peerDependencies } = require(file) as OwnManifest
  const clone = enclosingClone(dirname(file))
  return (name) => {
    const linked = clone && join(clone, name === "superstep" ? "packages" : "node_modules", name)
    if (linked && existsSync(linked)) return `file:${linked.replaceAll("\\", "/")}`
    if (name === "superstep") return `^${version}`
    return peerDependencies[name] ?? RANGES[name] ?? "*"
  }
}

/** The clone that contains this folder as `packages/superstep`. */
function enclosingClone(folder: string): string | undefined {
  const root = resolve(folder, "../..")
  try {
    const { name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { name?: unknown }
    return name === REPOSITORY ? root : undefined
  } catch {
    return undefined
  }
}
