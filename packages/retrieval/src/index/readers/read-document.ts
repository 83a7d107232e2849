/** Finds documents in folders, and reads them by their type. Error messages continue a sentence that begins with the document's name. */
import { readdir, readFile, stat } from "node:fs/promises"
import { extname, join, resolve } from "node:path"
import { SuperstepError } from "@superstep/engine"
import { calendarDate, cutText } from "@superstep/engine/text"
import { htmlToText } from "@superstep/engine/tools"
import { fatal, optionalPackage } from "../../errors.ts"
import type { DocumentFacts, DocumentPart } from "../chunks.ts"
import { readCsv } from "./csv.ts"
import { readMarkdown, readText } from "./markdown.ts"
import { type Contents, changed, fileText, type TextSource, textSource } from "./text-file.ts"

export type DocumentType = "text" | "markdown" | "html" | "csv" | "pdf"

const BY_EXTENSION: Readonly<Record<string, DocumentType>> = {
  ".txt": "text",
  ".text": "text",
  ".log": "text",
  ".rst": "text",
  ".adoc": "text",
  ".org": "text",
  ".tex": "text",
  ".md": "markdown",
  ".mdx": "markdown",
  ".markdown": "markdown",
  ".html": "html",
  ".htm": "html",
  ".xhtml": "html",
  ".csv": "csv",
  ".tsv": "csv",
  ".pdf": "pdf",
}

/** Maximum bytes of files that are read as a whole. */
const MAX_HTML = 32 * 1_024 * 1_024
const MAX_PDF = 256 * 1_024 * 1_024
const MAX_AUTHOR_LENGTH = 100

/** Chosen by the file name. Undefined: an unknown type, which is read as text if the file is named explicitly. */
function typeOf(path: string): DocumentType | undefined {
  return BY_EXTENSION[extname(path).toLowerCase()]
}

export async function* readFileParts(
  path: string,
  contents: Contents,
  signal?: AbortSignal,
): AsyncGenerator<DocumentPart> {
  const type = typeOf(path) ?? "text"
  if (type === "pdf" || contents.head.toString("latin1", 0, 5) === "%PDF-") {
    yield* readPdf(await whole(path, contents, MAX_PDF, signal), signal)
    return
  }
  const { encoding } = contents
  if (encoding === undefined) throw unreadable("it is not text")
  if (type === "html") {
    const bytes = await whole(path, contents, MAX_HTML, signal)
    yield* readPage(new TextDecoder(charsetOf(contents) ?? encoding).decode(bytes), signal)
    return
  }
  const delimiter = extname(path).toLowerCase() === ".tsv" ? "\t" : undefined
  yield* readTextual(type, fileText(path, contents, encoding), delimiter, signal)
}

export async function* readTextParts(
  text: string,
  type: Exclude<DocumentType, "pdf">,
  signal?: AbortSignal,
): AsyncGenerator<DocumentPart> {
  // Line numbers of a string are not useful.
  const parts =
    type === "html" ? readPage(text, signal) : readTextual(type, textSource(text), undefined, signal)
  for await (const part of parts) yield "text" in part ? { text: part.text } : part
}

function readTextual(
  type: "text" | "markdown" | "csv",
  source: TextSource,
  delimiter: string | undefined,
  signal: AbortSignal | undefined,
): AsyncIterable<DocumentPart> {
  if (type === "csv") return readCsv(source, { delimiter, signal })
  return type === "markdown" ? readMarkdown(source, { signal }) : readText(source, signal)
}

async function* readPage(html: string, signal: AbortSignal | undefined): AsyncGenerator<DocumentPart> {
  const { title, text, author, date } = await htmlToText(html)
  yield { facts: { author, date } }
  yield* readMarkdown(textSource(text), { title, hasLines: false, signal })
}

async function whole(
  path: string,
  contents: Contents,
  largest: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (contents.bytes > largest) throw unreadable(`it is larger than ${largest / 1_024 / 1_024} MB: split it`)
  const bytes = await readFile(path, { signal })
  if (bytes.length !== contents.bytes) throw changed()
  // Not a Buffer, because pdf.js needs a plain Uint8Array.
  return new Uint8Array(bytes)
}

