/**
 * Paths that a definition names stay inside of the folder of the loaded file, also in the files that it includes. A file of
 * agents that the caller names from elsewhere has its own folder.
 */
import { dirname, resolve } from "node:path"
import type { Report, SourceRange } from "../document/index.ts"
import { insideFolder, outsideFolder } from "../files/index.ts"
import type { Trust } from "./definition.ts"

export class DefinitionPaths {
  readonly #root: string
  readonly #cwd: string
  readonly #report: Report
  readonly #trust: Trust

  constructor(file: string, report: Report, cwd = "", trust: Trust = "full") {
    this.#cwd = cwd
    this.#trust = trust
    this.#root = this.#folderOf(file)
    this.#report = report
  }

  /** The folder that paths of this file must stay in. */
  rootOf(file: string): string {
    const folder = this.#folderOf(file)
    return insideFolder(this.#root, folder) === undefined ? folder : this.#root
  }

  /** The absolute path, relative to the file that names it. A path outside of the folder is reported. */
  from(file: string, path: string, named: SourceRange | undefined): string {
    const found = resolve(this.#folderOf(file), path)
    if (this.isInside(file, path)) return found
    const { code, message } = outsideFolder(path)
    this.#report.error(code, message, named)
    return found
  }

  /** The same for data to search, which may be anywhere unless the definition is untrusted. */
  dataFrom(file: string, path: string, named: SourceRange | undefined): string {
    return this.#trust === "none" ? this.from(file, path, named) : resolve(this.#folderOf(file), path)
  }

  isInside(file: string, path: string): boolean {
    return insideFolder(this.rootOf(file), resolve(this.#folderOf(file), path)) !== undefined
  }

  #folderOf(file: string): string {
    return dirname(resolve(this.#cwd, file))
  }
}
