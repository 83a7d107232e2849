/**
 * The built studio as files, for a server to deliver. All files are read once and kept: they are a few hundred kilobytes,
 * and nothing outside of the folder can be requested.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative, resolve, sep } from "node:path"

export interface StudioFile {
  readonly body: Uint8Array<ArrayBuffer>
  /** The media type. */
  readonly type: string
  /** Its name contains a hash of its content: it never changes. */
  readonly isImmutable: boolean
}

export interface Studio {
  /** By path, such as `assets/index-1a2b3c4d.js`; undefined if there is none. */
  readonly files: ReadonlyMap<string, StudioFile>
  /** The page that every address of the studio answers with. */
  readonly page: string
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
}

/** The folder that `vite build` writes: the same seen from `src` and from `dist`. */
const BUILT = resolve(import.meta.dirname, "../dist/app")

/** A workflow that shows what the studio can show, and needs no model and no network. */
export const exampleFile = resolve(import.meta.dirname, "../examples/tour.yaml")

/** The studio of this package, or of another folder. Throws if it is not built. */
export function loadStudio(folder: string = BUILT): Studio {
  if (statSync(join(folder, "index.html"), { throwIfNoEntry: false }) === undefined) {
    throw new Error(`The studio is not built: ${folder} has no index.html. Run npm run build.`)
  }
  const files = new Map<string, StudioFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const name = relative(folder, path).split(sep).join("/")
    const type = TYPES[name.split(".").at(-1) ?? ""]
    if (type === undefined) continue
    const body = new Uint8Array(readFileSync(path))
    files.set(name, { body, type, isImmutable: name.startsWith("assets/") })
  }
  const page = new TextDecoder().decode(files.get("index.html")?.body)
  files.delete("index.html")
  return { files, page }
}
