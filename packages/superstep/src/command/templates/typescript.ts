/** A workflow in TypeScript, in a project of its own. */
import { type Project, type Template, withCommonFiles } from "./template.ts"

export const typescript: Template = {
  name: "typescript",
  summary: "a workflow in TypeScript",
  next: [
    "npm install",
    "npx superstep validate workflow.ts",
    'npx superstep run workflow.ts "Why tea is drunk hot"',
  ],
  files: (project) =>
    withCommonFiles(
      {
        "package.json": packageJson(project),
        "tsconfig.json": tsconfig,
        "workflow.ts": workflow(project.model),
      },
      project,
      typescript,
    ),
}

const packageJson = ({ name, version }: Project) =>
  `${JSON.stringify(
    {
      name: packageName(name),
      private: true,
      type: "module",
      scripts: { start: "superstep run workflow.ts", check: "tsc --noEmit" },
      dependencies: { superstep: `^${version}` },
      devDependencies: { "@types/node": "^20.19.0", tsx: "^4.20.0", typescript: "^6.0.0" },
    },
    undefined,
    2,
  )}\n`

/** Of a folder that may be called anything. */
function packageName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|(?<!-)-+$/g, "")
  // A package cannot depend on one that has its own name.
  const isTaken = ["", "superstep", "tsx", "typescript"].includes(plain)
  return isTaken ? `${plain}-workflow`.replace(/^-/, "") : plain.slice(0, 200)
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "types": ["node"]
  }
}
`

const workflow = (
  model: string,
) => `/** An article: an outline, a text for each of its parts at the same time, and all of it together. */
import { node, workflow } from "superstep"
import { agent } from "superstep/agents"

const outline = node("outline", (topic: string) => [
  \`Introduce: \${topic}\`,
  \`Explain: \${topic}\`,
  \`Sum up: \${topic}\`,
])

const writer = agent({
  name: "writer",
  model: "${model}",
  instructions: "Write one paragraph. Do what you are asked, and nothing else.",
})

const article = node("article", (parts: readonly string[]) => parts.join("\\n\\n"))

export default workflow("article").start(outline).map(outline, writer, article).build()
`