/** The charset that the page declares, if it is plausible. */
function charsetOf({ head, encoding }: Contents): string | undefined {
  if (encoding !== "windows-1252") return undefined
  const label = /<meta[^>]{0,200}charset=["']?([\w-]{1,40})/i.exec(head.toString("latin1"))?.[1]
  try {
    return label === undefined ? undefined : new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}

function unreadable(what: string): SuperstepError {
  return fatal("DOCUMENT_UNREADABLE", what)
}

/** The part of unpdf that is used here. */
interface Unpdf {
  getDocumentProxy(data: Uint8Array, options: { verbosity: number }): Promise<PdfDocument>
}

interface PdfDocument {
  readonly numPages: number
  getPage(page: number): Promise<PdfPage>
  getMetadata?(): Promise<{ readonly info?: { readonly Author?: unknown; readonly CreationDate?: unknown } }>
  destroy?(): Promise<void>
}

interface PdfPage {
  getTextContent(): Promise<{
    readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[]
  }>
  cleanup?(): unknown
}

/** pdf.js writes to the console otherwise. */
const ERRORS_ONLY = 0

async function* readPdf(bytes: Uint8Array, signal?: AbortSignal): AsyncGenerator<DocumentPart> {
  const { getDocumentProxy } = await optionalPackage<Unpdf>("unpdf", "Reading PDF")
  const document = await getDocumentProxy(bytes, { verbosity: ERRORS_ONLY }).catch((error: unknown) => {
    throw pdfError(error)
  })
  let hasText = false
  try {
    yield { facts: await pdfFacts(document) }
    for (let page = 1; page <= document.numPages; page++) {
      signal?.throwIfAborted()
      const text = await pageText(document, page)
      if (text.trim() === "") continue
      hasText = true
      yield { section: {} }
      yield { text, page }
    }
  } finally {
    await document.destroy?.()
  }
  if (!hasText) {
    throw new SuperstepError("DOCUMENT_UNREADABLE", "it has no text, only images: run OCR on it first")
  }
}

async function pdfFacts(document: PdfDocument): Promise<DocumentFacts> {
  // Unreadable properties do not affect the text.
  const { info = {} } = (await document.getMetadata?.().catch(() => undefined)) ?? {}
  const author = cutText(
    String(info.Author ?? "")
      .replace(/\s+/g, " ")
      .trim(),
    MAX_AUTHOR_LENGTH,
  )
  return { author: author === "" ? undefined : author, date: calendarDate(String(info.CreationDate ?? "")) }
}

async function pageText(document: PdfDocument, number: number): Promise<string> {
  try {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    page.cleanup?.()
    return items.map(({ str = "", hasEOL = false }) => (hasEOL ? `${str}\n` : str)).join("")
  } catch (error) {
    throw pdfError(error)
  }
}

function pdfError(error: unknown): SuperstepError {
  const { name, message } = error as Error
  const what = name === "PasswordException" ? "it needs a password" : `it is not a readable PDF (${message})`
  return fatal("DOCUMENT_UNREADABLE", what, error)
}

// Finds the readable files below folders, in a stable order.

export interface FoundFiles {
  /** Absolute paths, without duplicates. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
  /** The requested folders, as absolute paths. */
  readonly folders: readonly string[]
  /** Subfolders that could not be read. */
  readonly closed: readonly { readonly path: string; readonly error: unknown }[]
  /** The number of files of unsupported types. */
  readonly others: number
}

/** Folders that contain no documents. */
const SKIPPED = new Set(["node_modules", "__pycache__"])

/** A file that is named explicitly is always read; in folders, only files of known types. Links are not followed. */
export async function findFiles(
  paths: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<FoundFiles> {
  const files = new Map<string, number>()
  const folders: string[] = []
  const closed = new Map<string, unknown>()
  const others = new Set<string>()

  async function walk(folder: string): Promise<void> {
    signal?.throwIfAborted()
    const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
      closed.set(folder, error)
      return []
    })
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile() && typeOf(path) === undefined) others.add(path)
      // A file that was removed meanwhile is reported when it is read.
      else if (entry.isFile()) files.set(path, (await stat(path).catch(() => undefined))?.size ?? 0)
    }
  }

  for (const named of paths) {
    const path = resolve(cwd, named)
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      throw refused(named, error.code === "ENOENT" ? "no such file or folder" : error.message, error)
    })
    if (found.isDirectory()) {
      folders.push(path)
      await walk(path)
    } else if (found.isFile()) files.set(path, found.size)
    else throw refused(named, "it is neither a file nor a folder")
  }
  return {
    files: [...files].map(([path, bytes]) => ({ path, bytes })),
    folders,
    closed: [...closed].map(([path, error]) => ({ path, error })),
    others: others.size,
  }
}

function refused(named: string, why: string, cause?: unknown): SuperstepError {
  return fatal("OPTION_INVALID", `${named} cannot be added: ${why}.`, cause)
}
