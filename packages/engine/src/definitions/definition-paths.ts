/**
 * Paths that a definition names stay inside its folder: that of the file that was loaded, for whatever it includes too. A
 * file of agents that the caller names from elsewhere has a folder of its own.
 */
import { dirname, resolve } from "node:path"
import { insideFolder, outsideFolder } from "../files/index.ts"
import type { Trust } from "./definition.ts"
import type { Place, Report } from "./document/index.ts"

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

  /** Absolute, from the file that names it; one that is outside is reported. */
  from(file: string, path: string, place: Place | undefined): string {
    const found = resolve(this.#folderOf(file), path)
    if (this.isInside(file, path)) return found
    const { code, message } = outsideFolder(path)
    this.#report.error(code, message, place)
    return found
  }

  /** The same for data that is searched: it may be anywhere, unless the definition is not trusted. */
  dataFrom(file: string, path: string, place: Place | undefined): string {
    return this.#trust === "none" ? this.from(file, path, place) : resolve(this.#folderOf(file), path)
  }

  isInside(file: string, path: string): boolean {
    return insideFolder(this.rootOf(file), resolve(this.#folderOf(file), path)) !== undefined
  }

  #folderOf(file: string): string {
    return dirname(resolve(this.#cwd, file))
  }
}
