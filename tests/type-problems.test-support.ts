/** What the compiler says about files that a test has written, as one program with this repository's options. */
import { join, relative, resolve } from "node:path"
import ts from "typescript"

const root = resolve(import.meta.dirname, "..")

export function typeProblems(files: readonly string[]): string[] {
  const config = ts.readConfigFile(join(root, "tsconfig.base.json"), ts.sys.readFile).config
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const program = ts.createProgram(files, {
    ...options,
    composite: false,
    emitDeclarationOnly: false,
    declaration: false,
    declarationMap: false,
    noEmit: true,
    types: ["node"],
  })
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const where = file === undefined ? "" : `${relative(root, file.fileName)}: `
    return where + ts.flattenDiagnosticMessageText(messageText, "\n")
  })
}
