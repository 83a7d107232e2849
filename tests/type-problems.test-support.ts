/**
 * What the compiler reports about files that a test has written, as one program with this repository's options. In the check
 * (TYPES=built) the packages are the declarations that its stage `types` has written, which takes a fraction of the time.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

/** TypeScript 7, which has a command line and no API. */
const compiler = join(root, "node_modules", "typescript-7", "bin", "tsc")

export function typeProblems(files: readonly string[]): string[] {
  mkdirSync(join(root, ".build"), { recursive: true })
  const folder = mkdtempSync(join(root, ".build", "type-problems-"))
  try {
    const config = join(folder, "tsconfig.json")
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(root, "tsconfig.base.json"),
        compilerOptions: OPTIONS,
        files,
        references: process.env.TYPES === "built" ? packages() : [],
      }),
    )
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [compiler, "-p", config, "--pretty", "false"],
      {
        cwd: root,
        encoding: "utf8",
      },
    )
    // A line that is indented continues the problem before it.
    const problems = `${stdout}${stderr}`.split(/\n(?=\S)/).filter((problem) => problem.trim() !== "")
    return status === 0 || problems.length > 0 ? problems : [`The compiler ended with ${status}.`]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function packages(): { path: string }[] {
  const { references } = JSON.parse(readFileSync(join(root, "tsconfig.test.json"), "utf8"))
  return references.map(({ path }: { path: string }) => ({ path: join(root, path) }))
}

const OPTIONS = {
  composite: false,
  emitDeclarationOnly: false,
  declaration: false,
  declarationMap: false,
  noEmit: true,
  types: ["node"],
}
