/** Which reader a document is for, and what it is not for: told in a few words, that go on after the document's name. */
import { readFile } from "node:fs/promises"
import { extname } from "node:path"
import { SuperstepError } from "@superstep/engine"
import { htmlToText } from "@superstep/engine/tools"
import type { Part } from "../chunks.ts"
import { readCsv } from "./csv.ts"
import type { Contents } from "./encoding.ts"
import { changed, fileText, givenText, type TextSource } from "./lines.ts"
import { readMarkdown, readText } from "./markdown.ts"
import { readPdf } from "./pdf.ts"

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

/** These are read as a whole. */
const LARGEST_HTML = 32 * 1_024 * 1_024
const LARGEST_PDF = 256 * 1_024 * 1_024

/** By its name; undefined: nothing that is known, which is text if somebody asks for it. */
export function typeOf(path: string): DocumentType | undefined {
  return BY_EXTENSION[extname(path).toLowerCase()]
}

export async function* readFileParts(
  path: string,
  contents: Contents,
  signal?: AbortSignal,
): AsyncGenerator<Part> {
  const type = typeOf(path) ?? "text"
  if (type === "pdf" || contents.head.toString("latin1", 0, 5) === "%PDF-") {
    yield* readPdf(await whole(path, contents, LARGEST_PDF, signal), signal)
    return
  }
  const { encoding } = contents
  if (encoding === undefined) throw unreadable("it is not text")
  if (type === "html") {
    const bytes = await whole(path, contents, LARGEST_HTML, signal)
    yield* readPage(new TextDecoder(charsetOf(contents) ?? encoding).decode(bytes), signal)
    return
  }
  const delimiter = extname(path).toLowerCase() === ".tsv" ? "\t" : undefined
  yield* readTextual(type, fileText(path, contents, encoding), delimiter, signal)
}

export async function* readGivenParts(
  text: string,
  type: Exclude<DocumentType, "pdf">,
  signal?: AbortSignal,
): AsyncGenerator<Part> {
  // Lines of a text that was given are nowhere to be looked up.
  const parts =
    type === "html" ? readPage(text, signal) : readTextual(type, givenText(text), undefined, signal)
  for await (const part of parts) yield "section" in part ? part : { text: part.text }
}

function readTextual(
  type: "text" | "markdown" | "csv",
  source: TextSource,
  delimiter: string | undefined,
  signal: AbortSignal | undefined,
): AsyncIterable<Part> {
  if (type === "csv") return readCsv(source, { delimiter, signal })
  return type === "markdown" ? readMarkdown(source, { signal }) : readText(source, signal)
}

function readPage(html: string, signal: AbortSignal | undefined): AsyncIterable<Part> {
  const { title, text } = htmlToText(html)
  return readMarkdown(givenText(text), { title, hasLines: false, signal })
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
  // Not a Buffer: pdf.js wants the plain kind.
  return new Uint8Array(bytes)
}

/** What the page itself says, if it can be believed. */
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
  return new SuperstepError("DOCUMENT_UNREADABLE", what, { retryable: false })
}
